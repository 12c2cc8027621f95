"""A figure's data.csv as columns, for the page's plot: which are settings and which are measured.

The page plots any measured column against any setting, a line for each value of the other
settings, and means over nothing but seeds.
"""

import csv
import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from repro.errors import UserError, did_you_mean
from repro.verdicts.figure import View

SEED = "seed"
STEP = "step"
LAST = "each run's last"
FEW = 6  # lines that one can still tell apart


@dataclass(frozen=True)
class Column:
    """A column of numbers or texts. values: one a row; None where the cell is empty, and
    "inf" where a run diverged, for which JSON has no number."""

    name: str
    values: list


@dataclass(frozen=True)
class Plot:
    """What the page's plot is made of.

    settings, measured: names of columns. x, y: the columns shown first. chosen: setting -> the
    value shown first; lines: setting -> the values that have a line each; the others have one for
    every value.
    """

    columns: list[Column]
    settings: list[str]
    measured: list[str]
    x: str
    y: str
    chosen: dict
    lines: dict

    def content(self) -> dict:
        """As JSON."""
        return {**vars(self), "columns": {column.name: column.values for column in self.columns}}


def plot(path: Path, axes: Collection[str], view: View | None = None) -> Plot | None:
    """The plot of a data.csv; None if it has no number to show over a setting.

    axes: names of the settings of the figure's studies that are varied. view: what to show first,
    if the figure says so. Raises UserError if that names a column there is not.
    """
    known = read(path)
    columns = [column for column in known if varies(column)]
    wanted = {view.x, *view.only} if view else set()
    names = [column.name for column in known]
    for name in {*wanted, view.y} - {*names} if view else ():
        raise UserError(f"{path}: view names {name!r}, {did_you_mean(name, names)}")
    numeric = [column for column in columns if is_numeric(column)]
    measured = [c for c in numeric if is_measured(c, axes) and c.name not in wanted]
    settings = [c for c in columns if c not in measured and c.name != SEED]
    ordered = [c for c in settings if c in numeric and is_varied(c, axes)]
    asked = [c for c in settings if c in numeric and view and c.name == view.x]
    if not measured or not (asked or ordered):
        return None
    x = asked[0] if asked else abscissa(ordered)
    others = independent([c for c in settings if c is not x], x, axes, wanted)
    only = view.only if view else {}
    return Plot(
        columns,
        [x.name, *(column.name for column in others)],
        [column.name for column in measured],
        x.name,
        view.y if view else measured[0].name,
        chosen(others, only),
        {name: list(values) for name, values in only.items() if isinstance(values, tuple)},
    )


def read(path: Path) -> list[Column]:
    """The columns of a CSV file; one is of numbers if all its cells are, or are empty."""
    with path.open(newline="") as lines:
        names, *rows = csv.reader(lines)
    return [
        Column(name, converted([row[place] for row in rows])) for place, name in enumerate(names)
    ]


def converted(cells: list[str]) -> list:
    """Cells as numbers where all of them are, rounded to six digits; as texts where not."""
    try:
        return [None if cell == "" else rounded(float(cell)) for cell in cells]
    except ValueError:
        return [cell or None for cell in cells]


def rounded(value: float) -> float | str | None:
    """A number that JSON has: six digits of it, "inf" for a diverged one, None for NaN."""
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "inf"
    short = float(f"{value:.6g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def varies(column: Column) -> bool:
    """Whether a column says anything: not of one value, nor of one text where there is any."""
    values = set(column.values) if is_numeric(column) else {*column.values} - {None}
    return len(values) > 1


def is_numeric(column: Column) -> bool:
    """Whether a column is of numbers."""
    return all(isinstance(v, int | float) or v in (None, "inf") for v in column.values)


def is_measured(column: Column, axes: Collection[str]) -> bool:
    """Whether a numeric column was measured rather than set.

    It is not if a study varies it; nor if it is of few whole numbers, as widths and blocks are.
    """
    if column.name == SEED or is_varied(column, axes):
        return False
    values = {value for value in column.values if value is not None}
    whole = all(isinstance(value, int) for value in values)
    return not (whole and len(values) <= max(20, len(column.values) // 20))


def is_varied(column: Column, axes: Collection[str]) -> bool:
    """Whether a column is the step, or named as an axis is or as the last part of one (`width` of
    `model.width`)."""
    names = {STEP, *axes, *(axis.rpartition(".")[2] for axis in axes)}
    return column.name in names


def abscissa(ordered: list[Column]) -> Column:
    """The setting that a reader wants on the x axis: a learning rate, else the step, else the one
    of most values."""

    def rank(column: Column) -> tuple:
        many = len(set(column.values))
        rate = "lr" in column.name.split(".") and many > 2
        return rate, column.name == STEP, many

    return max(ordered, key=rank)


def independent(
    others: list[Column], x: Column, axes: Collection[str], wanted: Collection[str]
) -> list[Column]:
    """The settings besides x without numbers that follow from the others, as a vocabulary from a
    width; of what no study varies, also what follows from x, as tokens from steps."""
    kept = list(others)
    for column in reversed(others):
        rest = [each for each in kept if each is not column]
        known = [] if is_varied(column, axes) else [x]
        spare = is_numeric(column) and column.name not in {STEP, *wanted} and (rest or known)
        if spare and len(combinations(rest + known)) == len(combinations(kept + known)):
            kept = rest
    return kept


def combinations(columns: list[Column], rows: Collection[int] | None = None) -> Counter:
    """How often each combination of values occurs, in some rows or in all."""
    everything = zip(*(column.values for column in columns), strict=True)
    return Counter(c for i, c in enumerate(everything) if rows is None or i in rows)


def chosen(others: list[Column], only: Mapping[str, object]) -> dict:
    """Setting -> the one value shown first, so that few lines are left.

    only: what the figure asks for. Of steps it is each run's last; else a value is chosen where
    that leaves most lines but few enough, a text's before a number's: the value of most runs.
    """
    picked: dict = {c.name: LAST for c in others if c.name == STEP}
    rows = set(range(len(others[0].values))) if others else set()
    for column in others:
        if column.name in only:
            asked = only[column.name]
            values = asked if isinstance(asked, tuple) else (asked,)
            rows.intersection_update(i for i in rows if column.values[i] in values)
            if asked is not values:
                picked[column.name] = asked
    left = [c for c in others if c.name not in picked and c.name not in only]
    while left and len(combinations(left, rows)) > FEW:

        def frequent(column: Column) -> object:
            (((value,), _),) = combinations([column], rows).most_common(1)
            return value

        def rank(column: Column, rest: list[Column] = left) -> tuple:
            value = frequent(column)
            lines = len(combinations(rest, {i for i in rows if column.values[i] == value}))
            return lines <= FEW, lines if lines <= FEW else -lines, not is_numeric(column)

        column = max(left, key=rank)
        value = picked[column.name] = frequent(column)
        rows.intersection_update(i for i in rows if column.values[i] == value)
        left = [each for each in left if each is not column]
    return picked
