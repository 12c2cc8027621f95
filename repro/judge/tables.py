"""What every figure asks of a table of runs: a row a run and evaluation, its axes and record.

A figure's `reduce` makes such a table, `measure` and `draw` read it.
"""

import math
from collections.abc import Sequence

from repro.suite.search import Point


def last_step(rows):
    """The last evaluation of every run; the runs of a table all have the same steps."""
    return rows[rows["step"] == rows["step"].max()]


def mean_losses(
    rows, axes: Sequence[str], metric: str, seeds: Sequence[int] | None = None
) -> dict[Point, float]:
    """Grid point -> the metric at the last step, mean over seeds, infinite where one diverged.

    axes: the columns whose values make a point. seeds: whose runs count, repeats as often as they
    come (a bootstrap's sample); every run of a point if None.
    """
    last = last_step(rows).fillna({metric: math.inf})
    losses = {}
    for point, runs in last.groupby(list(axes)):
        values = runs[metric] if seeds is None else runs.set_index("seed")[metric].loc[list(seeds)]
        losses[point] = float(values.mean())
    return losses


def joined(*phrases: str) -> str:
    """Those phrases that are not empty, as one."""
    return "; ".join(filter(None, phrases))
