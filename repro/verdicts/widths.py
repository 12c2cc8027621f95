"""How a quantity goes with the width, where widths may have seeds of their own. No torch."""

from collections.abc import Mapping, Sequence

import numpy as np

from repro.statistics import slope
from repro.verdicts.answers import Measurement, over_arms, over_seeds


def weights(numbers: Mapping[float, int]) -> dict[float, float]:
    """Width -> what its mean counts in a least-squares slope against log width. A seed's variance
    is taken as 1/d, which is about what records show, so that a mean's is 1 / (n d): by what is
    found, weights would hang on the runs that are judged.

    numbers: width -> its seeds.
    """
    x, of_mean = np.log([*numbers]), np.array([n * d for d, n in numbers.items()], float)
    away = x - np.average(x, weights=of_mean)
    return dict(zip(numbers, of_mean * away / np.sum(of_mean * away**2), strict=True))


def exponent(logs: Mapping[float, Mapping[int, float]], detail: str = "") -> Measurement:
    """The power of the width, with its interval. Where all widths have the same seeds, the mean of
    each seed's own; else the slope of the means by `weights`, with Welch's interval.

    logs: width -> seed -> logarithm of the quantity. Of fewer than two widths there is none.
    """
    widths = [*logs]
    if len(widths) < 2:
        fewest = min((len(each) for each in logs.values()), default=0)
        return Measurement(np.nan, np.nan, np.nan, fewest, "there are no two widths", detail)
    if all(logs[width].keys() == logs[widths[0]].keys() for width in widths):

        def slope_of_means(seeds: Sequence[int]) -> float:
            means = [np.mean([logs[width][seed] for seed in seeds]) for width in widths]
            return slope(np.log(widths), means)

        return over_seeds(slope_of_means, logs[widths[0]], "", detail)
    counts = weights({width: len(logs[width]) for width in widths})
    values = {width: np.array([*logs[width].values()]) for width in widths}

    def weighted_sum(places: Mapping[float, Sequence[int]]) -> float:
        return sum(counts[width] * values[width][its].mean() for width, its in places.items())

    return over_arms(weighted_sum, {d: range(len(each)) for d, each in values.items()}, "", detail)
