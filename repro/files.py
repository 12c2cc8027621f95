"""Checksums, seals, and writes that leave either the whole file or nothing."""

import errno
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

from repro.errors import UserError

REMEDY = "delete it and run the same command again"
# Where a file holds its own checksum. A cell's lies under "sha256", which in what is prepared under
# resources/ already names the digests of the files beside it.
CELL_SEAL, SEAL = "sha256", "seal"


def sha256(data: bytes) -> str:
    """Hexadecimal SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path | str) -> str:
    """Hexadecimal SHA-256 of a file; raises UserError as `open_file`."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_file(path: Path | str) -> BufferedReader:
    """A file, open for reading. Raises UserError where a pipe or a device is in its place, which
    would be waited for, or read without end."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        kind = "pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
        raise UserError(f"{path}: is a {kind} where a file should be; put a file there")
    return open(path, "rb")


def canonical_json(value: object, default: Callable[[Any], object] | None = None) -> bytes:
    """The one byte string of a JSON value: sorted keys, no spaces, no NaN. default: what stands for
    a value that is of none of JSON's types."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=default
    )
    return text.encode()


@contextmanager
def atomic_path(path: Path | str, durable: bool = True):
    """Yield a path to write to; move that file to `path` on success, remove it on failure.

    durable: wait until the disk has it; not needed where it is made again in seconds.

    It lies in a hidden folder of its own beside `path`, so that a library's own temporary files go
    with it. A killed process leaves the folder behind (`remove_temporaries`).
    Raises UserError when the disk is full, the folder cannot be written, or `path` is a device.
    """
    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UserError(f"{path}: is a device, a pipe or a socket; give the name of a file")
    folder = None
    try:
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
        if found.filename and not os.fspath(found.filename).startswith(os.fspath(path.parent)):
            why = f"{found.filename}: {why}"  # of a folder on the way to it
        way_out = WAYS_OUT.get(found.errno or 0, "choose another folder")
        raise UserError(
            f"{path}: could not be written ({why}); {way_out}, nothing was left half-written"
        ) from error
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


def remove_temporaries(folder: Path, pattern: str = ".*") -> None:
    """Remove what killed processes left in a folder while they wrote; call it only where nobody
    else is writing what the pattern names."""
    for left in folder.glob(pattern):
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


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


def write_bytes(path: Path | str, data: bytes, durable: bool = True) -> None:
    """Write a whole file or nothing. durable: as of `atomic_path`."""
    with atomic_path(path, durable) as temporary:
        temporary.write_bytes(data)


def key_of(value: object) -> str:
    """The name of a folder that holds what is made of a JSON value: the first 12 characters of its
    digest."""
    return sha256(canonical_json(value))[:12]


def json_bytes(value: object) -> bytes:
    """A JSON value as files hold it, indented; raises ValueError on NaN and infinity."""
    return (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()


def write_json(path: Path | str, value: object) -> None:
    """Write `json_bytes`, the whole file or nothing."""
    write_bytes(path, json_bytes(value))


def read_json(path: Path | str) -> Any:
    """Read a JSON file; raises UserError when it is missing, no file or not JSON."""
    try:
        with open_file(path) as file:
            data = file.read()
    except FileNotFoundError:
        raise UserError(f"{path}: is missing; build it again with snakemake") from None
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder where a file should be; remove it") from None
    return parse_json(data, path, REMEDY)


def parse_json(data: bytes, name: object, remedy: str) -> Any:
    """The value of JSON bytes, without NaN and infinity, which `write_json` never writes.

    Raises UserError, naming where they are from and the way out.
    """

    def refuse(constant: str):
        raise ValueError(f"{constant} is no number of JSON")

    try:
        return json.loads(data, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{name}: is not valid JSON ({error}); {remedy}") from None


def seal(content: dict, key: str = CELL_SEAL) -> dict:
    """The content with its own SHA-256 under `key`.

    It shows that a file was changed, not by whom: whoever can write the file can seal it again.
    """
    return content | {key: sha256(canonical_json(content))}


def check_seal(content: Any, name: object, remedy: str = REMEDY, key: str = CELL_SEAL) -> dict:
    """A sealed JSON value without its checksum; raises UserError naming it when they differ."""
    if not isinstance(content, dict) or key not in content:
        raise UserError(
            f"{name}: holds no checksum of its own: it was changed, or written before such files "
            f"were sealed; {remedy}"
        )
    rest = {name: value for name, value in content.items() if name != key}
    try:
        found, expected = content[key], sha256(canonical_json(rest))
    except (ValueError, RecursionError):  # 1e999 is read as infinity
        raise UserError(f"{name}: holds what JSON cannot; {remedy}") from None
    if found != expected:
        raise UserError(
            f"{name}: was changed after it was written (its checksum says {str(found)[:12]}, its "
            f"content {expected[:12]}); {remedy}"
        )
    return rest


def write_sealed(path: Path | str, content: dict, key: str = SEAL) -> None:
    """Write JSON with its own checksum, the whole file or nothing."""
    write_json(path, seal(content, key))


def seal_of(path: Path | str, key: str = CELL_SEAL) -> str:
    """The checksum that a sealed file ends with, without a look at the rest; "" where there is
    none. Whoever uses the content reads it by `read_sealed`."""
    with open_file(path) as file:
        file.seek(max(0, os.path.getsize(path) - 200))
        found = re.search(rb'"%b": "([0-9a-f]{64})"\s*}\s*$' % key.encode(), file.read())
    return found[1].decode() if found else ""


def read_sealed(path: Path | str, key: str = SEAL) -> dict:
    """What `write_sealed` wrote; raises UserError naming the file when it is anything else."""
    return check_seal(read_json(path), path, key=key)


def vouched(path: Path, digest: str, manifest_path: Path | str) -> Path:
    """The path of a file, whole: of the SHA-256 that its manifest says; else raises UserError."""
    if not path.is_file() or sha256_file(path) != digest:
        raise UserError(
            f"{path}: is missing or changed since it was written; delete {manifest_path} and "
            "run the same command again"
        )
    return path
