"""The board of transfer as a matrix: rows entries, columns workloads, ties by paired tests. No
torch."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from repro.transfer_bench.score import (
    Chain,
    Interval,
    Reference,
    Score,
    difference,
    holds_zero,
    median,
    score,
)


@dataclass(frozen=True)
class BoardRow:
    """A row of the board: a parametrization with an optimizer. chains: column -> its chain. scores:
    column -> its score. median: of what is lost over the columns that it is defined on."""

    parametrization: str
    optimizer: str
    chains: Mapping[str, Chain]
    scores: Mapping[str, Score]
    median: Interval
    source: str = ""

    @property
    def name(self) -> str:
        """`muP, AdamW`."""
        return f"{self.parametrization}, {self.optimizer}"

    @property
    def defined(self) -> list[str]:
        """The columns on which what it loses is a number."""
        return [column for column, each in self.scores.items() if not each.problem]


FEWEST = 3  # columns that a median is of at least


def groups(names: Sequence[str], parted: Callable[[str, str], bool]) -> dict[str, int]:
    """Name -> the group it is in, 1 the best: names, best first, that nothing parts from the first
    of their group."""
    found: dict[str, int] = {}
    number, first = 0, ""
    for name in names:
        if not found or parted(first, name):
            number, first = number + 1, name
        found[name] = number
    return found


def board_row(
    parametrization: str,
    optimizer: str,
    chains: Mapping[str, Chain],
    references: Mapping[str, Reference],
    lacking: Mapping[str, str],
    source: str = "",
) -> BoardRow:
    """A row. references: column -> its reference; lacking: column -> why there is none."""
    scores = {
        column: score(each, references.get(column), lacking.get(column, "no reference"))
        for column, each in chains.items()
    }
    told = [each.lost for each in scores.values() if not each.problem]
    nothing = Interval(math.nan, math.nan, math.nan)
    found = median(told) if len(told) >= FEWEST else nothing
    return BoardRow(parametrization, optimizer, chains, scores, found, source)


@dataclass(frozen=True)
class Board:
    """The matrix: rows sorted by their median, those without one last, by name.

    columns: workload -> its words. version: of workloads, grids, seeds and references. references:
    column -> its reference. group: row's name -> as of `groups`, of those that have a median. best:
    column -> names of the rows that lose least there and of those that nothing parts from it.
    """

    version: str
    columns: Mapping[str, str]
    references: Mapping[str, Reference]
    rows: Sequence[BoardRow]
    group: Mapping[str, int] = field(default_factory=dict)
    best: Mapping[str, Sequence[str]] = field(default_factory=dict)


def board(
    version: str,
    columns: Mapping[str, str],
    references: Mapping[str, Reference],
    rows: Sequence[BoardRow],
) -> Board:
    """Rows in order, with ties."""
    ordered = sorted(
        rows, key=lambda row: (row.median.value != row.median.value, row.median.value, row.name)
    )
    by_name = {row.name: row for row in ordered}

    def parted(one: str, other: str) -> bool:
        return is_parted(by_name[one], by_name[other], references)

    ranked = [row.name for row in ordered if math.isfinite(row.median.value)]
    best = {}
    for column in columns:
        told = [row for row in ordered if column in row.defined]
        if told:
            first = min(told, key=lambda row: row.scores[column].lost.value)
            tied = (
                row.name
                for row in told
                if row is first or holds_zero(difference(row.chains[column], first.chains[column]))
            )
            best[column] = [first.name, *(name for name in tied if name != first.name)]
    return Board(version, columns, references, ordered, groups(ranked, parted), best)


def is_parted(one: BoardRow, other: BoardRow, references: Mapping[str, Reference]) -> bool:
    """Whether the median of the paired differences, in % of the gain, over the columns that both
    are defined on is told from 0; not where these are fewer than FEWEST."""
    common = [column for column in one.defined if column in other.defined]
    each = [
        difference(one.chains[column], other.chains[column]).times(100 / references[column].gain)
        for column in common
    ]
    return len(each) >= FEWEST and not holds_zero(median(each))
