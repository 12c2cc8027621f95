"""The verdict on a test from its measurement. No torch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from repro.verdicts.answers import (
    FEWEST,
    TRAINING,
    Expectation,
    Measurement,
    Prediction,
    Test,
)
from repro.verdicts.results import (
    AGREES,
    DIFFERS,
    FEW_SEEDS,
    INCONCLUSIVE,
    LIMIT,
    NO_NUMBER,
    NOISE,
    NOT_FINITE,
    NOT_REPRODUCED,
    ONE_RUN,
    PROBLEM,
    REPRODUCED,
    UNCLEAR,
    Doubt,
)

SURE = 0.025  # how often a false verdict may come out: a tail of a 95 % interval
MOST = 1000.0  # an interval so many times as wide tells nothing


@dataclass(frozen=True)
class Judgement:
    """A test with its measurement and status where it binds.

    seen: AGREES, DIFFERS or UNCLEAR. doubts: why the status is not plainly what was seen. p: as
    from `p_value`; None where nothing is random.
    """

    measurement: Measurement
    seen: str
    status: str
    doubts: tuple[Doubt, ...] = ()
    p: float | None = None


def doubt(code: str, of: object = "") -> Doubt:
    """A doubt of a kind."""
    return {"code": code, "of": f"{of}"}


def doubted(judgement: Judgement, *doubts: Doubt) -> Judgement:
    """The judgement of a test from which nothing can be told; what was seen stays. doubts: why; of
    none it is left as it is."""
    if not doubts:
        return judgement
    return replace(judgement, status=INCONCLUSIVE, doubts=(*judgement.doubts, *doubts))


def by_bound(expected: Expectation, measurement: Measurement) -> Judgement:
    """The verdict by the bound alone: reproduced when the whole interval meets the bound, not
    reproduced when none of it does. What else is known of the test,
    `repro.verdicts.evidence.judge` adds."""
    seen, *doubts = _outcome_and_doubt(expected, measurement)
    status = {AGREES: REPRODUCED, DIFFERS: NOT_REPRODUCED, UNCLEAR: INCONCLUSIVE}[seen]
    p = p_value(expected, measurement)
    return Judgement(measurement, seen, status, tuple(doubts), p)


def widened(measured: Measurement, factor: float) -> Measurement:
    """The measurement with an interval so many times as wide to either side of the value, as far as
    the quantity can be there."""
    if factor == 1 or not math.isfinite(measured.value):
        return measured
    low = measured.value - factor * (measured.value - measured.low)
    high = measured.value + factor * (measured.high - measured.value)
    least, most = measured.possible
    return replace(measured, low=max(low, least), high=min(high, most))


def factor_for(expected: Expectation, found: Sequence[Measurement], seen: str) -> float:
    """By how much intervals must be widened for a false outcome to be seldom: to come out in at
    most SURE of these measurements. 1 where it is seldom as they are, MOST where no width does.

    seen: the outcome that is false, AGREES or DIFFERS.
    """
    widest = [_widest(expected, each, seen) for each in found]
    # Of n measurements so many may keep the outcome: of the rest the widest decides.
    seldom = math.floor(SURE * len(widest))
    factor = sorted(widest, reverse=True)[seldom]
    return min(MOST, max(1.0, factor))


def _widest(expected: Expectation, measured: Measurement, seen: str) -> float:
    """The factor by which an interval may be widened before its outcome is another; 0 where the
    value alone has another."""
    value, low, high = measured.value, measured.low, measured.high
    if measured.problem or math.isnan(value) or math.isnan(low):
        return 0.0
    if not math.isfinite(value):
        return MOST if seen == DIFFERS else 0.0
    inside = expected.holds(value)
    if inside != (seen == AGREES):
        return 0.0

    def reaches(end: float) -> float:
        away = abs(end - value)
        reach = value - low if end < value else high - value
        if not reach or math.isinf(away):
            return MOST
        return away / reach

    ends = (expected.low, expected.high) if inside else (expected.edge(value),)
    return min(map(reaches, ends))


def p_value(expected: Expectation, measured: Measurement) -> float | None:
    """How often a value would lie this far inside its bound, or beyond it, with the truth at an end
    of the bound: one-sided, by Student's t.

    Inside a bound with two ends it is the larger of the two tests, of either end (Schuirmann 1987).
    None where nothing is random, there is no interval, or a named problem says more.
    """
    no_interval = not math.isfinite(measured.low) or not math.isfinite(measured.high)
    if measured.problem or measured.n < 2 or no_interval or measured.low == measured.high:
        return None
    from repro.statistics import student, student_tail

    # An interval that spans other estimators, or half a step of a grid, reaches farther to one
    # side: how sure the value is, the longer one says.
    reach = max(measured.value - measured.low, measured.high - measured.value)
    freedom = measured.degrees

    def tail(end: float) -> float:
        return student_tail(student(freedom + 1) * abs(measured.value - end) / reach, freedom)

    if expected.holds(measured.value):
        return max(tail(end) for end in (expected.low, expected.high) if math.isfinite(end))
    return tail(expected.edge(measured.value))


def too_few(test: Test, measured: Measurement, scale: str) -> list[Doubt]:
    """The doubt about a measurement of fewer seeds than a scale for a CPU asks for."""
    fewest = FEWEST.get(scale, 0) if test.kind == TRAINING else 0
    return [doubt(FEW_SEEDS, fewest)] if 1 < measured.n < fewest else []


def off_formula(expected: Expectation, predicted: Prediction | None) -> list[Doubt]:
    """The doubt about a bound that the paper's formula misses at the sizes of the design: by more
    than half of the tolerance from its middle, or beyond its one end."""
    if predicted is None:
        return []
    if math.isfinite(expected.low) and math.isfinite(expected.high):
        middle, reach = (expected.low + expected.high) / 2, (expected.high - expected.low) / 4
        inside = predicted.low - reach <= middle <= predicted.high + reach
    else:
        inside = expected.holds(predicted.low) or expected.holds(predicted.high)
    return [] if inside else [doubt(LIMIT, predicted.formula)]


def _outcome_and_doubt(expected: Expectation, measured: Measurement) -> tuple:
    """AGREES, DIFFERS or UNCLEAR of an interval beside a bound, with the doubt of what is unclear
    or diverged."""
    if measured.problem:
        return UNCLEAR, doubt(PROBLEM, measured.problem)
    if math.isnan(measured.value):
        return UNCLEAR, doubt(NO_NUMBER)
    if not math.isfinite(measured.value):  # what diverged
        return DIFFERS, doubt(NOT_FINITE)
    if math.isnan(measured.low):
        return UNCLEAR, doubt(ONE_RUN)
    low, high = expected.holds(measured.low), expected.holds(measured.high)
    if low and high:
        return (AGREES,)
    beside = measured.high <= expected.low or measured.low >= expected.high
    if beside and not low and not high:
        return (DIFFERS,)
    return UNCLEAR, doubt(NOISE)
