"""What a figure is: its texts, its tests and readings, and the functions that make it. No torch.

`figures/<paper>/<figure>.py` defines `FIGURE = Figure(...)`; nothing else names it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from repro.core import catalog
from repro.core.catalog import Shown, check_text
from repro.core.names import CLAIM_IN_TEXT
from repro.core.study import OPTIONAL_SCALES, SCALES
from repro.errors import UserError, did_you_mean
from repro.lineage.checkout import check_call, is_listed, kind
from repro.verdicts.answers import (
    CONTROL,
    OURS,
    Answer,
    Measurement,
    Prediction,
    Reading,
    Test,
)
from repro.verdicts.power import Laws
from repro.verdicts.typeset import Table

# What the functions of a figure take and give, for mypy and editors. When it runs pandas,
# matplotlib and numpy, which take a second, are not imported.
if TYPE_CHECKING:
    import matplotlib.figure
    import numpy as np
    import pandas as pd

    Data: TypeAlias = pd.DataFrame
    Drawn: TypeAlias = matplotlib.figure.Figure
    Generator: TypeAlias = np.random.Generator
else:
    Data = Drawn = Generator = Any
Runs: TypeAlias = Mapping[str, Data]  # stage -> a row for each evaluation of each run
Measured: TypeAlias = Mapping[str, Measurement]  # id of a test or reading -> what it came to
Draw: TypeAlias = Callable[[Data, str], Drawn]  # (data, scale) -> the picture


@dataclass(frozen=True)
class View:
    """Columns of a figure's data.csv, and which of their values.

    x: a setting. y: what was measured. only: setting -> the one value shown, or a tuple of those
    that have a line each; a reader may switch to all others.
    """

    x: str
    y: str
    only: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Figure(Shown):
    """A figure: what it is made of, what the paper says about it, and the functions that make it.

    The suite imports every figure's file to list the figures, which must stay fast: import pandas,
    numpy and `repro.verdicts.drawing` inside the functions that use them, and torch nowhere.

    title, studies: as of `Shown`.
    caption: what every mark means, and where the paper has it; text beside the picture.
    answers: the tests it makes and the readings it takes, as shown; each id begins with
        `<figure>.`.
    reduce(runs): the table that is kept as data.csv; called once, when all runs are finished.
        runs: name of a stage (`<paper>/<study>/<stage>`, `+<round>` for those of a search) -> a
        table with a row for each evaluation of each run. Its columns are the axes of the study's
        grid (`model.width`, `lr.embedding`, `seed`), the values tuned upstream, and what the task
        records (`step`, `train_loss`); a diverged loss is infinite. Keep what the functions below
        need, in an order that is always the same.
    measure(data, scale): id -> Measurement, for every test and reading and nothing else. data:
        data.csv, read back. scale: smoke, reduced, overnight, workstation or paper.
    draw(data, scale): the picture, on panels from `repro.verdicts.drawing.panels`. The suite adds
        the title and one line of where it is from; only the layout of those panels can make room.
    table(data, scale): in place of `draw`, of a figure that is a table: heads and cells, set as
        text in PDF, Markdown, CSV and the report.

    Where it has more to say:
    small(data, scale): a second picture, as `draw`, on one panel about SMALL_INCHES wide, which
        says the message where there are 430 pixels: a README's thumbnail, a phone.
    outcome: the picture's title, a sentence that is true whatever came out, with `{id}` in the
        place of what a test or reading measured: `the best rate goes as width^{fig1.slope}`. The
        status of these tests follows it (`repro.verdicts.judging.outcome`); without it the title
        counts them.
    predict(data, scale): test id -> Prediction, of tests whose quantity the paper has a formula
        for: what that gives at the widths, vocabularies and depths of the table, by code of
        `repro.theory`.
    view: where the report's plot of its data should begin, if not with what the picture shows.
    columns: of data.csv, `COLUMNS` of its file: held against what `reduce` returns, and against
        data.csv where it is read.
    laws: test id -> the paper's law and its rivals, between which the test must tell: every test
        about training that binds below paper scale should have them. `python -m repro power` draws
        tables from each and counts how often the test agrees.
    simulate(law, recorded, scale, rng): a table as `recorded` would be if a law of `laws` held: the
        same columns, grid and seeds. recorded: data.csv on record, from which comes what a law
        does not fix and the size of the noise between seeds (`repro.verdicts.noise`). rng: the only
        source of randomness.
    """

    caption: str
    answers: tuple[Answer, ...]
    reduce: Callable[[Runs], Data]
    measure: Callable[[Data, str], Measured]
    draw: Draw | None = None
    table: Callable[[Data, str], Table] | None = None
    small: Draw | None = None
    outcome: str = ""
    predict: "Callable[[pd.DataFrame, str], Mapping[str, Prediction]] | None" = None
    view: View | None = None
    columns: tuple[str, ...] = ()
    laws: Mapping[str, Laws] = field(default_factory=dict)
    simulate: Callable[[str, Data, str, Generator], Data] | None = None

    @property
    def tests(self) -> tuple[Test, ...]:
        """Its tests, whether or not they bind at a scale."""
        return tuple(each for each in self.answers if isinstance(each, Test))

    def check_columns(self, place: str, found: Iterable[str]) -> None:
        """Raise UserError, naming the place, where a table has other columns than `columns`."""
        names = [*found]
        for name in dict.fromkeys([*self.columns, *names] if self.columns else ()):
            if name not in names:
                raise UserError(f"{place}: has no column {name!r}: {did_you_mean(name, names)}")
            if name not in self.columns:
                hint = did_you_mean(name, self.columns)
                raise UserError(f"{place}: column {name!r} is none of COLUMNS: {hint}")

    def check(self, file: str) -> None:
        """Raise UserError, in one line that names the file, for what the fields' types do not say:
        which go together, and whether each function can be called as it will be."""
        super().check(file)
        check_text(file, "caption", self.caption)
        self._check_answers(file)
        self._check_outcome(file)
        if (self.draw is None) == (self.table is None):
            raise UserError(f"{file}: give draw or table, the one that it is")
        if self.small and not self.draw:
            raise UserError(f"{file}: has small but no draw, whose picture it says shortly")
        self._check_laws(file)
        of_data = ("measure", "predict", "draw", "small", "table")
        arguments = {name: ["data", "scale"] for name in of_data}
        arguments |= {"reduce": ["runs"], "simulate": ["law", "recorded", "scale", "rng"]}
        for name, positional in arguments.items():
            if (function := getattr(self, name)) is not None:
                check_call(file, name, function, positional)
        if not isinstance(self.view, View | None):
            raise UserError(
                f"{file}: view is {kind(self.view)}; give a View of repro/verdicts/figure.py"
            )

    def _check_answers(self, file: str) -> None:
        figure = Path(file).stem
        if not is_listed(self.answers):
            raise UserError(
                f"{file}: answers is {kind(self.answers)}; give a tuple of Test and Reading"
            )
        seen = set()
        for each in self.answers:
            if not isinstance(each, Test | Reading):
                raise UserError(f"{file}: answers holds {kind(each)}, not a Test or a Reading")
            if not each.id.startswith(f"{figure}."):
                raise UserError(f"{file}: {each.id!r} must be named '{figure}.<name>'")
            if each.id in seen:
                raise UserError(f"{file}: {each.id!r} is there twice")
            seen.add(each.id)
        for test in self.tests:
            for scale in test.expected:
                if scale not in SCALES:
                    hint = did_you_mean(scale, SCALES)
                    raise UserError(f"{file}: test {test.id!r}: unknown scale {scale!r}, {hint}")
            for bound in test.bounds.values():
                if not bound.basis:
                    raise UserError(
                        f"{file}: test {test.id!r}: {bound}: says not where the bound comes "
                        "from; give it a basis, STATED, TOLERANCE or OURS of "
                        "repro/verdicts/answers.py, and why"
                    )

    def _check_outcome(self, file: str) -> None:
        if not isinstance(self.outcome, str) or "\n" in self.outcome:
            raise UserError(f"{file}: outcome is {kind(self.outcome)}; give one line of text")
        for name in CLAIM_IN_TEXT.findall(self.outcome):
            self._check_is_there(file, "outcome", name)

    def _check_laws(self, file: str) -> None:
        if not isinstance(self.laws, Mapping):
            raise UserError(f"{file}: laws is {kind(self.laws)}; give a mapping, test id to Laws")
        if bool(self.laws) != bool(self.simulate):
            raise UserError(f"{file}: laws and simulate go together; give both or neither")
        for test, laws in self.laws.items():
            self._check_is_there(file, "laws", test)
            if not isinstance(laws, Laws):
                raise UserError(f"{file}: laws of {test!r} is {kind(laws)}, not a Laws")

    def _check_is_there(self, file: str, field_name: str, name: str) -> None:
        ids = [each.id for each in self.answers]
        if name not in ids:
            hint = did_you_mean(str(name), ids) if ids else "it has none"
            raise UserError(f"{file}: {field_name} names {name!r}, which is none of its: {hint}")


def again(original: Figure, figure: str, studies: Mapping[str, str]) -> Figure:
    """A figure as another one is, of other runs: the same picture, and the same bounds for tests
    that are a control of ours, for the paper says nothing of these runs.

    figure: its name, with which its tests and readings begin. studies: study of the original ->
    the study that is shown in its place.
    """
    of = {new: old for old, new in studies.items()}

    def renamed(name: str) -> str:
        return f"{figure}.{name.partition('.')[2]}"

    def own(each: Answer) -> Answer:
        if not isinstance(each, Test):
            return replace(each, id=renamed(each.id))
        expected = {
            scale: bound and replace(bound, basis=OURS, why=f"that of {each.id}")
            for scale, bound in each.expected.items()
            if scale not in OPTIONAL_SCALES  # nor have the new studies (`Study.along`)
        }
        own_id = renamed(each.id)
        if not any(expected.values()):
            return Reading(own_id, f"{each.quantity}, {each.column}")
        return replace(each, id=own_id, kind=CONTROL, expected=expected, conditions=())

    def own_name(stage: str) -> str:
        """The original's name of a stage, a round of its search included."""
        study, plus, number = stage.partition("+")
        parts = study.split("/")
        module = "/".join(parts[:2])
        return "/".join([of.get(module, module), *parts[2:]]) + plus + number

    def reduce(runs: Runs) -> Data:
        return original.reduce({own_name(stage): table for stage, table in runs.items()})

    def measure(data: Data, scale: str) -> Measured:
        found = original.measure(data, scale)
        return {renamed(name): measurement for name, measurement in found.items()}

    def predict(data, scale):
        found = original.predict(data, scale) if original.predict else {}
        return {renamed(name): prediction for name, prediction in found.items()}

    def shown(stage: str) -> str:
        parts = stage.split("/")
        module = "/".join(parts[:2])
        return "/".join([studies.get(module, module), *parts[2:]])

    return replace(
        original,
        title=f"{original.title} (other settings)",
        outcome=CLAIM_IN_TEXT.sub(lambda found: f"{{{renamed(found[1])}}}", original.outcome),
        studies=tuple(map(shown, original.studies)),
        answers=tuple(map(own, original.answers)),
        reduce=reduce,
        measure=measure,
        predict=predict,
        laws={},
        simulate=None,
    )


def figure_named(name: str) -> Figure:
    """A figure by its name, `<paper>/<figure>`; raises UserError if there is none of that name, or
    its file is broken."""
    found = catalog.figure(name)
    assert isinstance(found, Figure)  # what `Shown` is a part of
    return found
