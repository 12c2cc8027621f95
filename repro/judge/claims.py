"""Claims of the papers, expectations, and verdicts. No torch."""

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
    """An interval the quantity should lie in, without its ends if strict, and its wording."""

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
    """A number in words: counts of a thousand and more in full, others in the format given."""
    if 1_000 <= abs(value) < 2**53 and value == round(value):
        return f"{value:,.0f}"
    return f"{value:{form}}"


def within(value: float, tolerance: float) -> Expectation:
    """The value give or take the tolerance, ends included."""
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
    """No bound: the quantity is reported beside what the paper says, and not judged."""
    return Expectation(math.nan, math.nan, text)


@dataclass(frozen=True)
class Measurement:
    """A measured quantity.

    value; low, high: 95 % interval, or the value twice where nothing is random.
    n: seeds behind the interval. problem: why the value must not be judged (an optimum at the
    edge of its grid, a search limit), empty otherwise. detail: what a reader wants beside it.
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
    """A statistic of a sample of seeds, with its bootstrap interval."""
    seeds = sorted(int(seed) for seed in seeds)
    low, high = bootstrap(seeds, statistic)
    return Measurement(float(statistic(seeds)), low, high, len(seeds), problem, detail)


def over_batches(
    values: np.ndarray, statistic: Callable[[np.ndarray], float], detail: str = ""
) -> Measurement:
    """A statistic of the mean over seeds, with its bootstrap interval.

    values: shape (seeds, ...). statistic: takes that mean, of shape (...).
    """
    return over_seeds(
        lambda sample: statistic(values[list(sample)].mean(0)), range(len(values)), detail=detail
    )


def without_interval(value: float, n: int = 1, problem: str = "", detail: str = "") -> Measurement:
    """A value in which nothing is random, or of one run."""
    return Measurement(float(value), float(value), float(value), n, problem, detail)


@dataclass(frozen=True)
class Claim:
    """One claim: what the paper states, where, and what should be measured.

    id: `<figure>.<name>`, unique within a paper. statement, source: in our words, with the place.
    quantity: what is measured, in words. expected: scale -> Expectation; a scale left out is not
    judged. real_data: judged only on data the suite did not generate.
    """

    id: str
    statement: str
    source: str
    quantity: str
    expected: dict[str, Expectation]
    real_data: bool = False


@dataclass(frozen=True)
class Judgement:
    """A claim with its measurement and verdict at one scale on one data source."""

    claim: Claim
    expected: str
    measurement: Measurement
    verdict: str
    reason: str = field(default="")


def judge(claim: Claim, measurement: Measurement, scale: str, embedded: bool) -> Judgement:
    """The verdict: reproduced when the whole interval meets the expectation, not reproduced when
    none of it does, else not judged, with the reason (scale, data, a problem, noise)."""
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
    low, high = expected.holds(measurement.low), expected.holds(measurement.high)
    if low and high:
        return result(REPRODUCED)
    beside = measurement.high <= expected.low or measurement.low >= expected.high
    if beside and not low and not high:
        return result(NOT_REPRODUCED)
    return result(NOT_JUDGED, "noise: the interval reaches over the bound")


def all_scales(expectation: Expectation) -> dict[str, Expectation]:
    """The same expectation at every scale: of what needs no training, or none of any length."""
    return dict.fromkeys(SCALES, expectation)


def trained_scales(expectation: Expectation) -> dict[str, Expectation]:
    """The same expectation at every scale whose runs are long enough to judge training by."""
    return dict.fromkeys(TRAINED_SCALES, expectation)


def interval(row: dict) -> str:
    """`value [low, high]`, or the value alone where nothing is random; None is not finite."""
    if row["measured"] is None:
        return "nothing finite"
    value, low, high = (
        "not finite" if row[key] is None else number(row[key], ".3g")
        for key in ("measured", "low", "high")
    )
    return value if row["low"] == row["high"] else f"{value} [{low}, {high}]"
