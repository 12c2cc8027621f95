"""Slopes, and 95 % intervals over seeds, also of what no seed has alone. No torch."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

# 97.5 % points of Student's t with 1, 2, ... degrees of freedom. A table, because scipy.stats takes
# 1.5 s to import and would be half of what drawing from the records needs installed.
STUDENT = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip
NORMAL = 1.9600


def slope(x: ArrayLike, y: ArrayLike) -> float:
    """Least-squares slope of y against x."""
    return float(np.polyfit(np.asarray(x, float), np.asarray(y, float), 1)[0])


def student(n: int) -> float:
    """97.5 % point of Student's t for the mean of n values; n is at least 2.

    From a table up to 31 values; beyond, by the first two terms of its expansion around the normal
    law (Abramowitz & Stegun 26.7.5), to four digits.
    """
    freedom = n - 1
    if freedom < 1:
        raise ValueError("an interval needs two values")
    if freedom <= len(STUDENT):
        return STUDENT[freedom - 1]
    z = NORMAL
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2


def student_tail(t: float, freedom: int) -> float:
    """Probability that Student's t with these degrees of freedom (1 or more) exceeds t.

    By its finite series (Abramowitz & Stegun 26.7.3, 26.7.4), to 15 decimal places.
    """
    angle, odd = math.atan2(t, math.sqrt(freedom)), freedom % 2
    term, total = (math.cos(angle) if odd else 1.0), 0.0
    for j in range(freedom // 2):
        total += term
        term *= math.cos(angle) ** 2 * (2 * j + 1 + odd) / (2 * j + 2 + odd)
    inside = math.sin(angle) * total
    if odd:
        inside = 2 / math.pi * (angle + inside)
    return min(1.0, max(0.0, (1 - inside) / 2))


def t_interval(values: ArrayLike) -> tuple[float, float, float]:
    """Mean of independent values, and its 95 % Student t interval: (mean, low, high).

    One value has no interval: both ends are NaN. So are they where a value is not finite.
    """
    x = np.asarray(values, float)
    mean = float(x.mean())
    if len(x) < 2 or not np.isfinite(x).all():
        return mean, math.nan, math.nan
    reach = student(len(x)) * float(x.std(ddof=1)) / math.sqrt(len(x))
    return mean, mean - reach, mean + reach


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


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error and degrees of freedom; NaN where there is none."""

    value: float
    error: float = math.nan
    freedom: float = math.nan

    @property
    def reach(self) -> float:
        """Half of the 95 % interval, by Student's t; the degrees of freedom are rounded down."""
        if not math.isfinite(self.error):
            return math.nan
        return student(max(1, math.floor(self.freedom)) + 1) * self.error

    @property
    def low(self) -> float:
        """The lower end of the 95 % interval."""
        return self.value - self.reach

    @property
    def high(self) -> float:
        """The upper end."""
        return self.value + self.reach

    def times(self, factor: float) -> "Estimate":
        """The estimate in another unit."""
        return Estimate(self.value * factor, self.error * abs(factor), self.freedom)


def estimate(value: float, *parts: tuple[float, int]) -> Estimate:
    """A value whose error has independent parts, each (variance, degrees of freedom). Their sum has
    the degrees of freedom of Welch and Satterthwaite."""
    whole = sum(variance for variance, _ in parts)
    squares = sum(variance**2 / freedom for variance, freedom in parts if freedom > 0)
    lacking = not math.isfinite(whole) or any(freedom < 1 for _, freedom in parts)
    if lacking or not math.isfinite(value):
        return Estimate(value)
    freedom = whole**2 / squares if squares > 0 else float(sum(f for _, f in parts))
    return Estimate(value, math.sqrt(whole), freedom)


def of_mean(values: np.ndarray) -> tuple[float, int]:
    """Variance of a mean over seeds, and its degrees of freedom."""
    if len(values) < 2 or not np.isfinite(values).all():
        return math.nan, len(values) - 1
    return float(np.var(values, ddof=1)) / len(values), len(values) - 1


def of_jackknife(without: np.ndarray) -> tuple[float, int]:
    """Variance of a statistic by its values without each seed, and its degrees of freedom."""
    n = len(without)
    if n < 2 or not np.isfinite(without).all():
        return math.nan, n - 1
    return (n - 1) / n * float(np.sum((without - without.mean()) ** 2)), n - 1
