"""What the report shows first: answers, statements by how they fared, each test wherever it binds.

A negative result is a result: what is not reproduced stands first everywhere.
"""

from dataclasses import dataclass

from repro.products import status
from repro.products.answered import Answered, answered
from repro.report.model import FigureView, Site, TestView
from repro.report.strip import Strips, strips
from repro.verdicts import statements, words
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

    def over(self, view: TestView) -> TestView | None:
        """What gives the test its status in place of a view of it, a stronger record on the same
        kind of data; None where that view does, or says the same."""
        synthetic = view.row["data"] == status.SYNTHETIC
        first = next(v for v in self.views if (v.row["data"] == status.SYNTHETIC) == synthetic)
        return first if first.row["status"] != view.row["status"] else None


@dataclass(frozen=True)
class Card:
    """A question with its answer, the figure that the answer is of, and the tests that decide."""

    of: Answered
    figure: FigureView
    tests: list[Tested]

    @property
    def id(self) -> str:
        """Its anchor."""
        return f"{self.of.paper.slug}-{self.of.tests[0]['test']}"

    @property
    def first(self) -> str:
        """The first words of the answer: yes, no, open, or the power."""
        return self.of.found.partition(": ")[0]

    @property
    def rest(self) -> str:
        """The others."""
        return self.of.found.partition(": ")[2]

    @property
    def views(self) -> list[TestView]:
        """What is drawn of it: its tests wherever they bind."""
        return [view for tested in self.tests for view in tested.views]

    @property
    def strips(self) -> Strips:
        """Those on one axis."""
        return strips([view.row for view in self.views])

    def label(self, view: TestView) -> str:
        """What tells one of them from the others."""
        column = [view.row["column"]] if len(self.tests) > 1 else []
        return ", ".join([*column, view.place])


@dataclass(frozen=True)
class Row:
    """A statement's line of a paper's matrix. fared: how it fared. views: its tests. cells: column
    -> those in it; besides: those in columns that few statements have."""

    fared: statements.Fared
    views: list[TestView]
    cells: dict[str, list[TestView]]
    besides: list[TestView]


@dataclass(frozen=True)
class Matrix:
    """How a paper's statements fared. columns: networks that several have tests of. rows: the
    paper's statements. ours: the suite's. checks: tests of what is only a check of the suite.
    untested: statements that no test here is of."""

    columns: list[str]
    rows: list[Row]
    ours: list[Row]
    checks: list[TestView]
    untested: list[statements.Statement]


def tested(site: Site) -> dict[str, Tested]:
    """`<paper>/<test>` -> the test, in the order of the papers and figures."""
    views = {id(test.row): test for test in site.tests}
    found = status.by_test(test.row for test in site.tests)
    return {
        f"{paper}/{name}": Tested([views[id(row)] for row in rows])
        for (paper, name), rows in found.items()
    }


def cards(site: Site, tests: dict[str, Tested]) -> list[Card]:
    """The questions that the site has an answer to, as README's table has them."""
    views = {(f.name, f.suite.config.scale, f.part.figure["data"]): f for f in site.figures}
    return [
        Card(
            each,
            views[each.figure, each.scale, each.tests[0]["data"]],
            [tests[f"{each.paper.slug}/{row['test']}"] for row in each.tests],
        )
        for each in answered(figure.part for figure in site.figures)
    ]


def tally(figure: FigureView, tests: dict[str, Tested]) -> dict[str, int]:
    """Status -> how many of a figure's tests have it, each by what gives it its status."""
    return words.tally((tests[view.name].over(view) or view).row for view in figure.tests)


def matrix(paper: str, tests: dict[str, Tested]) -> Matrix:
    """How a paper's statements fared, each test by what gives it its status."""
    views = {id(view.row): view for tested in tests.values() for view in tested.views}
    its = [t.views for t in tests.values() if paper_of(t.first.row) == paper]
    counting = [row for own in its for row in status.counting(view.row for view in own)]
    found = statements.fared(paper, counting)
    checks = [each for each in found if statements.is_self_check(each)]
    shown = [each for each in found if each.cells and each not in checks]
    having: dict[str, int] = {}
    for each in shown:
        for cell in each.cells:
            having[cell.column] = having.get(cell.column, 0) + 1
    columns = [column for column, number in having.items() if number >= FEWEST]

    def of(cell: statements.Cell) -> list[TestView]:
        return [views[id(row)] for row in cell.tests]

    rows = [
        Row(
            each,
            [test for cell in each.cells for test in of(cell)],
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
