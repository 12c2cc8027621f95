"""A test's bound and interval on one axis, as fractions of its length, for the pages to draw."""

import math
from dataclasses import dataclass

from repro.verdicts.results import Judged

MARGIN = 0.15  # of the span, on either side of what is drawn
LOGARITHMIC = 100.0  # ratio of positive ends from which the axis is logarithmic


@dataclass(frozen=True)
class Strip:
    """Fractions of the axis, 0 to 1, left to right.

    bound: where the quantity should lie. interval: the 95 % interval; None where there is none, as
    of one run. value: what was measured.
    """

    bound: tuple[float, float]
    interval: tuple[float, float] | None
    value: float


def strip(row: Judged) -> Strip | None:
    """The strip of a test; None if nothing finite was measured."""
    if row["measured"] is None:
        return None
    low, high = row["bound"]["low"], row["bound"]["high"]
    bound = -math.inf if low is None else low, math.inf if high is None else high
    low, high = row["low"], row["high"]
    interval = None if low is None or high is None else (low, high)
    ends = [row["measured"], *(interval or ()), *filter(math.isfinite, bound)]
    logarithmic = min(ends) > 0 and max(ends) / min(ends) >= LOGARITHMIC

    def on_axis(value: float) -> float:
        return math.log(value) if logarithmic and value > 0 else value

    low, high = on_axis(min(ends)), on_axis(max(ends))
    span = high - low or abs(high) or 1.0
    low, length = low - MARGIN * span, (high - low) + 2 * MARGIN * span

    def place(value: float) -> float:
        if not math.isfinite(value):
            return 0.0 if value < 0 else 1.0
        if logarithmic and value <= 0:
            return 0.0
        return round(min(1.0, max(0.0, (on_axis(value) - low) / length)), 4)

    reach = interval and (place(interval[0]), place(interval[1]))
    return Strip((place(bound[0]), place(bound[1])), reach, place(row["measured"]))
