"""What figures have in common when they read a table of runs (`repro.judge.figure`).

Such a table, a DataFrame, has a row for each evaluation of each run: its axes and its record.
"""

import math
from collections.abc import Mapping, Sequence

from repro.suite.names import StageName
from repro.suite.search import Point


def with_rounds(runs: Mapping, stage: str):
    """The rows of a stage and of its search's rounds, but for those that were not needed.

    runs: name of a stage or round -> its table. stage: the name of a search, or of any other stage.
    """
    import pandas as pd

    grid = runs[stage]
    rounds = (runs[n] for n in runs if n != stage and str(StageName.parse(n).at_round(0)) == stage)
    needed = [table[grid.columns] for table in rounds if "step" in table]
    return pd.concat([grid, *needed], ignore_index=True) if needed else grid


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
