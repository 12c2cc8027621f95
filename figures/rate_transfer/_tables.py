"""What the figures take of the runs: numbers of the networks of one data set."""

from collections.abc import Callable, Mapping, Sequence

from repro.verdicts.figure import Data, Drawn

SETTING = ["parametrization", "width", "seed"]
COLUMNS = (*SETTING, "rate", "spread", "distance", "mean")
SLOPE = "slope of log2 {} against log2 n, per data set"


def of_data_sets(rows: Data) -> Data:
    """Per data set and width: `rate`, the median best rate over its limit; `spread`, half the
    octaves between its quartiles; `distance`, the median size of what it is off its limit; `mean`,
    the mean of that, sign included."""
    import numpy as np
    import pandas as pd

    def numbers(networks: Data) -> dict[str, float]:
        ratio = (networks["rate"] / networks["limit"]).to_numpy()
        quartiles = np.log2(np.quantile(ratio, [0.25, 0.75], method="inverted_cdf"))
        return {
            "rate": float(np.median(ratio)),
            "spread": float(quartiles[1] - quartiles[0]) / 2,
            "distance": float(np.median(np.abs(ratio - 1))),
            "mean": float(np.mean(ratio - 1)),
        }

    groups = rows.groupby(SETTING, sort=True)
    found = [{**dict(zip(SETTING, key, strict=True)), **numbers(g)} for key, g in groups]
    return pd.DataFrame(found).sort_values(SETTING, ignore_index=True)


def slope_of(data: Data, column: str) -> Callable[[Sequence[int]], float]:
    """Seeds -> slope of a column's mean over these data sets, in logarithms of both."""
    import numpy as np

    from repro.statistics import slope

    def of(seeds: Sequence[int]) -> float:
        mean = data[data["seed"].isin(seeds)].groupby("width")[column].mean()
        return float(slope(np.log2(mean.index.to_numpy(float)), np.log2(mean.abs().to_numpy())))

    return of


def means(data: Data, column: str) -> dict[str, Data]:
    """Parametrization -> a column's mean over data sets, by the width."""
    of = data.groupby("parametrization")
    return {name: rows.groupby("width")[column].mean() for name, rows in of}


def draw(panels: Mapping[str, Mapping[str, Data]]) -> Drawn:
    """Lines over widths, both axes in logarithms. panels: what is drawn -> label -> a mean."""
    from repro.verdicts import drawing

    figure, axes = drawing.panels(len(panels))
    for axis, (words, lines) in zip(axes.flat, panels.items(), strict=True):
        for label, mean in lines.items():
            axis.loglog(mean.index, mean, "o-", label=label)
            axis.set_xscale("log", base=2)
        axis.set_xlabel("width n")
        axis.set_ylabel(words)
    axes.flat[0].legend()
    return figure
