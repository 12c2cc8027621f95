"""What the papers state, each once, and how a statement fared in its tests. No torch.

`studies/<paper>/statements.csv` has a row for each; a test of a figure names the one it is of.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from repro.core import rows
from repro.errors import UserError, did_you_mean
from repro.verdicts.answers import OF_A_PAPER, SELF_CHECK
from repro.verdicts.figure import Figure
from repro.verdicts.results import REPRODUCED, Judged, paper_of
from repro.verdicts.words import worst

LONGEST = 15  # words of a quotation


@dataclass(frozen=True)
class Statement:
    """One statement. The fields are the file's columns, in its order.

    statement: its id. text: what is said, one sentence in our words. source: where the paper says
    it, or `ours`, perhaps with what it is about after a comma. quote: the paper's own words, at
    most LONGEST, to hold ours against; "" of what is ours, or is printed as a table or a formula.
    """

    statement: str
    text: str
    source: str
    quote: str

    def __post_init__(self) -> None:
        for column in ("statement", "text", "source"):
            if not getattr(self, column).strip():
                raise ValueError(f"{column} is empty")
        if len(self.quote.split()) > LONGEST:
            raise ValueError(f"quote has more than {LONGEST} words")
        if self.ours and self.quote:
            raise ValueError("quote is of no paper, for the statement is ours")

    @property
    def ours(self) -> bool:
        """Whether the suite says it, and no paper."""
        return self.source.partition(",")[0].partition(":")[0] == "ours"


@dataclass(frozen=True)
class Cell:
    """A statement's tests in one column, that with the worst status first, those outside the
    paper's conditions last."""

    column: str
    tests: tuple[Judged, ...]

    @property
    def outside(self) -> bool:
        """Whether every one of its tests is outside the paper's conditions."""
        return all(test["bound"]["outside"] for test in self.tests)

    @property
    def status(self) -> str:
        """The worst of its tests' statuses, of those within the conditions where there are some."""
        return self.tests[0]["status"]


@dataclass(frozen=True)
class Fate:
    """A status of a statement, and the columns that have it, all of them inside or all outside the
    paper's conditions."""

    status: str
    outside: bool
    columns: list[str]

    @property
    def good(self) -> bool:
        """Whether it is reproduced there."""
        return self.status == REPRODUCED


@dataclass(frozen=True)
class Fared:
    """A statement with its cells, worst first."""

    of: Statement
    cells: tuple[Cell, ...]

    @property
    def fates(self) -> list[Fate]:
        """Its statuses, the worst first, those outside the paper's conditions last."""
        found: dict[tuple[str, bool], list[str]] = {}
        for cell in self.cells:
            found.setdefault((cell.status, cell.outside), []).append(cell.column)
        return [Fate(*key, columns) for key, columns in found.items()]


def path(paper: str) -> str:
    """Where a paper's statements are, relative to the checkout."""
    return f"studies/{paper}/statements.csv"


def of_paper(paper: str) -> dict[str, Statement]:
    """Id -> statement, of all that a paper states; none where there is no such file. Raises
    UserError, naming file and line, on a row that is none, or whose id is there twice."""
    found: dict[str, Statement] = {}
    for place, row in rows.read(path(paper), Statement):
        if row.statement in found:
            raise UserError(f"{place}: statement {row.statement!r} is there twice")
        found[row.statement] = row
    return found


def check(figure_name: str, figure: Figure) -> None:
    """Raise UserError, naming the figure's file, where a test is of no statement of its paper."""
    paper = figure_name.split("/")[0]
    known = of_paper(paper)
    for test in figure.tests:
        if test.statement not in known:
            hint = did_you_mean(test.statement, known) if known else "there is none"
            raise UserError(
                f"figures/{figure_name}.py: test {test.id!r}: statement {test.statement!r} is not "
                f"in {path(paper)}: {hint}"
            )


def fared(paper: str, tests: Iterable[Judged]) -> list[Fared]:
    """How each of a paper's statements fared in these tests, a row a test, statements of the paper
    first: tests of what a paper states count only where they are of a paper's kinds, as those of a
    figure with a reader's own settings are not."""
    cells: dict[str, dict[str, list[Judged]]] = {}
    known = of_paper(paper)
    for row in tests:
        statement = known.get(row["statement"])
        if paper_of(row) == paper and statement and (statement.ours or row["kind"] in OF_A_PAPER):
            cells.setdefault(row["statement"], {}).setdefault(row["column"], []).append(row)
    found = [Fared(each, _worst_first(cells.get(name, {}))) for name, each in known.items()]
    return sorted(found, key=lambda each: each.of.ours)


def _worst_first(columns: Mapping[str, Sequence[Judged]]) -> tuple[Cell, ...]:
    cells = [Cell(column, tuple(sorted(tests, key=worst))) for column, tests in columns.items()]
    return tuple(sorted(cells, key=lambda cell: worst(cell.tests[0])))


def is_self_check(found: Fared) -> bool:
    """Whether it says only that the suite is built as printed."""
    tests = [test for cell in found.cells for test in cell.tests]
    return bool(tests) and all(test["kind"] == SELF_CHECK for test in tests)
