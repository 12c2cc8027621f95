"""An effect in settings that were drawn: in how many it is there, its mean, what it hangs on.

The unit is the setting (`repro.core.population`): seeds within one say how far noise reaches. A
setting in which a seed gives no effect, as where every rate diverged or the best one is at the end
of a search, is on nobody's side and is counted. No torch.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from repro import statistics
from repro.core.names import StageName
from repro.core.population import SETTING
from repro.statistics import clopper_pearson, jackknife, t_interval
from repro.verdicts.answers import (
    OURS,
    TRAINING,
    Answer,
    Expectation,
    Measurement,
    Reading,
    Test,
    above,
)
from repro.verdicts.figure import Data, Drawn, Generator, Runs
from repro.verdicts.power import SIDES, SIGN, Laws
from repro.verdicts.run_sweeps import last_step
from widthwise.checks.sweep import Sweep, Sweeps

NOT_TESTED = "seen, not tested"
LETTERS = 61  # of a line of a picture's title
KNOWN = 1_000.0  # degrees of freedom of an interval for which no deviation is estimated
SHARE = "settings.share"  # with which the id of a test of the share ends


@dataclass(frozen=True)
class Effects:
    """One effect by setting. by_seed: setting -> a number a seed, NaN where it gave none. levels:
    setting -> choice -> its level."""

    by_seed: Mapping[int, Sequence[float]]
    levels: Mapping[int, Mapping[str, object]]

    @property
    def each(self) -> np.ndarray:
        """The mean over seeds of every setting, shape (settings,); NaN where one gave none."""
        return np.array([float(np.mean(values)) for values in self.by_seed.values()])

    @property
    def told(self) -> np.ndarray:
        """Those of the settings that gave one."""
        return self.each[np.isfinite(self.each)]

    @property
    def lacking(self) -> str:
        """How many settings gave none, in words; "" where all did."""
        none = len(self.each) - len(self.told)
        return f"; {none} without an effect" if none else ""

    def share(self, there: Callable[[float], bool]) -> Measurement:
        """The share of all settings whose effect is as asked, with its exact interval (Clopper &
        Pearson 1934)."""
        n, number = len(self.each), sum(there(effect) for effect in self.told)
        median = f", median {np.median(self.told):.2g}" if len(self.told) else ""
        words = f"{number} of {n}{median}{self.lacking}"
        ends = clopper_pearson(number, n)
        return Measurement(number / n, *ends, n, detail=words, freedom=KNOWN, possible=(0.0, 1.0))

    def mean(self) -> Measurement:
        """The mean over the settings that gave one, by Student's t."""
        if not len(self.told):
            return Measurement(math.nan, math.nan, math.nan, len(self.each), "no setting gave one")
        words = f"median {np.median(self.told):.2g}{self.lacking}"
        return Measurement(*t_interval(self.told), len(self.told), detail=words)

    def deviation(self) -> Measurement:
        """The standard deviation between settings, less what seeds add to it, with a jackknife over
        settings; 0 where seeds alone scatter as far."""
        whole = [v for v in self.by_seed.values() if np.isfinite(v).all()]
        if len(whole) < 3 or math.isnan(noise := of_seeds(whole)):
            return Measurement(math.nan, math.nan, math.nan, len(whole), "too few settings")
        found = jackknife(lambda places: between([whole[i] for i in places]), range(len(whole)))
        value, low, high = found
        words = f"{noise:.2g} between seeds of one setting"
        return Measurement(value, max(low, 0.0), high, len(whole), detail=words)

    def choices(self) -> dict[str, dict[object, tuple[float, float, float]]]:
        """Choice -> level -> the mean of its settings with its interval; the choice whose means lie
        farthest apart first."""
        found: dict[str, dict[object, tuple[float, float, float]]] = {}
        for choice in next(iter(self.levels.values())):
            of_level: dict[object, list[float]] = {}
            for levels, value in zip(self.levels.values(), self.each, strict=True):
                if math.isfinite(value):
                    of_level.setdefault(levels[choice], []).append(value)
            found[choice] = {level: t_interval(of_level[level]) for level in ordered(of_level)}
        return dict(sorted(found.items(), key=lambda pair: -_apart(pair[1])))

    def hangs_on(self) -> Measurement:
        """How far apart the means by level of one choice are, the largest of all choices. Nothing
        is tested by it: of so many choices one is always the largest."""
        found = self.choices()
        words = "; ".join(f"{name}: {_in_words(means)}" for name, means in found.items())
        largest = max(map(_apart, found.values())) if len(self.told) else math.nan
        detail = f"{NOT_TESTED}: {words}"
        return Measurement(largest, math.nan, math.nan, len(self.told), detail=detail)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a figure asks of drawn settings.

    figure: its name. statement: whose tests they are. of: the effect of the rows of one seed; NaN
    where they give none. effect: in words. there, says: when it is on the paper's side, and in
    words. choices: columns, of which a scale may have some. kind: of its tests.
    """

    figure: str
    statement: str
    of: Callable[[Data], float]
    effect: str
    there: Callable[[float], bool]
    says: str
    choices: Collection[str]
    kind: str = TRAINING

    def answers(
        self,
        mean: Mapping[str, Expectation | None],
        unit: str = "",
        share_at: str = "reduced",
    ) -> tuple[Answer, ...]:
        """Tests of the share, above one half, and of the mean, with its bounds; and readings.

        share_at: the smallest scale whose settings are enough to tell the share.
        """
        per = f", {unit}" if unit else ""
        of_share = Test(
            id=f"{self.figure}.share",
            kind=self.kind,
            statement=self.statement,
            column="in how many settings",
            quantity=f"share of drawn settings in which {self.says}",
            expected={share_at: above(0.5, OURS, "in most settings")},
        )
        of_mean = Test(
            id=f"{self.figure}.mean",
            kind=self.kind,
            statement=self.statement,
            column="mean of drawn settings",
            quantity=f"{self.effect}, mean over drawn settings",
            expected=mean,
        )
        between = Reading(
            id=f"{self.figure}.deviation",
            words=f"standard deviation between settings, less that of seeds{per}",
            beside="0 if settings differ by noise alone",
        )
        by_level = Reading(
            id=f"{self.figure}.hangs-on",
            words=f"largest distance of means by the level of one choice{per}",
            beside=NOT_TESTED,
        )
        return of_share, of_mean, between, by_level

    @property
    def laws(self) -> dict[str, Laws]:
        """Of both tests: a sign."""
        return {f"{self.figure}.{name}": SIGN for name in ("share", "mean")}

    def found(self, data: Data) -> Effects:
        """The effect of every setting of a table."""
        by_seed, levels = {}, {}
        for setting, rows in data.groupby(SETTING):
            by_seed[int(setting)] = [float(self.of(its)) for _, its in rows.groupby("seed")]
            levels[int(setting)] = {c: rows[c].iloc[0] for c in self.choices if c in rows}
        return Effects(by_seed, levels)

    def measure(self, data: Data) -> dict[str, Measurement]:
        """What `answers` asks."""
        found = self.found(data)
        measured = (found.share(self.there), found.mean(), found.deviation(), found.hangs_on())
        names = ("share", "mean", "deviation", "hangs-on")
        return {f"{self.figure}.{n}": m for n, m in zip(names, measured, strict=True)}

    def moves(self, recorded: Data, mean: float, rng: Generator) -> Data:
        """Of every row how far the effect of its setting must move, as `drawn_anew` has it."""
        return recorded[SETTING].map(drawn_anew(self.found(recorded), mean, rng))

    def by_sign(self, law: str, recorded: Data) -> float:
        """The mean over settings under a law of `SIGN`: as recorded on the paper's side, none, or
        on the other side."""
        size = abs(self.found(recorded).mean().value)
        return SIDES[law] * (size if self.there(size) else -size)

    def draw(self, data: Data, quantity: str, laws: Mapping[str, float], paper: str) -> Drawn:
        """The picture. quantity, laws, paper: as of `draw`."""
        return draw(self.found(data), self.there, self.says, quantity, laws, paper)


def ordered(levels: Iterable) -> list:
    """Levels in their order: numbers by size, words by the alphabet."""
    return sorted(levels, key=lambda level: (isinstance(level, str), level))


def _apart(means: Mapping[object, tuple[float, float, float]]) -> float:
    values = [mean for mean, *_ in means.values()]
    return max(values) - min(values) if values else 0.0


def _in_words(means: Mapping[object, tuple[float, float, float]]) -> str:
    def ends(low: float, high: float) -> str:
        return "" if math.isnan(low) else f" [{low:.2f}, {high:.2f}]"

    return ", ".join(f"{level} {mean:.2f}{ends(*reach)}" for level, (mean, *reach) in means.items())


def of_seeds(values: Sequence[Sequence[float]]) -> float:
    """The standard deviation between seeds of one setting; NaN where none has two."""
    several = [v for v in values if len(v) > 1]
    freedom = sum(len(v) - 1 for v in several)
    squares = sum(float(np.var(v)) * len(v) for v in several)
    return math.sqrt(squares / freedom) if freedom else math.nan


def between(values: Sequence[Sequence[float]]) -> float:
    """The standard deviation between settings: the variance of their means is larger by that of
    seeds over the number of seeds, which is taken off."""
    noise = of_seeds(values)
    added = 0.0 if math.isnan(noise) else noise**2 * float(np.mean([1 / len(v) for v in values]))
    return math.sqrt(max(float(np.var([np.mean(v) for v in values], ddof=1)) - added, 0.0))


def gathered(
    runs: Runs,
    choices: Iterable[str],
    columns: Sequence[str],
    label: Callable[[StageName], Mapping[str, Any]] = lambda name: {},
) -> Data:
    """The last evaluation of every run, with the number of its setting: settings may differ in
    their steps.

    columns: those kept beside the choices'. label: as of `run_sweeps.gathered`.
    """
    import pandas as pd

    parts = [
        last_step(rows).assign(**label(StageName.parse(name)))
        for name, table in runs.items()
        if "step" in table
        for _, rows in table.groupby("seed", sort=False)
    ]
    return numbered(pd.concat(parts, ignore_index=True), choices, columns)


def numbered(table: Data, choices: Iterable[str], columns: Sequence[str]) -> Data:
    """Some columns of a table, with the number of every row's setting."""
    there = [choice for choice in choices if choice in table]
    number = table.groupby(there, sort=False).ngroup()
    return table[[*there, *columns]].assign(**{SETTING: number})


