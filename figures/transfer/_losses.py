"""The final losses of one workload, and what a user loses who tunes its narrow model."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from repro.core.names import StageName
from repro.transfer_bench.score import chosen_ratio, ratio_at_edge
from repro.verdicts.answers import Answer, Measurement, exact
from repro.verdicts.figure import Data, Runs
from repro.verdicts.intervals import joined, no_finer_than, of_estimators
from repro.verdicts.run_sweeps import gathered, slope_over_seeds, sweep_of
from widthwise.checks.regret import Comparison
from widthwise.checks.sweep import NEAR, Sweep

WORKLOADS = {
    "decoder": "decoder",
    "mlp": "MLP",
    "gru": "GRU",
    "bart": "BART, tied",
}
NIGHT = ("decoder", "mlp")  # what is trained overnight, by tests that were registered before
STUDIES = tuple(f"transfer/{name}/{stage}" for name in WORKLOADS for stage in ("proxy", "wide"))
WIDTH, LR, RATIO, NAME, LOSS = (
    "model.width",
    "lr",
    "embedding_ratio",
    "parametrization",
    "train_loss",
)
ORDER = ("SP", "muP", "LVP", "full-alignment", "u-muP")  # as they are shown
PROXY = "(proxy)"  # of the narrow model, which is the same under every parametrization
DECAY = "optimizer.weight_decay"  # a column of data.csv where it was tuned
COLUMNS = ["workload", NAME, WIDTH, RATIO, LR, "seed", LOSS, "chance"]
Statistic = Callable[[float], np.ndarray]  # of the narrow model's best rate, by seed
LEARNED = 0.3  # nats below chance that the narrow model must have reached


def reduce(runs: Runs) -> Data:
    """Final losses of every run; a search's rounds belong to their stage."""

    def label(name: StageName) -> dict[str, str]:
        workload = {"workload": name.module.split("/")[1]}
        return workload | ({NAME: PROXY} if name.stage.endswith("proxy") else {})

    table = gathered(runs, label, last=True)
    tuned = [DECAY] if DECAY in table and table[DECAY].nunique() > 1 else []
    return table[COLUMNS + tuned].sort_values([*COLUMNS[:6], *tuned], ignore_index=True)


def by_ratio(rows: Data) -> dict[float, Sweep]:
    """Ratio -> sweep, of runs that differ in ratio, rate and seed alone."""
    return {float(ratio): sweep_of(each, LR, LOSS) for ratio, each in rows.groupby(RATIO)}


def hardly_learned(chance: float) -> Callable[[float], str]:
    """The narrow model's best loss -> why nothing can be told of it."""

    def problem(best: float) -> str:
        few = f"the narrow model has hardly learned: {best:.2f} of {chance:.2f}"
        return "" if best < chance - LEARNED else few

    return problem


