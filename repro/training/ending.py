"""SIGTERM: a run that trains ends with its step and saves its state; all else ends at once. No
torch."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


class Terminated(KeyboardInterrupt):
    """SIGTERM came, as a scheduler or `kill` sends it."""


_trains = 0  # the process that is at a run's steps; those that it forks are not
_asked = False


@contextmanager
def at_its_steps() -> Iterator[None]:
    """While a run takes steps, after each of which it looks whether it `is_asked` to end."""
    global _trains, _asked
    _trains, _asked = os.getpid(), False
    try:
        yield
    finally:
        _trains = 0


def ask() -> bool:
    """Have the run that this process trains end with its step; False where there is none."""
    global _asked
    _asked = _trains == os.getpid()
    return _asked


def is_asked() -> bool:
    """Whether the run shall save its state and end."""
    return _asked
