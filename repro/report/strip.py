"""Bounds and intervals of tests on one axis, as fractions of its length, for the pages to draw."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from repro.verdicts.answers import TOLERANCE, number
from repro.verdicts.results import Judged

MARGIN = 0.15  # of the span, on either side of what is drawn
LOGARITHMIC = 100.0  # ratio of positive ends from which the axis is logarithmic
APART = 0.16  # of the axis, between two numbers below it


@dataclass(frozen=True)
class Strip:
    """Fractions of the axis, 0 to 1, left to right.

    bound: where the quantity should lie. interval: the 95 % interval; None where there is none, as
    of one run. value: what was measured. paper: the value that the paper prints or that its law
    has in the limit, None where that is a sign. predicted: what its formula gives at these sizes.
    """

    bound: tuple[float, float]
    interval: tuple[float, float] | None
    value: float
    paper: float | None = None
    predicted: tuple[float, float] | None = None


@dataclass(frozen=True)
class Strips:
    """Tests on one axis. of: a strip each; None if nothing finite was measured. ticks: places below
    the axis, and the number at each."""

    of: list[Strip | None]
    ticks: list[tuple[float, str]]


def strip(row: Judged) -> Strip | None:
    """The strip of a test alone; None if nothing finite was measured."""
    return strips([row]).of[0]


def strips(rows: Sequence[Judged]) -> Strips:
    """Those of several tests of one quantity."""
    drawn = [row for row in rows if row["measured"] is not None]
    marks = [mark for row in drawn for mark in (*_bound(row), _paper(row)) if mark is not None]
    marks = [mark for mark in marks if math.isfinite(mark)]
    ends = [row[key] for row in drawn for key in ("measured", "low", "high")]
    ends += [end for row in drawn for end in row["bound"]["predicted"]]
    place = _axis([end for end in [*ends, *marks] if end is not None])
    return Strips(
        [_strip(row, place) if row in drawn else None for row in rows], _ticks(marks, place)
    )


def _bound(row: Judged) -> tuple[float, float]:
    low, high = row["bound"]["low"], row["bound"]["high"]
    return -math.inf if low is None else low, math.inf if high is None else high


def _paper(row: Judged) -> float | None:
    bound = row["bound"]
    if bound["limit"] is not None:
        return bound["limit"]
    if bound["basis"] != TOLERANCE or bound["low"] is None or bound["high"] is None:
        return None
    return (bound["low"] + bound["high"]) / 2


def _strip(row: Judged, place: Callable[[float], float]) -> Strip:
    value, low, high, paper = row["measured"], row["low"], row["high"], _paper(row)
    assert value is not None
    least, most = map(place, _bound(row))
    predicted = [place(end) for end in row["bound"]["predicted"]]
    return Strip(
        (least, most),
        None if low is None or high is None else (place(low), place(high)),
        place(value),
        None if paper is None else place(paper),
        (min(predicted), max(predicted)) if predicted else None,
    )


def _axis(ends: Sequence[float]) -> Callable[[float], float]:
    """Where a value lies on an axis that has all of these."""
    logarithmic = bool(ends) and min(ends) > 0 and max(ends) / min(ends) >= LOGARITHMIC

    def on_axis(value: float) -> float:
        return math.log(value) if logarithmic and value > 0 else value

    first, last = (on_axis(min(ends)), on_axis(max(ends))) if ends else (0.0, 0.0)
    span = last - first or abs(last) or 1.0
    begin, length = first - MARGIN * span, (last - first) + 2 * MARGIN * span

    def place(value: float) -> float:
        if not math.isfinite(value):
            return 0.0 if value < 0 else 1.0
        if logarithmic and value <= 0:
            return 0.0
        return round(min(1.0, max(0.0, (on_axis(value) - begin) / length)), 4)

    return place


def _ticks(marks: Iterable[float], place: Callable[[float], float]) -> list[tuple[float, str]]:
    """Numbers below an axis, the first of several that would lie over each other."""
    found: list[tuple[float, str]] = []
    for mark in dict.fromkeys(marks):
        at = place(mark)
        if all(abs(at - other) >= APART for other, _ in found):
            found.append((at, number(mark)))
    return sorted(found)
