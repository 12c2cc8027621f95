"""What a figure's file must define. No torch.

`figures/<paper>/<figure>.py` is the figure; nothing else names it. `repro.suite.contracts` holds
every file against this class before it is used.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas as pd

    from repro.judge.claims import Claim, Measurement


class Figure(Protocol):
    """A module of figures/: four constants and three functions, called in this order.

    TITLE: one line, above the figure and in `python -m repro list`.
    CAPTION: what every mark is, with the place in the paper; printed below the figure.
    STUDIES: what it is made of: `<paper>/<study>` for every stage of a study, or
        `<paper>/<study>/<stage>` for one.
    CLAIMS: what the paper says about it; each id begins with `<figure>.`.

    A figure is imported whenever the suite lists what there is: pandas, numpy and
    `repro.judge.drawing` are imported inside the functions that use them, torch nowhere.
    """

    TITLE: str
    CAPTION: str
    STUDIES: tuple[str, ...]
    CLAIMS: "tuple[Claim, ...]"

    def reduce(self, runs: "Mapping[str, pd.DataFrame]") -> "pd.DataFrame":
        """The table that is kept as data.csv, from all runs; called once, when they are done.

        runs: stage name, as in STUDIES -> a table with a row for each evaluation of each run. Its
        columns are the axes of the study's grid (`model.width`, `lr.embedding`, `seed`), the values
        it tuned, and what the task records (`step`, `train_loss`); a diverged loss is infinite.
        Keep what `measure` and `draw` need, in an order that is always the same.
        """

    def measure(self, data: "pd.DataFrame", scale: str) -> "Mapping[str, Measurement]":
        """Claim id -> what the table says, for every claim of CLAIMS and no other.

        data: data.csv, read back. scale: smoke, reduced or paper.
        """

    def draw(self, data: "pd.DataFrame", scale: str) -> "matplotlib.figure.Figure":
        """The picture, on panels of `repro.judge.drawing.panels`.

        Title, caption, claims and footer are added around it by the suite, in room that only the
        layout of those panels gives.
        """
