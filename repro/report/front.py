"""What the report shows first: answers, statements by how they fared, each test wherever it binds.

A negative result is a result: what is not reproduced stands first everywhere.
"""

from dataclasses import dataclass

from repro.core import discovery
from repro.products import status
from repro.report.model import FigureView, Site, TestView
from repro.verdicts import statements
from repro.verdicts.judging import decided_by
from repro.verdicts.results import paper_of

FEWEST = 3  # statements that a column of a paper's matrix has tests of


@dataclass(frozen=True)
class Tested:
    """One test, wherever it binds. views: by its strongest record first."""

    views: list[TestView]

    @property
    def first(self) -> TestView:
        """Where it is shown from."""
        return self.views[0]

    @property
    def elsewhere(self) -> list[TestView]:
        """Where else it binds."""
        return self.views[1:]


@dataclass(frozen=True)
class Answered:
    """A question, the figure that answers it, and the tests that decide, by their strongest
    records."""

    question: str
    figure: FigureView
    tests: list[Tested]


@dataclass(frozen=True)
class Row:
    """A statement's line of a paper's matrix. fared: how it fared. cells: column -> its tests;
    besides: those in columns that few statements have."""

    fared: statements.Fared
    cells: dict[str, list[Tested]]
    besides: list[Tested]


@dataclass(frozen=True)
class Matrix:
    """How a paper's statements fared. columns: networks that several have tests of. rows: the
    paper's statements. ours: the suite's. checks: tests of what is only a check of the suite.
    untested: statements that no test here is of."""

    columns: list[str]
    rows: list[Row]
    ours: list[Row]
    checks: list[Tested]
    untested: list[statements.Statement]


def tested(site: Site) -> dict[str, Tested]:
    """`<paper>/<test>` -> the test, in the order of the papers and figures."""
    views = {id(test.row): test for test in site.tests}
    found = status.by_test(test.row for test in site.tests)
    return {
        f"{paper}/{name}": Tested([views[id(row)] for row in rows])
        for (paper, name), rows in found.items()
    }


def answered(site: Site, tests: dict[str, Tested]) -> list[Answered]:
    """The questions whose figures the site shows, each with what decides it."""
    found = []
    for paper in discovery.papers().values():
        name = f"{paper.slug}/{paper.answer}"
        named = [f"{paper.slug}/{test}" for test in decided_by(name)]
        decisive = [tests[test] for test in named if test in tests]
        views = [figure for figure in site.main if figure.name == name]
        if views and decisive:
            strongest = [f for f in site.figures if f.page == decisive[0].first.page]
            found.append(Answered(paper.question, (strongest or views)[0], decisive))
    return found


def matrix(paper: str, tests: dict[str, Tested]) -> Matrix:
    """How a paper's statements fared, each test by its strongest record."""
    own = {id(t.first.row): t for t in tests.values() if paper_of(t.first.row) == paper}
    found = statements.fared(paper, [test.first.row for test in own.values()])
    checks = [each for each in found if statements.is_self_check(each)]
    shown = [each for each in found if each.cells and each not in checks]
    having: dict[str, int] = {}
    for each in shown:
        for cell in each.cells:
            having[cell.column] = having.get(cell.column, 0) + 1
    columns = [column for column, number in having.items() if number >= FEWEST]

    def of(cell: statements.Cell) -> list[Tested]:
        return [own[id(row)] for row in cell.tests]

    rows = [
        Row(
            each,
            {cell.column: of(cell) for cell in each.cells if cell.column in columns},
            [test for cell in each.cells if cell.column not in columns for test in of(cell)],
        )
        for each in shown
    ]
    return Matrix(
        columns,
        [row for row in rows if not row.fared.of.ours],
        [row for row in rows if row.fared.of.ours],
        [test for each in checks for cell in each.cells for test in of(cell)],
        [each.of for each in found if not each.cells],
    )
