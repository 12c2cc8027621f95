"""How long jobs take here beside the seconds on record: one price of a call, for its first line,
what is left while it runs, and the pages that promise it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

# The seconds on record are of runs beside other work, some by slower code: here jobs take at
# least this share of them (found: 2 to 3 times less).
FASTEST = 1 / 3
# Standard deviations of the logarithm of a pace, and how many of them a range reaches either way:
# before the first job; and of a single one, for records have the seconds of a figure, which are
# shared out among its jobs by their operations (found: 0.4 to 3.6 times what a job takes).
BEFORE = -math.log(FASTEST) / 2
OF_A_JOB = 0.7
REACH = 1.5


def wall(times: Sequence[float], cores: int) -> float:
    """Seconds that jobs take side by side, a core each. times: their own."""
    return max(sum(times) / cores, max(times, default=0.0))


def effective(weights: Sequence[float]) -> float:
    """Of how many equal ones the mean would be as well known as theirs with these weights."""
    return sum(weights) ** 2 / sum(each**2 for each in weights)


@dataclass
class Pace:
    """How many times as long as on record training jobs take here. ended: their forecasts and true
    seconds. Jobs that prepare data or draw tell nothing of it."""

    ended: list[tuple[float, float]] = field(default_factory=list)

    def ends(self, left: Sequence[float]) -> tuple[float, float]:
        """At least and at most, over jobs that are left, by their forecasts. Before a job has ended
        it is what the records leave open; then that and what was seen, each by its precision."""
        if not self.ended:
            return FASTEST, 1.0
        number, whole = len(self.ended), sum(expected for expected, _ in self.ended)
        seen = sum(taken for _, taken in self.ended) / whole
        off = [(taken / seen - expected) * number / whole for expected, taken in self.ended]
        of_a_job = (OF_A_JOB**2 + sum(each**2 for each in off)) / number
        told = effective([expected for expected, _ in self.ended]) / of_a_job
        precision = 1 / BEFORE**2 + told
        middle = (math.log(FASTEST) / 2 / BEFORE**2 + math.log(seen) * told) / precision
        error = math.sqrt(1 / precision + (of_a_job / effective(left) if left else 0.0))
        return math.exp(middle - REACH * error), math.exp(middle + REACH * error)
