"""What a user reads: tables of text, and lines on what takes longer than two seconds."""

import sys
import time
from collections.abc import Callable, Sequence

LATE = 2.0  # seconds after which a line is due


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line a row, its columns below each other."""
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(t.ljust(n) for t, n in zip(row, sizes, strict=True)).rstrip() for row in rows]


def progress_printer(progress: Callable[[str], object] | None) -> Callable[[str], object]:
    """The function that a long call gives a line at each of its parts: the user's own, or one that
    writes to stderr, nothing in the first two seconds and then a line every two."""
    if progress is not None:
        return progress
    last = time.monotonic()

    def late(line: str) -> None:
        nonlocal last
        if time.monotonic() - last > LATE:
            last = time.monotonic()
            print(line, file=sys.stderr, flush=True)

    return late