def slope(rows: Data, width: str, rate: str) -> float:
    """Of one seed, the slope of log2 of its best rate against log2 of the width, by one fit to all
    widths; where that finds no place of a width, by the parabola through its lowest loss and the
    two beside it. NaN where that is at an end of its rates. width, rate: columns."""
    x, lr, loss = rows.sort_values([width, rate])[[width, rate, "train_loss"]].to_numpy(float).T
    loss = np.where(np.isnan(loss), math.inf, loss)  # no number either, as of what diverged
    widths = np.unique(x)
    curves = [(np.log2(lr[x == each]), loss[x == each]) for each in widths]
    if not all(np.isfinite(y).any() for _, y in curves):
        return math.nan
    moved = tuple((tuple(np.round(x - x[0], 6)), tuple(y)) for x, y in curves)
    places = np.array(_places(moved)) + [x[0] for x, _ in curves]
    return statistics.slope(np.log2(widths), places)


@cache
def _places(curves: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]) -> list[float]:
    """log2 of the best rates of curves, each log2 of its rates and its losses. Tables drawn from a
    law have the recorded curves, moved, and a fit is what takes longest."""
    each = [Sweep(2.0 ** np.array(x), (0,), np.array([y])) for x, y in curves]
    fitted = Sweeps(dict(enumerate(each))).optima("joint").values()
    alone = (sweep.optimum() for sweep in each)
    return [b if math.isnan(a) else a for a, b in zip(fitted, alone, strict=True)]


