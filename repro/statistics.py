"""Those of the library, and tests of a family of hypotheses. No torch."""

import math
from collections.abc import Sequence

from widthwise.statistics import estimate as estimate
from widthwise.statistics import jackknife as jackknife
from widthwise.statistics import left_out_interval as left_out_interval
from widthwise.statistics import of_jackknife as of_jackknife
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


def clopper_pearson(there: int, n: int) -> tuple[float, float]:
    """95 % interval of a probability, from how often a thing was there in n trials: the exact one,
    by the binomial law's tails of 2.5 % (Clopper & Pearson 1934)."""

    def at_least(k: int, p: float) -> float:
        return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))

    def where(k: int, tail: float) -> float:
        """p at which k or more are as likely as `tail`; it grows with p."""
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if at_least(k, middle) < tail else (low, middle)
        return (low + high) / 2

    low = where(there, 0.025) if there else 0.0
    return low, where(there + 1, 0.975) if there < n else 1.0
