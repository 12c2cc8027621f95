"""What the papers state, each once, and how a statement fared in its tests. No torch.

`studies/<paper>/statements.csv` has a row for each; a test of a figure names the one it is of.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from repro.core import rows
from repro.errors import UserError, did_you_mean
from repro.verdicts.answers import OF_A_PAPER, SELF_CHECK
from repro.verdicts.figure import Figure
from repro.verdicts.results import Judged, paper_of
from repro.verdicts.words import WORST_FIRST


@dataclass(frozen=True)
class Statement:
    """One statement. The fields are the file's columns, in its order.

    statement: its id. text: what is said, one sentence in our words. source: where the paper says
    it, or `ours`, perhaps with what it is about after a comma.
    """

    statement: str
    text: str
    source: str

    def __post_init__(self) -> None:
        for column in ("statement", "text", "source"):
            if not getattr(self, column).strip():
                raise ValueError(f"{column} is empty")

    @property
    def ours(self) -> bool:
        """Whether the suite says it, and no paper."""
        return self.source.partition(",")[0].partition(":")[0] == "ours"


@dataclass(frozen=True)
class Cell:
    """A statement's tests in one column, that with the worst status first."""

    column: str
    tests: tuple[Judged, ...]

    @property
    def status(self) -> str:
        """The worst of its tests' statuses."""
        return self.tests[0]["status"]


@dataclass(frozen=True)
class Fared:
    """A statement with its cells, worst first."""

    of: Statement
    cells: tuple[Cell, ...]

    @property
    def words(self) -> str:
        """How it fared: `reproduced in 3 of 4; not in ResNet-18`."""
        if not self.cells:
            return "no test of it binds here"
        first = self.cells[0].status
        if all(cell.status == first for cell in self.cells):
            return first if len(self.cells) == 1 else f"{first} in all {len(self.cells)}"
        good = [cell for cell in self.cells if cell.status == WORST_FIRST[-1]]
        parts = [f"{WORST_FIRST[-1]} in {len(good)} of {len(self.cells)}"] if good else []
        for status in WORST_FIRST[:-1]:
            columns = [cell.column for cell in self.cells if cell.status == status]
            word = "not" if good and status.startswith("not") else status
            parts += [f"{word} in {' and in '.join(columns)}"] if columns else []
        return "; ".join(parts)


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
    cells = [
        Cell(column, tuple(sorted(tests, key=lambda row: WORST_FIRST.index(row["status"]))))
        for column, tests in columns.items()
    ]
    return tuple(sorted(cells, key=lambda cell: WORST_FIRST.index(cell.status)))


def is_self_check(found: Fared) -> bool:
    """Whether it says only that the suite is built as printed."""
    tests = [test for cell in found.cells for test in cell.tests]
    return bool(tests) and all(test["kind"] == SELF_CHECK for test in tests)