class Losses(Comparison):
    """One workload's losses (`Comparison`).

    ratio: of the embedding's rate to the others', tuned on the narrow model, as was the weight
    decay where the table has it. narrow: its rows at that decay, at every ratio. decays: those it
    was tuned over. chance: the loss of a model that knows only how often each target occurs.
    """

    decay: float = 0.0
    decays: tuple[float, ...] = (0.0,)

    def __init__(self, table: Data) -> None:
        self.narrow, wide = table[table[NAME] == PROXY], table[table[NAME] != PROXY]
        (self.ratio,) = wide[RATIO].unique()
        if DECAY in table:
            (self.decay,) = wide[DECAY].unique()
            self.decays = tuple(sorted(self.narrow[DECAY].unique()))
            self.narrow = self.narrow[self.narrow[DECAY] == self.decay]
        (base,) = self.narrow[WIDTH].unique()
        self.chance = float(self.narrow["chance"].iloc[0])
        proxy = sweep_of(self.narrow[self.narrow[RATIO] == self.ratio], LR, LOSS)
        names = sorted(wide[NAME].unique(), key=[*ORDER, *wide[NAME]].index)
        curves = {(name, base): proxy for name in names}
        for (name, width), rows in wide.groupby([NAME, WIDTH]):
            curves[name, width] = sweep_of(rows, LR, LOSS)
        super().__init__(curves)

    def more_regret(self, rate: float | None = None) -> np.ndarray:
        """By seed: how much larger the regret of SP is than that of muP, at the largest width."""
        return self.regret("SP", self.widest, rate) - self.regret("muP", self.widest, rate)

    def problem(self, *names: str) -> str:
        """Why a comparison of these tells nothing: the narrow model has not learned, a best rate at
        its grid's end, or a transferred rate that was not tried; "" if it does."""
        best = self.curves[self.names[0], self.base].mean().min()
        narrow = by_ratio(self.narrow)
        found = [hardly_learned(self.chance)(best), ratio_at_edge(chosen_ratio(narrow), narrow)]
        if self.decay and self.decay == self.decays[-1]:
            found.append(f"the best weight decay, {self.decay:g}, is at its grid's edge")
        edges = []
        for name in names:
            at_edge = [f"{width:g}" for width, each in self.of(name).items() if each.at_edge]
            edges += [f"{name} at {', '.join(at_edge)}"] if at_edge else []
            if np.isnan(self.transferred(name, self.widest)).any():
                found.append(f"{name} was not trained at the narrow model's best rate")
        if edges:
            found.append(f"the best rate is at its grid's edge: {'; '.join(edges)}")
        return joined(*found)


def by_workload(data: Data, names: Iterable[str] = WORKLOADS) -> dict[str, Losses]:
    """Workload -> its losses, of those that a table has, in the order of the names."""
    of = dict(list(data.groupby("workload")))
    return {name: Losses(of[name]) for name in names if name in of}


def of_all(answers: Iterable[Answer], found: Mapping[str, Measurement]) -> dict[str, Measurement]:
    """What was found of every answer; nothing of those whose workload a scale leaves out."""
    nothing = exact(math.nan, 0, "it is not run at this scale")
    return {each.id: found.get(each.id, nothing) for each in answers}


def slope_measurement(losses: Losses, name: str) -> Measurement:
    """Slope of the best rate, mean over seeds, with a parabola of twice its reach beside it.

    Two estimators may differ by more than seeds do: then the interval spans those of both.
    """
    sweeps, problem = losses.of(name), losses.problem(name)
    first, second = (slope_over_seeds(sweeps, reach, problem) for reach in (NEAR, 2 * NEAR))
    if math.isnan(first.value):
        return first
    optima = ", ".join(f"{n:g}: 2^{each.vertices().mean():.2f}" for n, each in sweeps.items())
    words = f"best rates by width {optima}; {second.value:z.2f} by a parabola of two octaves"
    return of_estimators(replace(first, detail=words), second)


def regrets(losses: Losses, *names: str) -> str:
    """What these lose at the largest width for want of retuning, by either estimator: by the grid,
    which claims judge, and by parabolas, as the board and `scores` have it."""
    place = losses.proxy.optimum()
    by_parabolas = {n: losses.curves[n, losses.widest].regret(place).mean() for n in names}
    by_grid = {name: losses.regret(name, losses.widest).mean() for name in names}

    def words(name: str, value: float) -> str:
        return f"{name} none" if math.isnan(value) else f"{name} {value:.4f}"

    return "; ".join(
        f"regret by {how} " + ", ".join(words(*item) for item in each.items())
        for how, each in (("the grid", by_grid), ("parabolas", by_parabolas))
    )


def of_rates(losses: Losses, statistic: Statistic, *names: str, detail: str = "") -> Measurement:
    """`Comparison.interval` of a statistic. names: the parametrizations it compares."""
    found = losses.interval(statistic)
    return Measurement(*found, len(losses.seeds), losses.problem(*names), detail)


def of_regret(losses: Losses, statistic: Statistic, *names: str, detail: str = "") -> Measurement:
    """`of_rates` of a regret by the grid, or of a difference of two: no finer than its rates."""
    return no_finer_than(
        of_rates(losses, statistic, *names, detail=detail), losses.half_step(*names)
    )