def drawn_anew(found: Effects, mean: float, rng: Generator) -> dict[int, float]:
    """Setting -> how far its effect must move, so that a table is as of other settings, whose mean
    is this one and which scatter as the recorded ones do. One without an effect stays."""
    told = found.told
    size = math.sqrt(len(told) / max(len(told) - 1, 1))
    moves = {}
    for setting, value in zip(found.by_seed, found.each, strict=True):
        deviation = size * (rng.choice(told) - told.mean()) if len(told) else 0.0
        moves[setting] = mean + deviation - value if math.isfinite(value) else 0.0
    return moves


def renumbered(table: Data, rng: Generator) -> Data:
    """The same with other numbers, since they are other settings than any table's."""
    return table.assign(**{SETTING: table[SETTING] + int(rng.integers(1, 2**31)) * 1000})


def draw(
    found: Effects,
    there: Callable[[float], bool],
    says: str,
    quantity: str,
    laws: Mapping[str, float],
    paper: str,
) -> Drawn:
    """A row a setting, sorted by the effect: its levels as squares, its seeds and their mean; above
    all, in how many it is as asked.

    there, says: what is asked of an effect, and in words: `the best rate falls`. quantity: the
    axis. laws: name -> value, drawn as lines; paper: which of them is the paper's.
    """
    from repro.verdicts import drawing

    n, its = len(found.each), [*found.levels.values()]
    widths = [max(1.0, 0.4 + 0.14 * max(len(said(each[c])) for each in its)) for c in its[0]]
    figure, ((away, margin), (squares, dots)) = drawing.panels(2, 2, 3.6, 1.1 + 0.1 * n)
    squares.get_gridspec().set_width_ratios([0.34 * sum(widths), 5])
    squares.get_gridspec().set_height_ratios([1, 0.25 * n])
    away.axis("off")
    order = np.argsort(np.where(np.isfinite(found.each), found.each, np.inf), kind="stable")
    settings = [[*found.by_seed][i] for i in order]
    draw_levels(squares, [found.levels[setting] for setting in settings], widths)
    for row, setting in enumerate(settings):
        values = np.asarray(found.by_seed[setting], float)
        if not np.isfinite(values).all():
            words = "no effect told: at the end of the search, or diverged"
            middle = {"transform": dots.get_yaxis_transform(), "ha": "center", "va": "center"}
            dots.text(0.5, row, words, fontsize=6, color="0.4", **middle)
            continue
        color = drawing.COLORS[2 if there(values.mean()) else 3]
        dots.plot(values, [row] * len(values), "|-", lw=1.2, ms=6, color=color)
        dots.plot(values.mean(), row, "o", ms=5, color=color)
    for name, value in laws.items():
        ink = drawing.PAPER if name == paper else "0.6"
        dots.axvline(value, ls="--", lw=1, color=ink, zorder=0)
        middle = {"ha": "center", "va": "bottom", "fontsize": 7}
        margin.text(value, 1.02, name, color=ink, transform=margin.get_xaxis_transform(), **middle)
        margin.axvline(value, ls="--", lw=1, color=ink, zorder=0)
    mean = found.mean()
    if math.isfinite(mean.low):
        dots.axvspan(mean.low, mean.high, color="0.92", lw=0, zorder=-1)
    dots.set(xlabel=f"{quantity} (grey: the mean, by Student's t)", yticks=[])
    low, high = drawing.span(*found.by_seed.values(), [*laws.values()])
    beside = 0.06 * (high - low)
    margin.hist(found.told, bins=np.linspace(low, high, 17), color="0.75")
    for panel in (margin, dots):
        panel.set_xlim(low - beside, high + beside)
    for panel in (squares, dots):
        panel.set_ylim(n - 0.4, -0.6)
    margin.set(xticks=[], yticks=[])
    margin.spines["left"].set_visible(False)
    dots.spines["left"].set_visible(False)
    number = round(found.share(there).value * n)
    title = "\n".join(drawing.wrapped(f"{number} of {n} settings: {says}", LETTERS))
    margin.set_title(title, fontsize=10, fontweight="bold", pad=16)
    return figure


