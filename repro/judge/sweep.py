"""A sweep: the losses over its grid, their optimum, why it is none, its vertex. No torch.

A figure says which columns are the axes and which the loss; how an optimum is read off them is here
alone, and the estimators themselves in `repro.judge.optimum`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from repro.judge.optimum import SearchOptimum, parabola_optimum, search_optimum
from repro.judge.tables import joined, last_step
from repro.suite.names import StageName
from repro.suite.search import Offset, Point

NEIGHBOURS = 1.5  # octaves from the best within which only its two neighbours lie


def gathered(runs: Mapping, label: Callable[[StageName], Mapping[str, Any]], last: bool = False):
    """One table of the runs of all stages. A search's rounds belong to their stage; of those that
    it did not need the tables are empty.

    runs: name of a stage or round -> its table. label: name -> the columns that its rows get, each
    a value or a function of the table. last: whether only every run's last evaluation is kept.
    """
    import pandas as pd

    # Of whole runs an empty table is kept: the columns that it lacks decide how data.csv on record
    # writes whole numbers. It has no last evaluation.
    parts = [
        (last_step(table) if last else table).assign(**label(StageName.parse(name)))
        for name, table in runs.items()
        if "step" in table or not last
    ]
    return pd.concat(parts, ignore_index=True)


def by_seed(rows, axes: Sequence[str], metric: str, seeds: Sequence[int] | None = None):
    """(values along each axis, losses): the metric of every run of a grid, an array.

    rows: one a run. losses: shape (seeds, values along each axis); infinite where a run diverged or
    is not there. seeds: sorted, those of a whole table of which the rows are a part; if None, those
    of the rows.
    """
    import numpy as np

    known = np.unique(rows["seed"] if seeds is None else seeds)
    columns = {axis: np.unique(rows[axis], return_inverse=True) for axis in axes}
    found = rows[metric].to_numpy(float)
    losses = np.full((len(known), *(len(values) for values, _ in columns.values())), math.inf)
    seed = np.searchsorted(known, rows["seed"])
    places = (seed, *(place for _, place in columns.values()))
    losses[places] = np.where(np.isnan(found), math.inf, found)
    return [values for values, _ in columns.values()], losses


def by_name(problems: Mapping[str, str]) -> str:
    """Problems of several things in words. problems: name -> its problem, "" where it has none."""
    return joined(*(f"{name}: {problem}" for name, problem in problems.items() if problem))


@dataclass(frozen=True)
class Grid:
    """How the rows of a table are read as a sweep over a grid.

    axes: the columns whose values are a point. metric: the column that is lowest at the optimum.
    neighbourhood, tie: as of `search_optimum`. place: a point that may not be the optimum in words,
    with a format for the value along each axis.
    """

    axes: Sequence[str]
    metric: str
    neighbourhood: Sequence[Offset] | None = None
    tie: float = 0.0
    place: str = ""

    def losses(self, rows, seeds: Sequence[int] | None = None) -> dict[Point, float]:
        """Point -> the metric at the last step, mean over seeds; infinite if one diverged.

        seeds: whose runs to average, a repeated one as often as it occurs (a bootstrap sample); if
        None, all runs of the point.
        """
        import pandas as pd

        last = last_step(rows)
        if seeds is not None:
            of_seed = dict(list(last.groupby("seed")))
            last = pd.concat([of_seed[seed] for seed in seeds])
        by_point = last.fillna({self.metric: math.inf}).groupby(list(self.axes))
        means = by_point[self.metric].mean()
        points = zip(*(means.index.get_level_values(axis) for axis in self.axes), strict=True)
        return dict(zip(points, means.tolist(), strict=True))

    def optimum(self, rows, seeds: Sequence[int] | None = None) -> SearchOptimum:
        """The point with the lowest of `losses`."""
        return search_optimum(self.losses(rows, seeds), self.neighbourhood, self.tie)

    def edge(self, rows) -> str:
        """Why the optimum of all seeds is none: every run diverged, or neighbours of it were not
        tried; "" when it is one."""
        found = self.optimum(rows)
        by_axis = ", ".join(f"{axis} = {{:.3g}}" for axis in self.axes)
        place = self.place or f"the optimum is at the grid's edge: {by_axis}"
        return found.problem(place.format(*found.point))

    def vertex(self, rows, along: str, seeds: Sequence[int] | None = None) -> float:
        """log2 of the optimum along an axis, by a parabola through the best and its neighbours,
        the other axes at their best.

        All seeds together say which three points these are, so that an interval over seeds is of
        one estimator; NaN where one of them is missing.
        """
        losses, best, i = self.losses(rows, seeds), self.optimum(rows).point, self.axes.index(along)
        line = {
            point[i]: loss
            for point, loss in losses.items()
            if point == (*best[:i], point[i], *best[i + 1 :])
            and abs(math.log2(point[i] / best[i])) < NEIGHBOURS
        }
        return parabola_optimum([*line], [*line.values()], NEIGHBOURS)
