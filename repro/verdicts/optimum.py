"""The optimum of a curve by a window of learning rates, and that of a search, a point of its grid.

By a parabola it is `widthwise.checks.sweep`'s.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from repro.core import search
from repro.core.search import Offset, Point

PAPER_WINDOW = 0.20  # Hayou & Liu, Figure 3


@dataclass(frozen=True)
class Optimum:
    """log2 of the optimal learning rate and of the window's ends.

    at_edge: the window reaches an end of the grid, so that the optimum may lie outside.
    """

    log2: float
    low: float
    high: float
    at_edge: bool

    @property
    def centre(self) -> float:
        """log2 of the window's centre."""
        return (self.low + self.high) / 2


def window_optimum(lr: ArrayLike, loss: ArrayLike, window: float) -> Optimum:
    """Centre, in log2 lr, of where the interpolated loss is at most (1 + window) times its best.

    The continuous form of Hayou & Liu's geometric mean of every learning rate whose loss is within
    20 % of the best (Figure 3). The loss is interpolated linearly in log2 lr; infinite losses are
    outside. If the window has gaps, its outermost ends count.
    Raises ValueError if no loss is finite.
    """
    x = np.log2(np.asarray(lr, dtype=float))
    order = np.argsort(x)
    x, y = x[order], np.asarray(loss, dtype=float)[order]
    if not np.isfinite(y).any():
        raise ValueError("no learning rate gave a finite loss")
    best = y[np.isfinite(y)].min()
    limit = best * (1 + window)
    inside = y <= limit
    first, last = np.flatnonzero(inside)[[0, -1]]
    low, high = x[first], x[last]
    # Beside a diverged run there is nothing to interpolate with: the window ends at the grid point.
    if first > 0 and np.isfinite(y[first - 1]):
        low = _crossing(x[first - 1 : first + 1], y[first - 1 : first + 1], limit)
    if last < len(x) - 1 and np.isfinite(y[last + 1]):
        high = _crossing(x[last : last + 2], y[last : last + 2], limit)
    return Optimum(
        float((low + high) / 2),
        float(low),
        float(high),
        bool(inside[0] or inside[-1]),
    )


def _crossing(x: np.ndarray, y: np.ndarray, level: float) -> float:
    """x where the line through two points, x and y of shape (2,), has y = level."""
    return float(x[0] + (x[1] - x[0]) * (level - y[0]) / (y[1] - y[0]))


def grid_optimum(lr: ArrayLike, loss: ArrayLike, window: float) -> float:
    """log2 of the geometric mean of the grid's rates in the window, as Hayou & Liu compute it."""
    x, y = np.log2(np.asarray(lr, dtype=float)), np.asarray(loss, dtype=float)
    return float(x[y <= np.nanmin(y) * (1 + window)].mean())


def cubic(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """A curve between its points: at each place the cubic through the nearest four (Lagrange).

    x: sorted, of at least two points; of fewer than four, the polynomial through all. at: shape
    (n,), between the first and the last.
    """
    first = np.clip(np.searchsorted(x, at) - 2, 0, max(len(x) - 4, 0))
    near = first[:, None] + np.arange(min(4, len(x)))
    return through(x[near], y[near], at)


def through(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Values at n places of the polynomials through n times some points (Lagrange).

    x, y: shape (n, points). at: shape (n,).
    """
    value = np.zeros(len(at))
    for i in range(x.shape[1]):
        others = np.delete(x, i, axis=1)
        weight = np.prod((at[:, None] - others) / (x[:, i : i + 1] - others), axis=1)
        value += y[:, i] * weight
    return value


@dataclass(frozen=True)
class SearchOptimum:
    """The best point of a search over a grid.

    point: its value along each axis. loss: infinite if every run diverged.
    ties: the points that are as good, this one included.
    untried: its neighbours that were not run; the optimum may lie at one of them.
    """

    point: Point
    loss: float
    ties: tuple[Point, ...]
    untried: tuple[Point, ...]

    def problem(self, described: str) -> str:
        """Why the point may not be the optimum; "" if it is. described: the point in words."""
        if not math.isfinite(self.loss):
            return "every run diverged"
        return f"search limit, {described}" if self.untried else ""


def search_optimum(
    losses: Mapping[Point, float], neighbourhood: Sequence[Offset] | None = None, tie: float = 0.0
) -> SearchOptimum:
    """The point with the lowest loss.

    losses: point -> loss, infinite if its run diverged.
    neighbourhood: which neighbours the search tries (`repro.core.search.untried_neighbours`), all
        if None.
    tie: losses at most this much above the lowest count as equal to it. Of equal points, the one
        with the fewest untried neighbours is taken, of these the first.
    """
    lowest = min(losses.values())
    if not math.isfinite(lowest):
        first = next(iter(losses))
        return SearchOptimum(first, lowest, (first,), ())
    ties = tuple(point for point, loss in losses.items() if loss <= lowest + tie)
    # What the search would try next if this point alone were the best.
    untried = {
        point: search.untried_neighbours({**losses, point: lowest - 1}, neighbourhood)
        for point in ties
    }
    best = min(ties, key=lambda point: len(untried[point]))
    return SearchOptimum(best, losses[best], ties, tuple(untried[best]))
