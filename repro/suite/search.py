"""Grid search that extends itself until its optimum lies inside the points tried.

Each round runs the untried neighbours of the best point so far; the search has converged when all
of them were tried and are worse. Snakemake must know all jobs before anything runs, so the number
of rounds is fixed, and runs of a round that turn out not to be needed are recorded as skipped.
"""

import itertools
import math
from collections.abc import Mapping, Sequence

Point = tuple[float, ...]
Offset = tuple[int, ...]  # steps along each axis, from a point to a neighbour


def full_neighbourhood(axes: int) -> list[Offset]:
    """Every step of -1, 0 or 1 along each of so many axes, diagonals included, but none at all."""
    return [offset for offset in itertools.product((-1, 0, 1), repeat=axes) if any(offset)]


def step(values: list[float], value: float, by: int) -> float | None:
    """The next value of an axis; past the end by the ratio of the last two, None below zero.

    values: sorted, all that were tried. by: -1, 0 or 1.
    """
    index = values.index(value) + by
    if 0 <= index < len(values):
        return values[index]
    end, inner = (values[0], values[1:2]) if by < 0 else (values[-1], values[-2:-1])
    if end == 0:
        return None
    ratio = end / inner[0] if inner and inner[0] else 2.0**by
    return end * ratio


def untried_neighbours(
    losses: Mapping[Point, float], neighbourhood: Sequence[Offset] | None = None
) -> list[Point]:
    """Neighbours of the best point that have not been tried, the nearest first.

    losses: point -> loss, infinite where it diverged. neighbourhood: which neighbours must be worse
    for the optimum to count as inside, all of them if None. Empty when they are, and when no point
    has a finite loss.
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
