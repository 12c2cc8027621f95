"""A search that grows: from a grid, by the neighbours of the best point, until they are worse.

Unrolled into rounds known before anything runs: each round reads all points made before it and
makes those neighbours of the best that are missing; none are missing once the optimum is inside.
"""

import itertools
import math
from collections.abc import Mapping, Sequence

Point = tuple[float, ...]
Move = tuple[int, ...]


def all_moves(axes: int) -> list[Move]:
    """Every step of -1, 0 or 1 along each of so many axes but the one that stays."""
    return [move for move in itertools.product((-1, 0, 1), repeat=axes) if any(move)]


def slots(axes: int) -> int:
    """How many neighbours a point has on a grid of so many axes, diagonals included."""
    return len(all_moves(axes))


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


def missing(losses: Mapping[Point, float], moves: Sequence[Move] | None = None) -> list[Point]:
    """Neighbours of the best point that have not been tried, the nearest first.

    losses: point -> loss, infinite where it diverged. moves: which neighbours must be worse for
    the optimum to be inside, all of them if None. Empty when it is, and when no point has a
    finite loss.
    """
    best = min(losses, key=losses.__getitem__, default=None)
    if best is None or not math.isfinite(losses[best]):
        return []
    axes = [sorted({point[i] for point in losses}) for i in range(len(best))]
    nearest = sorted(moves or all_moves(len(best)), key=lambda move: sum(map(abs, move)))
    around = [tuple(step(*of) for of in zip(axes, best, move, strict=True)) for move in nearest]
    return [point for point in around if None not in point and point not in losses]
