"""What an interval has to hold besides the scatter between seeds. No torch.

Seeds say nothing of how fine a grid is, of which estimator was taken, or of which of several things
a claim about all of them turns on.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from repro.verdicts.answers import Measurement

ROUNDING = 1e-9


def joined(*phrases: str) -> str:
    """The phrases that are not empty, joined by semicolons."""
    return "; ".join(filter(None, phrases))


def spanning(found: Measurement, *values: float) -> Measurement:
    """The measurement with an interval that holds these values too; without one, as it is."""
    if math.isnan(found.low):
        return found
    return replace(found, low=min(found.low, *values), high=max(found.high, *values))


def no_finer_than(
    found: Measurement, half_step: float, lowest: float = -math.inf, highest: float = math.inf
) -> Measurement:
    """The measurement with an interval that reaches at least half a step to either side.

    For what is read off a grid: seeds that agree on one of its points say no more than its step.
    lowest, highest: what the quantity cannot pass.
    """
    ends = found.value - half_step, found.value + half_step
    return spanning(found, max(ends[0], lowest), min(ends[1], highest))


def in_words(found: Measurement) -> str:
    """`-0.41 [-0.51, -0.31]`; `none` where a seed gives no value."""
    if math.isnan(found.value):
        return "none"
    ends = "" if math.isnan(found.low) else f" [{found.low:z.2f}, {found.high:z.2f}]"
    return f"{found.value:z.2f}{ends}"


def half_step(values: Iterable[float]) -> float:
    """Half of the largest step of a grid, in octaves; of what is positive in it."""
    places = np.log2(sorted({value for value in values if value > 0}))
    return float(np.diff(places).max()) / 2 if len(places) > 1 else 0.0


def of_estimators(judged: Measurement, *others: Measurement) -> Measurement:
    """What is judged, with an interval that spans those of other estimators of the same quantity
    where any two of them differ by more than an interval: where neither holds the other's value.

    An estimator that gives nothing is left out.
    """
    told = [each for each in (judged, *others) if math.isfinite(each.high - each.low)]
    if judged not in told:
        return judged
    apart = any(
        abs(one.value - other.value) - ROUNDING
        > max(one.high - one.low, other.high - other.low) / 2
        for one in told
        for other in told
    )
    if not apart:
        return judged
    words = "estimators differ by more than an interval, which here spans them all"
    wide = spanning(judged, *(end for each in told for end in (each.low, each.high)))
    return replace(wide, detail=joined(judged.detail, words))


def farthest(parts: Sequence[Measurement], wanted: float, detail: str = "") -> Measurement:
    """Of several things that a claim says alike, the one farthest from what is wanted of each, with
    the interval of the largest distance: either end is the farthest of theirs. So it meets a bound
    where every one's interval does, and lies beside it where one's does.

    wanted: the middle of the bound; math.inf of what should be above one, which takes the smallest.
    What lies on the other side of it is mirrored to the farthest's.
    """
    values = np.array([part.value for part in parts])  # where there is a NaN, it is both ends
    lowest, highest = parts[int(values.argmin())], parts[int(values.argmax())]
    below = wanted == math.inf or wanted - lowest.value >= highest.value - wanted
    worst, pick = (lowest, np.min) if below else (highest, np.max)
    ends = [
        (part.low, part.high)
        if (part.value < wanted) == below
        else (2 * wanted - part.high, 2 * wanted - part.low)
        for part in parts
    ]
    low, high = (float(end) for end in pick(ends, axis=0))
    problem = joined(*dict.fromkeys(part.problem for part in parts))
    return Measurement(worst.value, low, high, min(p.n for p in parts), problem, detail)
