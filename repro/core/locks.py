"""Locks of files and folders that end when the process that holds them dies. No torch."""

import errno
import glob
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from repro.errors import UserError
from repro.files import remove_temporaries

QUIET_SECONDS = 5.0  # of waiting for another job's lock, before the log says so
# What a disk without file locks answers; ENOLCK is an NFS server's without a lock daemon, EINVAL
# that of some programs that serve a disk (FUSE).
NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK, errno.EINVAL)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock on a file; while another process does, wait, and say for whom. Raises UserError
    on a disk without file locks."""
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    # filelock's fallback, a file whose existence is the lock, would outlive a killed job.
    lock = FileLock(path, fallback_to_soft=False)
    try:
        try:
            lock.acquire(timeout=QUIET_SECONDS)
        except Timeout:
            print(f"{path}: waits for {_holder(path)}, which is at it", flush=True)
            lock.acquire()
    except (NotImplementedError, OSError) as error:  # the first is filelock's word for ENOSYS
        if isinstance(error, OSError) and error.errno not in NO_LOCKS:
            raise
        raise UserError(
            f"{path}: this disk has no file locks; mount it with them (Lustre: -o flock), or "
            "choose another folder"
        ) from error
    try:
        path.write_text(_me())
        yield
    finally:
        path.unlink(missing_ok=True)  # before the release: a waiting job then locks a new file
        lock.release()


def _me() -> str:
    return f"process {os.getpid()} on {platform.node()}"


def held_by_another(path: Path) -> str:
    """The process that holds a lock if it is another than this one; "" if there is none. The lock
    is asked and not its file, which a killed process leaves: then it is removed."""
    from filelock import FileLock, Timeout

    found = _holder(path) if path.exists() else ""
    if found in ("", _me()):
        return ""
    lock = FileLock(path, fallback_to_soft=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return found
    except (NotImplementedError, OSError):  # nobody can know
        return ""
    path.unlink(missing_ok=True)
    lock.release()
    return ""


def _holder(path: Path) -> str:
    """The process named in a lock's file; it may not be there yet, or no longer."""
    with suppress(OSError):
        return path.read_text() or "another job"
    return "another job"


@contextmanager
def only_writer(folder: Path, lock: str = "job.lock", *left: str) -> Iterator[None]:
    """Be the only job that writes in a folder, of those that take the same lock. What killed ones
    left half-written is removed. lock: its file, from the folder. left: patterns of what only they
    leave, as `beside`; all that is hidden where none are given."""
    with locked(folder / lock):
        try:
            _remove(folder, left)
            yield
        finally:  # a killed one's own children may have written on for a while
            _remove(folder, left)


def _remove(folder: Path, left: tuple[str, ...]) -> None:
    for pattern in left or (".*",):
        remove_temporaries(folder, pattern)


def beside(name: str) -> str:
    """A pattern of what a process makes to be renamed to a file of that name, whatever its suffix,
    or to a folder (`files.atomic_path`)."""
    return f".{glob.escape(name)}-????????"


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Be the only job that makes a folder, and yield a path to make it at: a killed job leaves the
    folder that was there before, or the new one, or none, and its rest to the next such job."""
    place = folder.absolute()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(place.parent / f".{place.name}.lock", os.O_RDWR | os.O_CREAT))
    except OSError as error:
        raise UserError(
            f"{place}: cannot be made there ({error.strerror}); choose another folder"
        ) from None
    with only_writer(place.parent, f".{place.name}.lock", beside(place.name)):
        temporary = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
        try:
            yield temporary / "site"
            if place.exists():
                os.replace(place, temporary / "before")
            os.replace(temporary / "site", place)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
