"""The papers' claims, what is expected and measured for them, and verdicts. No torch."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from repro.statistics import bootstrap
from repro.suite.study import SCALES, TRAINED_SCALES

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Expectation:
    """An interval in which a quantity should lie, and its wording; nan if nothing is expected.

    strict: its ends do not count as inside.
    """

    low: float
    high: float
    text: str
    strict: bool = False

    def holds(self, value: float) -> bool:
        """Whether a value lies in the interval."""
        if self.strict:
            return self.low < value < self.high
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return self.text


def number(value: float, form: str = "g") -> str:
    """A number as text: whole numbers from 1,000 up with all digits, others in format `form`."""
    if 1_000 <= abs(value) < 2**53 and value == round(value):
        return f"{value:,.0f}"
    return f"{value:{form}}"


def within(value: float, tolerance: float) -> Expectation:
    """At most `tolerance` (absolute) away from the value."""
    text = f"{number(value)} within {number(tolerance)}"
    return Expectation(value - tolerance, value + tolerance, text)


def between(low: float, high: float) -> Expectation:
    """From low to high, ends included."""
    return Expectation(low, high, f"{number(low)} to {number(high)}")


def below(value: float) -> Expectation:
    """Strictly below the value."""
    return Expectation(-math.inf, value, f"below {number(value)}", strict=True)


def at_most(value: float) -> Expectation:
    """At most the value."""
    return Expectation(-math.inf, value, f"at most {number(value)}")


def above(value: float) -> Expectation:
    """Strictly above the value."""
    return Expectation(value, math.inf, f"above {number(value)}", strict=True)


def reported(text: str) -> Expectation:
    """No bound: the quantity is reported beside what the paper says (`text`), and not judged."""
    return Expectation(math.nan, math.nan, text)


@dataclass(frozen=True)
class Measurement:
    """A measured quantity.

    low, high: 95 % interval; the value twice if nothing is random. n: seeds behind the interval.
    problem: why the value must not be judged, such as an optimum at the edge of its grid; or "".
    detail: shown to the reader beside the value.
    """

    value: float
    low: float
    high: float
    n: int
    problem: str = ""
    detail: str = ""


def over_seeds(
    statistic: Callable[[Sequence[int]], float],
    seeds: Iterable[int],
    problem: str = "",
    detail: str = "",
) -> Measurement:
    """A statistic of a sample of seeds (in which they may repeat), with its bootstrap interval."""
    seeds = sorted(int(seed) for seed in seeds)
    low, high = bootstrap(seeds, statistic)
    return Measurement(float(statistic(seeds)), low, high, len(seeds), problem, detail)


def over_batches(
    values: np.ndarray, statistic: Callable[[np.ndarray], float], detail: str = ""
) -> Measurement:
    """A statistic of the mean over seeds, with its bootstrap interval over them.

    values: shape (seeds, ...). statistic: that mean, of shape (...) -> value.
    """
    return over_seeds(
        lambda sample: statistic(values[list(sample)].mean(0)), range(len(values)), detail=detail
    )


def without_interval(value: float, n: int = 1, problem: str = "", detail: str = "") -> Measurement:
    """A value in which nothing is random, or one from a single run."""
    return Measurement(float(value), float(value), float(value), n, problem, detail)


@dataclass(frozen=True)
class Claim:
    """One claim of a paper, and what should be measured for it.

    id: `<figure>.<name>`, unique within a paper.
    statement, source: what the paper says, in our words, and where. quantity: what is measured.
    expected: scale -> Expectation; the claim is not judged at a scale that is left out.
    real_data: judge it only on data that the suite did not generate.
    """

    id: str
    statement: str
    source: str
    quantity: str
    expected: dict[str, Expectation]
    real_data: bool = False


@dataclass(frozen=True)
class Judgement:
    """A claim with its measurement and verdict at one scale, on one source of data."""

    claim: Claim
    expected: str
    measurement: Measurement
    verdict: str
    reason: str = field(default="")


def judge(claim: Claim, measurement: Measurement, scale: str, embedded: bool) -> Judgement:
    """The verdict: reproduced if the measured interval lies inside the expected one, not reproduced
    if all of it lies outside, else not judged, with the reason (scale, data, a problem, noise).

    embedded: whether the suite generated any of the data.
    """
    expected = claim.expected.get(scale)
    text = str(expected or next(iter(claim.expected.values())))

    def result(verdict: str, reason: str = "") -> Judgement:
        return Judgement(claim, text, measurement, verdict, reason)

    if expected is None:
        return result(NOT_JUDGED, f"scale: judged at {', '.join(claim.expected)}")
    if claim.real_data and embedded:
        return result(NOT_JUDGED, "data: built into the embedded data")
    if measurement.problem:
        return result(NOT_JUDGED, measurement.problem)
    if math.isnan(expected.low):
        return result(NOT_JUDGED, "reported only")
    if not math.isfinite(measurement.value):
        return result(NOT_REPRODUCED, "the measured value is not finite")
    low_holds, high_holds = expected.holds(measurement.low), expected.holds(measurement.high)
    if low_holds and high_holds:
        return result(REPRODUCED)
    # If the intervals only touch, the end at the bound still holds, unless the bound is strict.
    apart = measurement.high <= expected.low or measurement.low >= expected.high
    if apart and not low_holds and not high_holds:
        return result(NOT_REPRODUCED)
    return result(NOT_JUDGED, "noise: the interval reaches over the bound")


def all_scales(expectation: Expectation) -> dict[str, Expectation]:
    """The same expectation at every scale: for quantities that do not depend on long training."""
    return dict.fromkeys(SCALES, expectation)


def trained_scales(expectation: Expectation) -> dict[str, Expectation]:
    """The same expectation at every scale whose runs train long enough to be judged."""
    return dict.fromkeys(TRAINED_SCALES, expectation)


def interval(row: dict) -> str:
    """`value [low, high]` of a row of `judging.judge_all`, in which None is a number that is not
    finite; or only the value if nothing is random."""
    if row["measured"] is None:
        return "nothing finite"
    value, low, high = (
        "not finite" if row[key] is None else number(row[key], ".3g")
        for key in ("measured", "low", "high")
    )
    return value if row["low"] == row["high"] else f"{value} [{low}, {high}]"
