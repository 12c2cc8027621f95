"""The optimum of a sweep: the centre of a window of learning rates, or a point of a search."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from repro.suite import search
from repro.suite.search import Offset, Point

PAPER_WINDOW = 0.20  # Hayou & Liu, Figure 3


@dataclass(frozen=True)
class Optimum:
    """log2 of the optimum and of the window's ends; at_edge: the window meets the grid's end."""

    log2: float
    low: float
    high: float
    best_loss: float
    at_edge: bool


def window_optimum(lr: Sequence[float], loss: Sequence[float], window: float) -> Optimum:
    """Centre, in log lr, of where the interpolated loss is within `window` of its best.

    The continuous form of Hayou & Liu's geometric mean of every learning rate whose loss is
    within 20 % of the best. The curve is piecewise linear in log2 lr; infinite losses are
    outside. Where the set is not connected its ends count, as in a mean over all of it.
    Raises ValueError when no loss is finite.
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
    if first > 0 and np.isfinite(y[first - 1]):
        low = _crossing(x[first - 1 : first + 1], y[first - 1 : first + 1], limit)
    if last < len(x) - 1 and np.isfinite(y[last + 1]):
        high = _crossing(x[last : last + 2], y[last : last + 2], limit)
    return Optimum(
        float((low + high) / 2),
        float(low),
        float(high),
        float(best),
        bool(inside[0] or inside[-1]),
    )


def _crossing(x: np.ndarray, y: np.ndarray, level: float) -> float:
    return float(x[0] + (x[1] - x[0]) * (level - y[0]) / (y[1] - y[0]))


def grid_optimum(lr: Sequence[float], loss: Sequence[float], window: float) -> float:
    """log2 of the geometric mean of the grid's learning rates within `window` of the best loss."""
    x, y = np.log2(np.asarray(lr, dtype=float)), np.asarray(loss, dtype=float)
    return float(x[y <= np.nanmin(y) * (1 + window)].mean())


@dataclass(frozen=True)
class SearchOptimum:
    """The best point of a search over a grid.

    point: its value along each axis. loss: infinite where every run diverged. ties: the points that
    are as good, this one included. untried: neighbours that were not run; while there are any, the
    optimum may lie at one of them.
    """

    point: Point
    loss: float
    ties: tuple[Point, ...]
    untried: tuple[Point, ...]

    def problem(self, described: str) -> str:
        """Why the point is no optimum, "" when it is one. described: the point in words."""
        if not math.isfinite(self.loss):
            return "every run diverged"
        return f"search limit, {described}" if self.untried else ""


def search_optimum(
    losses: Mapping[Point, float], neighbourhood: Sequence[Offset] | None = None, tie: float = 0.0
) -> SearchOptimum:
    """The point with the lowest loss.

    losses: point -> loss, infinite where a run diverged.
    neighbourhood: which neighbours the search tries (`repro.suite.search.untried_neighbours`), all
        if None.
    tie: losses this close to the lowest count as equal to it; of equal points one whose neighbours
        were all tried is taken, else the first.
    """
    lowest = min(losses.values())
    if not math.isfinite(lowest):
        first = next(iter(losses))
        return SearchOptimum(first, lowest, (first,), ())
    ties = tuple(point for point, loss in losses.items() if loss <= lowest + tie)
    # Each of them in turn as the best of all: its neighbours are what the search would try next.
    untried = {
        point: search.untried_neighbours({**losses, point: lowest - 1}, neighbourhood)
        for point in ties
    }
    best = min(ties, key=lambda point: len(untried[point]))
    return SearchOptimum(best, losses[best], ties, tuple(untried[best]))
