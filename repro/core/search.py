"""Grid search that extends itself until its optimum lies inside the points tried.

Each round runs the untried neighbours of the best point so far; the search has converged once all
neighbours of the best point were tried. Snakemake must know all jobs before anything runs, so the
number of rounds is fixed, and runs that turn out not to be needed are recorded as skipped.
"""

import itertools
import math
from collections.abc import Mapping, Sequence

Point = tuple[float, ...]  # a value for each axis of the search
Offset = tuple[int, ...]  # steps along each axis, from a point to a neighbour


def full_neighbourhood(axes: int) -> list[Offset]:
    """All offsets of -1, 0 or 1 along each of this many axes, diagonals included, except zero."""
    return [offset for offset in itertools.product((-1, 0, 1), repeat=axes) if any(offset)]


def step(values: list[float], value: float, by: int) -> float | None:
    """The value some places from `value` on an axis.

    Past an end of the axis, the end extended by the ratio of the last two values, or by a factor of
    2 if they have none, once for each place; None past an end that is 0.

    values: all that were tried, sorted. by: -1 the value below, 0 itself, 1 the value above.
    """
    index = values.index(value) + by
    if 0 <= index < len(values):
        return values[index]
    end, inner = (values[0], values[1:2]) if by < 0 else (values[-1], values[-2:-1])
    if end == 0:
        return None
    ratio = end / inner[0] if inner and inner[0] else 2.0 ** (1 if by > 0 else -1)
    return end * ratio ** (-index if by < 0 else index - len(values) + 1)


def untried_neighbours(
    losses: Mapping[Point, float], neighbourhood: Sequence[Offset] | None = None
) -> list[Point]:
    """Neighbours of the best point that have not been tried, the nearest first.

    Empty once all were tried, and also if no point has a finite loss.

    losses: point -> loss, infinite if its run diverged.
    neighbourhood: offsets from the best point to the neighbours that count; all if None.
    """
    best = min(losses, key=losses.__getitem__, default=None)
    if best is None or not math.isfinite(losses[best]):
        return []
    axes = [sorted({point[i] for point in losses}) for i in range(len(best))]
    offsets = neighbourhood or full_neighbourhood(len(best))
    nearest = sorted(offsets, key=lambda offset: sum(map(abs, offset)))
    around = [[step(*of) for of in zip(axes, best, offset, strict=True)] for offset in nearest]
    points = [tuple(value for value in point if value is not None) for point in around]
    # A point that lacks a value would lie below zero.
    return [point for point in points if len(point) == len(best) and point not in losses]