def said(level: object) -> str:
    """A level as its square has it: `.5`, `post`."""
    return level if isinstance(level, str) else f"{level:g}".removeprefix("0") or "0"


def draw_levels(panel, rows: Sequence[Mapping[str, object]], widths: Sequence[float]) -> None:
    """A row of squares a setting, a column a choice, as wide as its levels' names need; of a
    choice's levels the first is dark."""
    from repro.verdicts import drawing

    left, middles = 0.0, []
    for choice, width in zip(rows[0], widths, strict=True):
        shades = drawing.ramp(ordered({its[choice] for its in rows}))
        for row, its in enumerate(rows):
            shade = shades[its[choice]]
            panel.barh(row, width - 0.3, 0.92, left, color=shade)
            ink = "white" if sum(shade) < 1.5 else "black"
            at = {"ha": "center", "va": "center", "fontsize": 5.5, "color": ink}
            panel.text(left + (width - 0.3) / 2, row, said(its[choice]), **at)
        middles.append(left + (width - 0.3) / 2)
        left += width
    panel.set_xticks(middles, [*rows[0]], fontsize=7, rotation=50, ha="left")
    panel.xaxis.tick_top()
    panel.tick_params(length=0)
    panel.set(xlim=(-0.2, left), yticks=[])
    for line in panel.spines.values():
        line.set_visible(False)
