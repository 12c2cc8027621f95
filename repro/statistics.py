"""Slopes, and 95 % intervals over seeds, also of what no seed has alone. No torch."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from widthwise.statistics import slope as slope
from widthwise.statistics import student as student
from widthwise.statistics import student_tail as student_tail
from widthwise.statistics import t_interval as t_interval


def holm(p_values: Sequence[float], level: float = 0.05) -> list[bool]:
    """Which of a family of tests are significant when the chance of even one false one is to be at
    most `level` (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    found, going = [False] * len(p_values), True
    for rank, i in enumerate(order):
        going = going and p_values[i] <= level / (len(p_values) - rank)
        found[i] = going
    return found


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
