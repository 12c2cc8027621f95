"""The board of transfer from what is on record, with entries that were sent in. No torch."""

import math
from pathlib import Path

from repro.core import catalog
from repro.core.suite import Suite
from repro.errors import UserError
from repro.products.records import describe, read_record, recorded
from repro.transfer_bench import entries
from repro.transfer_bench.matrix import FEWEST, Board, BoardRow
from repro.transfer_bench.score import Estimate, Interval
from repro.verdicts.typeset import markdown

PAGE = "board --page"
REFERENCE = " \N{DAGGER}"
FIGURE = "transfer/scores"  # whose data.csv has the runs of all rows
WITHOUT_SGD = "transfer/leaderboard"  # the same of a scale at which nothing is trained with SGD


def _on_record(suite: Suite) -> Path:
    """The recorded table of the configured scale and data."""
    bases = recorded(suite, FIGURE) or recorded(suite, WITHOUT_SGD)
    if not bases:
        raise UserError(f"board: no record of {FIGURE} for {describe(suite)}")
    read_record(bases[0])  # refuses one that was changed
    return bases[0].with_suffix(".csv")


def board(suite: Suite, data: Path | None = None) -> Board:
    """The matrix at the configured scale and data, of what is on record and what was sent in.

    data: the suite's own data.csv where it is not that on record. A configured entry is among
    those sent in. Raises UserError where there is no record."""
    import pandas as pd

    table = pd.read_csv(data or _on_record(suite))
    figure, file = catalog.figure_module(FIGURE), suite.config.entry
    own = suite.config.scale, suite.label, figure.VERSION
    if file and not file.record.exists():
        raise UserError(
            f"{file.record}: is missing; make it by repro record --config entry=FILE.py"
        )
    paths = {*entries.FOLDER.glob("*.json"), *([file.record.absolute()] if file else [])}
    more = entries.sent_in(*own, figure.NAMES, sorted(paths))
    return figure.matrix(table, suite.config.scale, more)


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
