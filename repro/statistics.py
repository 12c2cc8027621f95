"""Those of the library, and tests of a family of hypotheses. No torch."""

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
