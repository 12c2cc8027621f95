"""Slopes, and 95 % intervals over seeds, also of what no seed has alone. No torch."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from widthwise.statistics import slope as slope
from widthwise.statistics import student as student
from widthwise.statistics import t_interval as t_interval


def jackknife(
    statistic: Callable[[Sequence[int]], float], seeds: Sequence[int]
) -> tuple[float, float, float]:
    """A statistic of a mean over seeds, as a fit to means is, and its `left_out_interval`.

    One seed has no interval: both ends are NaN.
    """
    seeds = list(seeds)
    whole = float(statistic(seeds))
    if len(seeds) < 2:
        return whole, math.nan, math.nan
    without = [statistic([s for s in seeds if s != left]) for left in seeds]
    return whole, *left_out_interval(whole, without)


def left_out_interval(whole: float, without: ArrayLike) -> tuple[float, float]:
    """95 % interval of a statistic from its values without each seed.

    Student's t with the jackknife's standard error (Tukey); of a mean it is `t_interval`. NaN where
    a value is not finite.
    """
    x = np.asarray(without, float)
    if not np.isfinite(x).all():
        return math.nan, math.nan
    n = len(x)
    reach = student(n) * math.sqrt((n - 1) / n * float(np.sum((x - x.mean()) ** 2)))
    return whole - reach, whole + reach
