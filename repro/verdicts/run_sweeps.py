"""Tables of runs as sweeps: `Sweep` of one axis, `Grid` of the points of a search. No torch.

A figure says which columns are the axes and which the loss. A search has several axes, points that
are tied and neighbours that were not tried, and no curve: along one of its axes it gives a `Sweep`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from repro.core.names import StageName
from repro.core.search import Offset, Point
from repro.core.study import in_window
from repro.errors import UserError
from repro.verdicts.answers import Measurement, over_seeds
from repro.verdicts.intervals import joined
from repro.verdicts.optimum import SearchOptimum, search_optimum
from widthwise.checks.sweep import Sweep, Sweeps

NEIGHBOURS = 1.5  # octaves from the best within which only its two neighbours lie


def last_step(rows):
    """The rows of every run's last evaluation.

    Raises UserError where the runs of the table do not all have the same steps.
    """
    import numpy as np

    steps = rows["step"].to_numpy()
    _, evaluations = np.unique(steps, return_counts=True)
    if len({*evaluations.tolist()}) > 1:
        raise UserError("runs of different steps are in one table, so they have no last one")
    return rows[steps == steps.max(initial=-1)]  # of an empty table too


def at_end(rows, window: int, metrics: Sequence[str]):
    """The rows of `last_step`, whose metrics are means over the run's last `window` steps, as
    `repro.core.study.in_window` has it; of a window of 0 they are the last evaluation's.

    rows: of runs one after the other, each with the same steps. metrics: columns.
    """
    import numpy as np

    last, steps = last_step(rows), np.unique(rows["step"])
    shares = in_window(steps.tolist(), window) if window and len(rows) else [1.0]
    if len(shares) == 1:
        return last
    if not (rows["step"].to_numpy().reshape(-1, len(steps)) == steps).all():
        raise UserError("the rows of a run are not one after the other, so it has no last steps")
    values = rows[[*metrics]].to_numpy(float).reshape(-1, len(steps), len(metrics))
    means = np.einsum("k,rkm->rm", shares, values[:, -len(shares) :])
    return last.assign(**dict(zip(metrics, means.T, strict=True)))


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
    columns = (np.unique(rows[axis], return_inverse=True) for axis in axes)
    values, places = zip(*columns, strict=True)
    losses = np.full((len(known), *map(len, values)), math.inf)
    losses[np.searchsorted(known, rows["seed"]), *places] = rows[metric].fillna(math.inf)
    return values, losses


def sweep_of(rows, axis: str, metric: str, seeds: Sequence[int] | None = None, *further) -> Sweep:
    """The sweep of runs along an axis, as `by_seed` reads them. further: columns of other settings
    that were tried at every value."""
    import numpy as np

    known = [int(seed) for seed in np.unique(rows["seed"] if seeds is None else seeds)]
    axes, losses = by_seed(rows, (*further, axis), metric, known)
    return Sweep(axes[-1], tuple(known), losses)


def slope_over_seeds(sweeps: Sweeps, reach: float, problem: str = "") -> Measurement:
    """Mean over seeds of the slope of the best rate against the width, each seed's by parabolas of
    its own; the problem says so where one has no best rate. reach: as of `Sweep.vertices`."""
    slopes = dict(zip(sweeps.seeds, sweeps.slopes(reach), strict=True))
    found = over_seeds(lambda sample: slopes[sample[0]], sweeps.seeds, problem)
    if not math.isnan(found.value):
        return found
    words = "a seed's curve has no minimum inside the grid"
    return replace(found, problem=joined(problem, words))


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

    def along(self, rows, axis: str, seeds: Sequence[int] | None = None) -> Sweep:
        """The curve of `losses` along an axis, of which the other axes are at their best."""
        import numpy as np

        losses, best, i = self.losses(rows, seeds), self.optimum(rows).point, self.axes.index(axis)
        line = {
            point[i]: loss
            for point, loss in losses.items()
            if point == (*best[:i], point[i], *best[i + 1 :])
        }
        values = sorted(line)
        return Sweep(np.array(values), (0,), np.array([[line[value] for value in values]]))

    def vertex(self, rows, along: str, seeds: Sequence[int] | None = None) -> float:
        """log2 of the optimum along an axis, by a parabola through the best and its neighbours,
        the other axes at their best.

        All seeds together say which three points these are, so that an interval over seeds is of
        one estimator; NaN where one of them is missing.
        """
        import numpy as np

        line, best = self.along(rows, along, seeds), self.optimum(rows).point
        near = np.abs(np.log2(line.rates / best[self.axes.index(along)])) < NEIGHBOURS
        near_by = Sweep(line.rates[near], line.seeds, line.losses[:, near])
        return near_by.optimum("parabola", NEIGHBOURS, inside=False)
