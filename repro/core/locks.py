"""Locks of files and folders that end when the process that holds them dies. No torch."""

import errno
import os
import platform
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
    """The process named in a lock's file if it is another than this one; "" if there is none."""
    found = _holder(path) if path.exists() else ""
    return "" if found == _me() else found


def _holder(path: Path) -> str:
    """The process named in a lock's file; it may not be there yet, or no longer."""
    with suppress(OSError):
        return path.read_text() or "another job"
    return "another job"


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Be the only job that writes in a folder. Half-written files of killed jobs are removed."""
    with locked(folder / "job.lock"):
        remove_temporaries(folder)
        yield
