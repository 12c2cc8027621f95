"""The board: rows a parametrization with an optimizer, columns workloads, against references that
are fixed."""

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlencode

from figures.transfer._losses import (
    NAME,
    PROXY,
    WIDTH,
    WORKLOADS,
    by_ratio,
    hardly_learned,
)
from repro.lineage.checkout import ROOT
from repro.transfer_bench import references
from repro.transfer_bench.matrix import Board, BoardRow, board, board_row
from repro.transfer_bench.references import Frozen, Setting
from repro.transfer_bench.score import Chain, Reference, chain
from repro.verdicts.figure import Data
from widthwise.parametrization import shipped

VERSION = "v1"  # of workloads, grids, seeds and references; `references` says what each is
ADAMW = "AdamW"
OPTIMIZER = "optimizer"  # a column of data.csv where its runs are an entry's


def chains(rows: Data) -> tuple[Setting, dict[str, Chain]]:
    """What a workload is known by, and parametrization -> its chain at the largest width. rows: of
    one study, data.csv's."""
    narrow, wide = rows[rows[NAME] == PROXY], rows[rows[NAME] != PROXY]
    widest = float(wide[WIDTH].max())
    chance = float(narrow["chance"].iloc[0])
    tuning = by_ratio(narrow)
    found = {
        str(name): chain(tuning, by_ratio(each[each[WIDTH] == widest]), hardly_learned(chance))
        for name, each in wide.groupby(NAME)
    }
    return Setting(chance, float(narrow[WIDTH].min()), widest), found


def by_workload(data: Data) -> dict[str, Data]:
    """Workload -> its rows, in the columns' order."""
    of = dict(list(data.groupby("workload")))
    return {name: of[name] for name in WORKLOADS if name in of}


def settings(data: Data) -> dict[str, Setting]:
    """Column -> what it is known by."""
    return {column: chains(rows)[0] for column, rows in by_workload(data).items()}


def entries(data: Data, scale: str, version: str = VERSION, source: str = "") -> list[BoardRow]:
    """The rows of one table of runs, in no order. source: whose they are, "" of the suite's."""
    known: dict[str, Reference] = {}
    lacking: dict[str, str] = {}
    optimizer = str(data[OPTIMIZER].iloc[0]) if OPTIMIZER in data else ADAMW
    by_row: dict[str, dict[str, Chain]] = {}
    for column, rows in by_workload(data).items():
        setting, found = chains(rows)
        reference = references.find(version, scale, column, setting)
        if isinstance(reference, str):
            lacking[column] = reference
        else:
            known[column] = reference
        for name, each in found.items():
            by_row.setdefault(name, {})[column] = each
    return [board_row(k, optimizer, each, known, lacking, source) for k, each in by_row.items()]


def references_of(data: Data, scale: str, version: str, label: str, digest: str) -> list[Frozen]:
    """Rows that would be the references of a new version (a test holds the rows on file to it)."""
    rows = entries(data, scale, version)
    return references.taken(version, scale, label, digest, settings(data), rows)


def matrix(data: Data, scale: str, more: Iterable[BoardRow] = (), version: str = VERSION) -> Board:
    """The board of the suite's runs and of other entries."""
    here = settings(data)
    known: dict[str, Reference] = {}
    for column, setting in here.items():
        reference = references.find(version, scale, column, setting)
        if isinstance(reference, Reference):
            known[column] = reference
    shown = {column: words for column, words in WORKLOADS.items() if column in here}
    return board(version, shown, known, [*entries(data, scale, version), *more])


def leads_to(row: BoardRow, column: str) -> tuple[dict[str, str], list[str]]:
    """What a cell of the board leads to: words -> a figure's curves or runs, and files that made
    them; of an entry that was sent in, its record, which has all of it."""
    if row.source:
        return {}, [row.source]
    curves = "transfer/shift#" + urlencode({"workload": column, NAME: row.parametrization})
    rules = Path(shipped()[row.parametrization]["__file__"]).relative_to(ROOT).as_posix()
    links = {"curves": curves, "runs": f"{curves}&table=open"}
    return links, [f"studies/transfer/{column}.py", rules]
