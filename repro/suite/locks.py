"""Locks of files and folders, which are let go when their holder dies. No torch."""

import errno
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from repro.errors import UserError
from repro.files import remove_temporaries

QUIET_SECONDS = 5.0  # waited for another job's lock before a word about it


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file lock, which is released if the process dies; say for whom it has to wait."""
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    # No fallback to a lock that is a file's existence: a killed job would leave it behind.
    lock = FileLock(path, fallback_to_soft=False)
    try:
        try:
            lock.acquire(timeout=QUIET_SECONDS)
        except Timeout:
            print(f"{path}: waits for {_holder(path)}, which is at it", flush=True)
            lock.acquire()
        path.write_text(f"process {os.getpid()} on {platform.node()}")
    except (NotImplementedError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (errno.ENOSYS, errno.ENOTSUP):
            raise
        raise UserError(
            f"{path}: this disk has no file locks; mount it with them (Lustre: -o flock), or "
            "choose another folder"
        ) from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # before release, so that those waiting lock a new file
        lock.release()


def _holder(path: Path) -> str:
    """Who wrote its name into a lock; it may be about to, or to let go."""
    with suppress(OSError):
        return path.read_text() or "another job"
    return "another job"


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Be the one job that writes in a folder; what killed ones left half-written there goes."""
    with locked(folder / "job.lock"):
        remove_temporaries(folder)
        yield
