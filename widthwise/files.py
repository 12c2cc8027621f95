"""A user's own Python files, and functions; writes that leave either the whole file or nothing."""

import errno
import os
import re
import runpy
import shutil
import stat
import tempfile
import traceback
from collections.abc import Callable
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

from widthwise.errors import UserError


def names_in(path: str) -> dict[str, Any]:
    """What a Python file of a user's defines; raises UserError where it fails, or ends the
    process."""
    if not Path(path).is_file():
        raise UserError(f"{path}: there is no such file")
    return calling(path, runpy.run_path, path)


def calling(what: str, function: Callable, *arguments: Any) -> Any:
    """What a function of a user's returns; UserError, which says what it is and where it failed."""
    try:
        return function(*arguments)
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a user's own class of them, too
        raise UserError(f"{what}: {said(error)}") from error


def said(error: BaseException) -> str:
    """An exception in one line: its class, its words, and its last place in the user's own code."""
    words = str(error).strip().partition("\n")[0]
    if isinstance(error, SystemExit):
        words = f"sys.exit({words}) ends no check: take it out"
    ours = str(Path(__file__).parent)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((ours, "<"))
        and "site-packages" not in frame.filename
        and "/lib/python" not in frame.filename
    ]
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {words}{place}"


def open_file(path: Path | str) -> BufferedReader:
    """A file, open for reading. Raises UserError where a pipe or a device is in its place, which
    would be waited for, or read without end."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        kind = "pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
        raise UserError(f"{path}: is a {kind} where a file should be; put a file there")
    return open(path, "rb")


@contextmanager
def atomic_path(path: Path | str, durable: bool = True):
    """Yield a path to write to; move that file to `path` on success, remove it on failure.

    durable: wait until the disk has it; not needed where it is made again in seconds.

    It lies in a hidden folder of its own beside `path`, so that a library's own temporary files go
    with it. A killed process leaves the folder behind (`remove_temporaries`).
    Raises UserError when the disk is full, the folder cannot be written, or `path` is a device.
    """
    path = Path(path)
    folder = None
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise UserError(f"{path}: is a device, a pipe or a socket; give the name of a file")
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.stem}-"))
        temporary = folder / path.name
        yield temporary
        if durable:
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        with suppress(PermissionError):  # of a disk that has no such rights, as CIFS
            os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except Exception as error:
        found = _disk_error(error)
        if found is None:
            raise
        why = found.strerror or found
        named = Path(found.filename or path)
        if named != path and path.parent not in named.parents:
            why = f"{named}: {why}"  # of a folder on the way to it
        way_out = WAYS_OUT.get(found.errno or 0, "choose another folder")
        raise UserError(
            f"{path}: could not be written ({why}); {way_out}, nothing was left half-written"
        ) from error
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


# What a disk says when the fault is its own, or lies in what somebody put on it -> the way out.
# Other errors may be a mistake of the suite, as that a file does not exist: they keep a traceback.
WAYS_OUT = {
    errno.ENOSPC: "free space or choose another folder",
    errno.EDQUOT: "free space or choose another folder",
    errno.EFBIG: "free space or choose another folder",
    errno.EROFS: "the disk is read-only, choose another folder",
    errno.EACCES: "let this user read and write it, or choose another folder",
    errno.EPERM: "let this user read and write it, or choose another folder",
    errno.EIO: "the disk failed; try again, or choose another folder",
    errno.ESTALE: "the disk failed; try again, or choose another folder",
    errno.ELOOP: "the link leads back to itself, remove it",
    errno.EISDIR: "a folder is where a file should be, move it away",
    errno.ENOTDIR: "a file is on the way there where a folder should be, move it away",
    errno.EEXIST: "a file or a broken link is where a folder should be, move it away",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EMFILE: "too few files may be open at once, allow more with ulimit -n 4096",
    errno.ENFILE: "too few files may be open at once on this machine, end other programs",
    errno.EAGAIN: "no process more may run, end some, or allow more with ulimit -u",
    errno.ENOMEM: "free memory, or allow more with ulimit -v unlimited",
}


def disk_fault(error: BaseException) -> str | None:
    """File, fault and way out, where an error is certainly the disk's or of what lies on it."""
    if not isinstance(error, OSError) or error.errno not in WAYS_OUT:
        return None
    place = error.filename if error.filename is not None else Path.cwd()
    return f"{place}: {error.strerror}; {WAYS_OUT[error.errno]}"


def _disk_error(error: BaseException) -> OSError | None:
    """The disk's error in one that a library raised in its place: torch while it handled it,
    safetensors with its number."""
    if isinstance(error, OSError):
        return error
    if type(error).__name__ == "SafetensorError":
        number = re.search(r"os error (\d+)", str(error))
        return OSError(int(number[1]), os.strerror(int(number[1]))) if number else None
    earlier = error.__context__
    return earlier if isinstance(error, RuntimeError) and isinstance(earlier, OSError) else None
