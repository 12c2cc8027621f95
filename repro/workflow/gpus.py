"""The GPUs of one machine, shared out among jobs that work side by side: a lock each. No torch."""

import os
import tempfile
import time
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from repro.errors import UserError

# How many GPUs of this machine its jobs share; the workflow sets it from --resources gpu=N.
SHARED = "REPRO_GPUS"
VISIBLE = "CUDA_VISIBLE_DEVICES"
WAIT = 1.0  # seconds between two looks for a free one


def folder() -> Path:
    """Where the locks are: of this machine and user, for all work folders alike."""
    return Path(tempfile.gettempdir(), f"repro-gpus-{os.getuid()}")


@contextmanager
def claimed(count: int, environ: MutableMapping[str, str] = os.environ) -> Iterator[None]:
    """Have what follows, and the processes it starts, see `count` GPUs that no other job has.

    Waits until as many are free. The kernel frees those of a job that died. Does nothing where
    the environment does not say that GPUs are shared (SHARED), or for no GPU.
    Must be entered before CUDA is first used. Raises UserError where there are not as many.
    """
    total = int(environ.get(SHARED) or 0)
    if not total or not count:
        yield
        return
    before = environ.get(VISIBLE)
    names = before.split(",") if before else [str(index) for index in range(total)]
    if len(names) < max(total, count):
        raise UserError(
            f"--resources gpu={total}: {VISIBLE} shows {len(names)} GPUs; give gpu={len(names)}"
        )
    with ExitStack() as held:
        while len(taken := _take(names[:total], count, held)) < count:
            held.close()  # none is kept while it waits, or two jobs might wait for each other
            time.sleep(WAIT)
        environ[VISIBLE] = ",".join(taken)
        try:
            yield
        finally:
            if before is None:
                del environ[VISIBLE]
            else:
                environ[VISIBLE] = before


def _take(names: list[str], count: int, held: ExitStack) -> list[str]:
    """The first `count` of these GPUs that are free, or as many as there are, locked in `held`."""
    from filelock import FileLock, Timeout

    folder().mkdir(exist_ok=True)
    taken: list[str] = []
    for name in names:
        lock = FileLock(folder() / f"{name}.lock", fallback_to_soft=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            continue
        held.callback(lock.release)
        taken.append(name)
        if len(taken) == count:
            break
    return taken
