"""What figures have in common when they read a table of runs (`repro.judge.figure`).

Such a table, a DataFrame, has a row for each evaluation of each run: its axes and its record.
"""

import math
from collections.abc import Sequence

from repro.suite.search import Point


def last_step(rows):
    """The rows of every run's last evaluation; all runs of the table have the same steps."""
    steps = rows["step"].to_numpy()
    return rows[steps == steps.max()]


def mean_losses(
    rows, axes: Sequence[str], metric: str, seeds: Sequence[int] | None = None
) -> dict[Point, float]:
    """Grid point -> the metric at the last step, averaged over seeds; infinite if one diverged.

    axes: the columns whose values are the point. seeds: whose runs to average, a repeated one as
    often as it occurs (a bootstrap sample); if None, all runs of the point.
    """
    import pandas as pd

    last = last_step(rows)
    if seeds is not None:
        of_seed = dict(list(last.groupby("seed")))
        last = pd.concat([of_seed[seed] for seed in seeds])
    means = last.fillna({metric: math.inf}).groupby(list(axes))[metric].mean()
    points = zip(*(means.index.get_level_values(axis) for axis in axes), strict=True)
    return dict(zip(points, means.tolist(), strict=True))


def joined(*phrases: str) -> str:
    """The phrases that are not empty, joined by semicolons."""
    return "; ".join(filter(None, phrases))
