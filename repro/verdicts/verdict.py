"""The verdict on a claim from its measurement. No torch.

Two questions are kept apart: what was *seen* (does the whole interval meet the bound?), and whether
the claim *binds* here (is it meant to hold at this scale and on this data?). A verdict needs both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from repro.statistics import student, student_tail
from repro.verdicts.claims import (
    FEWEST,
    TOLERANCE,
    TRAINING,
    Claim,
    Expectation,
    Measurement,
    number,
)
from repro.verdicts.words import (
    AGREES,
    DIFFERS,
    INCONCLUSIVE,
    NEEDS_MORE,
    NO_BOUND,
    NOT_REPRODUCED,
    NOTHING,
    REPRODUCED,
    UNCLEAR,
)

SURE = 0.025  # how often a false verdict may come out: a tail of a 95 % interval
MOST = 1000.0  # an interval so many times as wide tells nothing


@dataclass(frozen=True)
class Judgement:
    """A claim with its measurement and verdict at one scale on one data source.

    seen: AGREES, DIFFERS, UNCLEAR, or NOTHING where there is no bound. binds: whether it is meant
    to hold here. reason: why the verdict is not plainly that it was reproduced or not. p: as from
    `p_value`; None where the claim does not bind or nothing is random.
    """

    claim: Claim
    measurement: Measurement
    seen: str
    binds: bool
    verdict: str
    reason: str = ""
    p: float | None = None


def doubted(judgement: Judgement, *doubts: str) -> Judgement:
    """The judgement of a claim from which nothing can be told although it binds; what was seen
    stays. doubts: why, in words; where all are empty it is left as it is."""
    if not judgement.binds or not any(doubts):
        return judgement
    reason = "; ".join(filter(None, [judgement.reason, *doubts]))
    return replace(judgement, verdict=INCONCLUSIVE, reason=reason)


def by_bound(claim: Claim, measurement: Measurement, scale: str, embedded: bool) -> Judgement:
    """The verdict by the bound alone: reproduced when the whole interval meets the bound, not
    reproduced when none of it does and the claim binds here; else what was seen, and why that is no
    verdict. What else is known of the claim's test, `repro.verdicts.evidence.judge` adds."""
    expected = claim.at(scale)
    if math.isnan(expected.low):
        return Judgement(claim, measurement, NOTHING, False, NO_BOUND, measurement.problem)
    seen, why = _seen(expected, measurement)
    elsewhere = claim.elsewhere(scale, embedded)
    if elsewhere:
        reason = f"{elsewhere}; {why}" if why else elsewhere
        return Judgement(claim, measurement, seen, False, NEEDS_MORE, reason)
    verdict = {AGREES: REPRODUCED, DIFFERS: NOT_REPRODUCED, UNCLEAR: INCONCLUSIVE}[seen]
    return Judgement(claim, measurement, seen, True, verdict, why, p_value(expected, measurement))


def widened(measured: Measurement, factor: float) -> Measurement:
    """The measurement with an interval so many times as wide to either side of the value."""
    if factor == 1 or not math.isfinite(measured.value):
        return measured
    low = measured.value - factor * (measured.value - measured.low)
    high = measured.value + factor * (measured.high - measured.value)
    return replace(measured, low=low, high=high)


def factor_for(expected: Expectation, found: Sequence[Measurement], seen: str) -> float:
    """By how much intervals must be widened for a false outcome to be seldom: to come out in at
    most SURE of these measurements. 1 where it is seldom as they are, MOST where no width does.

    seen: the outcome that is false, AGREES or DIFFERS.
    """
    stays = [_stays(expected, each, seen) for each in found]
    # Of n measurements so many may keep the outcome: of the rest the widest decides.
    seldom = math.floor(SURE * len(stays))
    factor = sorted(stays, reverse=True)[seldom]
    return min(MOST, max(1.0, factor))


def _stays(expected: Expectation, measured: Measurement, seen: str) -> float:
    """How wide an interval may be made before an outcome is no longer seen; 0 where it is not seen
    with one of no width."""
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
    # An interval that spans other estimators, or half a step of a grid, reaches farther to one
    # side: how sure the value is, the longer one says.
    reach = max(measured.value - measured.low, measured.high - measured.value)
    freedom = measured.degrees

    def tail(end: float) -> float:
        return student_tail(student(freedom + 1) * abs(measured.value - end) / reach, freedom)

    if expected.holds(measured.value):
        return max(tail(end) for end in (expected.low, expected.high) if math.isfinite(end))
    return tail(expected.edge(measured.value))


def left_out(expected: Expectation, measured: Measurement) -> str:
    """What a reader must hear in the same breath where an interval lies within the tolerance of a
    printed value and leaves the value itself out; else ""."""
    if expected.basis != TOLERANCE or not expected.holds(measured.value):
        return ""
    value = (expected.low + expected.high) / 2
    if not math.isfinite(value) or measured.low <= value <= measured.high:
        return ""
    if math.isnan(measured.low) or measured.low == measured.high:
        return ""
    return f"{number(value)} itself is outside the interval"


def too_few(claim: Claim, measured: Measurement, scale: str) -> str:
    """Why runs of these seeds tell nothing at a scale for a CPU, in words; "" if they may."""
    fewest = FEWEST.get(scale, 0) if claim.kind == TRAINING else 0
    few = 1 < measured.n < fewest
    return f"{measured.n} seeds, where nothing is told from fewer than {fewest}" if few else ""


def _seen(expected: Expectation, measured: Measurement) -> tuple[str, str]:
    """What was seen, and why nothing can be told or what a reader should know."""
    if measured.problem:
        return UNCLEAR, measured.problem
    if math.isnan(measured.value):
        return UNCLEAR, "nothing was measured: the value is no number"
    if not math.isfinite(measured.value):  # what diverged
        return DIFFERS, "the measured value is not finite"
    if math.isnan(measured.low):
        return UNCLEAR, "one run"
    low, high = expected.holds(measured.low), expected.holds(measured.high)
    if low and high:
        return AGREES, ""
    beside = measured.high <= expected.low or measured.low >= expected.high
    if beside and not low and not high:
        return DIFFERS, ""
    return UNCLEAR, "noise: the interval reaches over the bound"
