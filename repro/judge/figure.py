"""What a figure's file must define, and what it may. No torch.

`figures/<paper>/<figure>.py` is the figure; nothing else names it. `repro.suite.contracts` holds
every file against `Figure` before it is used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

from repro.suite import registry

if TYPE_CHECKING:
    import matplotlib.figure
    import numpy as np
    import pandas as pd

    from repro.judge.claims import Claim, Measurement
    from repro.judge.power import Laws
    from repro.judge.typeset import Table


class Figure(Protocol):
    """A module of figures/: four constants and three functions, called in this order.

    TITLE: one line, shown above the picture and in `python -m repro list`.
    CAPTION: what every mark means, and where the paper has it; text beside the picture.
    STUDIES: whose runs it shows: `<paper>/<study>` for all stages of a study, or
        `<paper>/<study>/<stage>` for one.
    CLAIMS: what the paper says about it; each id begins with `<figure>.`.

    The suite imports every figure's file to list the figures, which must stay fast: import pandas,
    numpy and `repro.judge.drawing` inside the functions that use them, and torch nowhere.
    """

    TITLE: str
    CAPTION: str
    STUDIES: tuple[str, ...]
    CLAIMS: "tuple[Claim, ...]"

    def reduce(self, runs: "Mapping[str, pd.DataFrame]") -> "pd.DataFrame":
        """The table that is kept as data.csv; called once, when all runs are finished.

        runs: name of a stage (`<paper>/<study>/<stage>`, `+<round>` for those of a search) -> a
        table with a row for each evaluation of each run. Its columns are the axes of the study's
        grid (`model.width`, `lr.embedding`, `seed`), the values tuned upstream, and what the task
        records (`step`, `train_loss`); a diverged loss is infinite.
        Keep what `measure` and `draw` need, in an order that is always the same.
        """

    def measure(self, data: "pd.DataFrame", scale: str) -> "Mapping[str, Measurement]":
        """Claim id -> its Measurement, for every claim of CLAIMS and no other.

        data: data.csv, read back. scale: smoke, reduced or paper.
        """

    def draw(self, data: "pd.DataFrame", scale: str) -> "matplotlib.figure.Figure":
        """The picture, on panels from `repro.judge.drawing.panels`.

        The suite adds the title and one line of where it is from; only the layout of those panels
        can make room for them.
        """


class FigureOfTable(Protocol):
    """What the module of a figure that is a table defines in place of `draw`."""

    def table(self, data: "pd.DataFrame", scale: str) -> "Table":
        """Its heads and cells: set as text in PDF, Markdown, CSV and the report."""


@dataclass(frozen=True)
class Bar:
    """A row's bar. parts: name -> size, one after the other from 0, the first the darkest. low,
    high: the 95 % interval of their sum; NaN where there is none."""

    parts: Mapping[str, float]
    low: float
    high: float


@dataclass(frozen=True)
class Aside:
    """What stands beside one row.

    bar: None where there is none to draw. figures: words of a link -> where it leads,
    `<paper>/<figure>#<what its plot is asked>`, as `transfer/bowls#workload=decoder`: a setting's
    value by its column's name, `up`, `along`, and `table=open`; it is left out of a report without
    that figure. files: paths in the checkout, which are copied into the report.
    """

    bar: Bar | None = None
    figures: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[str] = ()


@dataclass(frozen=True)
class Asides:
    """What stands beside all rows.

    rows: an Aside a row of the table. head: of their column. before: the head of the column that
    it stands before. unit: of the bars' sizes. ends: of their common axis; what lies beyond is cut.
    """

    rows: Sequence[Aside]
    head: str
    before: str
    unit: str
    ends: tuple[float, float]

    @property
    def parts(self) -> list[str]:
        """The names of the bars' parts."""
        bars = (row.bar for row in self.rows if row.bar)
        return list(dict.fromkeys(name for bar in bars for name in bar.parts))


class FigureWithAsides(FigureOfTable, Protocol):
    """What the module of a figure that is a table defines besides where the report shows more
    beside its rows: bars, links to what other figures plot of a row, files of the checkout."""

    def asides(self, data: "pd.DataFrame", scale: str) -> Asides:
        """What stands beside the rows of `table(data, scale)`, in the same order."""


@dataclass(frozen=True)
class View:
    """Columns of a figure's data.csv, and which of their values.

    x: a setting. y: what was measured. only: setting -> the one value shown, or a tuple of those
    that have a line each; a reader may switch to all others.
    """

    x: str
    y: str
    only: Mapping[str, object] = field(default_factory=dict)


class FigureWithView(Figure, Protocol):
    """What a figure's module defines besides where the report's plot of its data would otherwise
    begin with something else than the picture shows.

    VIEW: what over what, and of which runs, by columns of data.csv.
    """

    VIEW: View


class FigureWithOutcome(Figure, Protocol):
    """What a figure's module defines besides so that its picture's title says what came out.

    OUTCOME: a sentence that is true whatever came out, with `{claim}` in the place of what a claim
        of CLAIMS measured: `the best rate goes as width^{fig1.slope}`. The verdict of the claims
        that it names follows it (`repro.judge.outcome`); without it the title counts verdicts.
    """

    OUTCOME: str


class FigureWithLaws(Figure, Protocol):
    """What a figure's module defines besides where its claims' tests are themselves tested: every
    claim about training that has a bound below paper scale should be.

    LAWS: claim id -> Laws, the paper's law and its rivals, by name. `python -m repro power` draws
    tables from each and counts how often the claim agrees (`repro.judge.power`).
    """

    LAWS: "Mapping[str, Laws]"

    def simulate(
        self, law: str, recorded: "pd.DataFrame", scale: str, rng: "np.random.Generator"
    ) -> "pd.DataFrame":
        """A table as `recorded` would be if a law held: the same columns, grid and seeds.

        law: a name in LAWS. recorded: data.csv on record, from which comes what a law does not fix
        and the size of the noise between seeds (`repro.judge.noise`). rng: the only source of
        randomness.
        """


def figure_module(name: str) -> Figure:
    """`registry.figure` with its type, which `repro.suite` does not know: it imports no judge.

    What a figure need not define (`table`, `asides`, `VIEW`, `OUTCOME`, `LAWS`) a caller asks for
    first."""
    return cast(Figure, registry.figure(name))
