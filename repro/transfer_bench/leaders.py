"""The board of transfer from what is on record: the suite's own runs, and entries'. No torch."""

import math
from collections.abc import Sequence
from pathlib import Path

from repro.core import catalog, entry
from repro.core.entry import FIGURE, PROXY, WORKLOADS
from repro.core.suite import Suite
from repro.errors import UserError
from repro.files import read_table
from repro.products.records import RECORDS, describe, read_record, recorded
from repro.transfer_bench.matrix import FEWEST, Board, BoardRow
from repro.transfer_bench.score import Estimate, Interval
from repro.verdicts.typeset import markdown

REFERENCE = " \N{DAGGER}"
NUMBERS = ["model.width", "embedding_ratio", "lr", "seed", "train_loss", "chance"]


def on_record(suite: Suite) -> Path:
    """The recorded table of the suite's runs at the configured scale and data."""
    bases = recorded(suite, FIGURE)
    if not bases:
        raise UserError(f"board: no record of {FIGURE} for {describe(suite)}")
    read_record(bases[0])  # refuses one that was changed
    return bases[0].with_suffix(".csv")


def board(suite: Suite, data: Path | None = None) -> Board:
    """The matrix at the configured scale and data, with every entry that is on record there.

    data: the suite's own table where it is not that on record. Raises UserError where there is
    no record, and, naming it, where an entry's is none."""

    figure = catalog.figure_module(FIGURE)
    more = entered(suite.config.scale, suite.label, figure.NAMES)
    return figure.matrix(read_table(data or on_record(suite)), suite.config.scale, more)


def entered(scale: str, label: str, names: Sequence[str]) -> list[BoardRow]:
    """The rows of the entries on record at a scale on some data. names: of rows that are there.
    Raises UserError, naming its record, where one has the name of another row."""
    taken: dict[str, Path | str] = {_comparable_name(name): "the suite's own" for name in names}
    rows = []
    for path in sorted(RECORDS.glob(f"{scale}/{label}+entry=*/*/{FIGURE}.json")):
        rows.append(row_of(path, scale))
        name = rows[-1].parametrization
        other = taken.setdefault(_comparable_name(name), path)
        if other != path:
            raise UserError(f"{path}: its NAME {name!r} is {other}; give it another")
    return rows


def _comparable_name(name: str) -> str:
    """A name without case and signs: two that differ in these alone are one to a reader."""
    return "".join(c for c in name.casefold() if c.isalnum())


def row_of(path: Path, scale: str) -> BoardRow:
    """The row of an entry's record, a JSON. Its file is read and not carried out. Raises UserError,
    naming it, where it is no entry's, or its table has what is no run of it."""

    file = entry.of_record(read_record(path.with_suffix("")), str(path))
    data = read_table(path.with_suffix(".csv"))
    known = {"workload": WORKLOADS, "parametrization": (PROXY, file.name)}
    if not (
        [*data.columns] == [*known, *NUMBERS, "optimizer"]
        and all({*data[column]} <= {*own} for column, own in known.items())
        and {*data["optimizer"]} == {file.optimizer}
        and all(data[column].dtype.kind in "if" for column in NUMBERS)
        and (data[NUMBERS] >= 0).all(axis=None)
        and not data.duplicated([*known, *NUMBERS[:4]]).any()
    ):
        raise UserError(f"{path}: its table has what is no run of this entry; {entry.REMEDY}")
    figure, source = catalog.figure_module(FIGURE), path.relative_to(RECORDS.parent).as_posix()
    (row,) = figure.entries(data, scale, source=source)
    return row


def lines(suite: Suite) -> list[str]:
    """The matrix as a Markdown table, with what its marks mean."""
    shown = board(suite)
    told = {c: w for c, w in shown.columns.items() if any(c in r.defined for r in shown.rows)}
    left_out = [words for column, words in shown.columns.items() if column not in told]
    heads = ["", "entry", "median lost, %", *told.values()]
    rows = [
        [
            f"{shown.group[row.name]}" if row.name in shown.group else "-",
            row.name,
            median(row),
            *(cell(shown, row, column) for column in told),
        ]
        for row in shown.rows
    ]
    note = (
        f"Version {shown.version}, {suite.config.scale} scale. Entries of one number are tied. "
        "Bold: the least lost of a workload, and what a paired test does not part from it. A dash "
        f"is undefined; an empty cell was not trained.{REFERENCE} its own tuned loss is the "
        "workload's reference. Below 0 ends lower than the reference, above 100 higher than "
        "its narrow model. References: "
        + "; ".join(f"{told[c]} {shown.references[c].of}" for c in told if c in shown.references)
        + "."
        + (f" Undefined in every row, and left out: {', '.join(left_out)}." if left_out else "")
    )
    return [*markdown([heads, *rows]), "", note]


def median(row: BoardRow) -> str:
    """`7 [4, 12] of 5`, the last of so many workloads."""
    if not math.isfinite(row.median.value):
        return f"- (defined on {len(row.defined)}, {FEWEST} are asked for)"
    return f"{numbers(row.median)} of {len(row.defined)}"


def cell(shown: Board, row: BoardRow, column: str) -> str:
    """`7 [4, 10]`, bold where nothing loses less; a dash where it is undefined."""
    found = row.scores.get(column)
    if found is None:
        return ""
    if found.problem:
        return "-"
    words = numbers(found.lost) + (REFERENCE if found.reference == row.name else "")
    return f"**{words}**" if row.name in shown.best.get(column, ()) else words


def numbers(found: Estimate | Interval) -> str:
    """`7 [4, 10]`, whole percents."""
    ends = "" if math.isnan(found.low) else f" [{found.low:z.0f}, {found.high:z.0f}]"
    return f"{found.value:z.0f}{ends}"
