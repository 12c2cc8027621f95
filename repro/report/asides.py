"""What a figure puts beside the rows of its table, checked, and its bars for the pages to draw."""

import math
from dataclasses import dataclass
from pathlib import Path

from repro.errors import UserError, did_you_mean
from repro.verdicts.answers import number
from repro.verdicts.figure import Asides, Bar, figure_named
from repro.verdicts.judging import called
from repro.verdicts.typeset import Table


@dataclass(frozen=True)
class Drawn:
    """A bar in fractions of its axis, 0 to 1, left to right.

    sum: of its parts, in numbers. zero: where it begins. parts: ends of each. interval: None where
    there is none. cut: on which sides it goes on beyond the axis. words: its numbers.
    """

    sum: float
    zero: float
    parts: list[tuple[float, float]]
    interval: tuple[float, float] | None
    cut: tuple[bool, bool]
    words: str


def asides(figure_name: str, data: Path, scale: str, table: Table) -> Asides | None:
    """What a figure shows beside its table's rows; None if nothing. data: its data.csv. Raises
    UserError where that does not fit the table."""
    import pandas as pd

    make = figure_named(figure_name).asides
    if make is None:
        return None
    file = f"figures/{figure_name}.py"
    with called(figure_name, "asides"):
        found = make(pd.read_csv(data), scale)
    if not isinstance(found, Asides):
        raise UserError(f"{file}: asides returned a {type(found).__name__}, not Asides")
    if len(found.rows) != len(table.rows):
        raise UserError(f"{file}: {len(found.rows)} asides for {len(table.rows)} rows of its table")
    if found.before not in table.columns:
        hint = did_you_mean(found.before, list(table.columns))
        raise UserError(f"{file}: asides stand before {found.before!r}, no column of it: {hint}")
    return found


def drawn(bar: Bar | None, shared: Asides) -> Drawn | None:
    """A bar on the axis of all; None if there is none, or if a part of it is not finite."""
    if bar is None or not all(map(math.isfinite, bar.parts.values())):
        return None
    first, last = shared.ends
    ends = [0.0]
    for size in bar.parts.values():
        ends.append(ends[-1] + size)
    known = [end for end in (bar.low, bar.high) if not math.isnan(end)]
    reach = [*ends, *known]

    def place(value: float) -> float:
        return round((min(last, max(first, value)) - first) / (last - first), 4)

    parts = [(place(min(pair)), place(max(pair))) for pair in zip(ends, ends[1:], strict=False)]
    interval = (place(bar.low), place(bar.high)) if len(known) == 2 else None
    cut = (min(reach) < first, max(reach) > last)
    return Drawn(ends[-1], place(0.0), parts, interval, cut, words(bar, shared.unit))


def words(bar: Bar, unit: str) -> str:
    """`50 % [39, 60]: regret 38, penalty 12`, of a bar whose parts are finite."""
    total = short(sum(bar.parts.values()))
    known = not math.isnan(bar.low + bar.high)
    interval = f" [{short(bar.low)}, {short(bar.high)}]" if known else ""
    parts = ", ".join(f"{name} {short(size)}" for name, size in bar.parts.items())
    return f"{total} {unit}{interval}: {parts}"


def short(value: float) -> str:
    """Three digits of a number."""
    return number(value, "z.3g")
