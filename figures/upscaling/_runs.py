"""The runs of one architecture under the protocol of `studies/upscaling/_protocol.py`: which stages
there are, their final losses, what a sweep selects, and which runs diverged."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from repro.core import discovery
from repro.core.study import OVERNIGHT
from repro.tasks import TASKS
from repro.verdicts import run_sweeps
from repro.verdicts.answers import Condition, Expectation, exact
from repro.verdicts.figure import Data, Runs
from repro.verdicts.intervals import joined
from repro.verdicts.optimum import search_optimum
from repro.verdicts.printed import numbers
from studies.upscaling import gpt2, mlp_adamw, mlp_sgd, resnet
from studies.upscaling._protocol import STEPS, Upscaling

LEVEL = "start.level"
COLUMNS = [
    "study",
    "stage",
    "lr",
    LEVEL,
    "seed",
    "step",
    "train_loss",
    "valid_loss",
    "valid_accuracy",
    "outside",
    "inside",
]
QUIET = "quiet"  # Sweep 2's runs without noise
BOTH = ("lr", LEVEL)
TARGET, TARGET_QUIET = "tune_target", "tune_target_without_noise"
# The paper's curves with their sweeps, and those held against them with both sides tuned.
OF_WINS = ("tune", "base", "scratch", "tune_upscaled", "upscaled")
FAIR = ("scratch_rates", "scratch_long", TARGET, "upscaled_tuned")
# Sweep 2's winner, zero noise at its own best rate and the largest noise, at the small width.
SMALL = ("small_upscaled", "small_without_noise", "small_most_noise")
SWEEPS = {
    "tune": ("Sweep 1", ["lr"]),
    "tune_upscaled": ("Sweep 2", ["lr", LEVEL]),
    "tune_upscaled_code": ("Sweep 2 with the code's noise", ["lr", LEVEL]),
    QUIET: ("Sweep 2 at zero noise", ["lr"]),
    TARGET: ("Sweep 2 at the target", ["lr", LEVEL]),  # or those of `Setting.target`
    TARGET_QUIET: ("Sweep 2 at the target, zero noise", ["lr"]),
    "scratch_rates": ("the rates from scratch", ["lr"]),
}


@dataclass(frozen=True)
class Setting:
    """One architecture and optimizer under the protocol.

    key, name: in the ids of claims, and in words. study: its file in studies/.
    selected: the paper's learning rate of Sweep 1, and rate and noise of Sweep 2 as they are on
        its grids (ROUNDED: as it prints them), the noise in its code's convention.
    end_to_end: its speed-up with the base's cost charged (F.4).
    metric: what Sweep 1 selects by; other sweeps by the training loss, as they are judged.
    noise: the noise axis in words. validation: what the paper's figures show of held-out data.
    target: the axes that its study also tunes at the target, at some scales.
    scales: scale -> what it runs there.
    """

    key: str
    name: str
    study: str
    scales: Mapping[str, Upscaling]
    selected: tuple[float, float, float]
    end_to_end: float
    metric: str = "train_loss"
    noise: str = r"noise $\bar\sigma_\Delta$"
    validation: str = "valid_accuracy"
    target: tuple[str, ...] = ()

    @property
    def over(self) -> str:
        """The window in words."""
        reduced, paper = (self.scales[scale].window for scale in ("reduced", "paper"))
        return f"a mean over the last {reduced} steps ({paper} at paper scale)"

    def stages(self, names: Sequence[str]) -> tuple[str, ...]:
        """Full names of some of its study's stages."""
        return tuple(f"{self.study}/{name}" for name in names)

    def where(
        self, bound: Expectation, grid: str, smallest: str = "reduced"
    ) -> dict[str, Expectation | None]:
        """Where a test binds: from `smallest` on, at the scales that have a grid."""
        order = ("reduced", OVERNIGHT, "paper")
        later = order[order.index(smallest) :]
        has = {scale: bool(getattr(self.scales[scale], grid)) for scale in order}
        return {scale: bound if scale in later and has[scale] else None for scale in order}

    def metric_of(self, name: str) -> str:
        """What a sweep selects by."""
        return self.metric if name == "tune" else "train_loss"


ENOUGH = 64  # units: what the paper calls about 100; its own Figure 3 begins here
STAGE = 512  # channels of a ResNet-18's widest stage at width 1
ASKED = "about 100 units (Sections 4 and 5)"


def too_narrow(units: float) -> str:
    """That a rate or a noise was tuned on fewer units than the paper asks for; "" of enough."""
    return f"n0 = {units:g}" if units < ENOUGH else ""


def units_of(study: str, scale: str) -> float:
    """Units of the model that a study of the protocol is tuned on, of a ResNet of its widest
    stage."""
    model = discovery.study(f"{study}/tune").settings(scale)["model"]
    return model["width"] * (STAGE if model["name"] == "resnet" else 1)


def carried_from(setting: Setting) -> tuple[Condition, ...]:
    """What the paper asks of a statement on a rate or a noise that is carried to the target."""

    def broken(data: Data, scale: str) -> str:
        return too_narrow(units_of(rows_of(data, setting)["study"].iloc[0], scale))

    return (Condition(ASKED, broken),)


def rows_of(data: Data, setting: Setting) -> Data:
    """The rows of a setting in a table: of its study, or of one whose name begins alike."""
    return data[data["study"].str.startswith(SETTINGS[setting.key].study)]


ROUNDED = {0.0125: "0.013", 0.0025: "0.003", 2.0**-8: "0.0039", 2.0**-9: "0.0020"}
SETTINGS = {
    setting.key: setting
    for setting in (
        Setting(
            "mlp-sgd",
            "MLP with SGD",
            "upscaling/mlp_sgd",
            mlp_sgd.SCALES,
            (0.4, 0.1, 5.0),
            8.5,
            target=BOTH,
        ),
        Setting(
            "mlp",
            "MLP with AdamW",
            "upscaling/mlp_adamw",
            mlp_adamw.SCALES,
            (0.1, 0.0125, 4.0),
            3.0,
            target=BOTH,
        ),
        Setting(
            "resnet",
            "ResNet-18 with SGD",
            "upscaling/resnet",
            resnet.SCALES,
            (0.01, 0.0025, 0.4),
            1.3,
            noise="relative noise $t$",
        ),
        Setting(
            "gpt2",
            "GPT-2 with AdamW",
            "upscaling/gpt2",
            gpt2.SCALES,
            (2.0**-8, 2.0**-9, 0.005),
            2.2,
            metric="valid_loss",
            validation="valid_loss",
            target=BOTH,
        ),
    )
}


def unrun(answers):
    """Of every answer that there are no such runs, for a figure that measures those it has."""
    return {each.id: exact(math.nan, 0, "it is not run at this scale") for each in answers}


def reduce(runs: Runs) -> Data:
    """Every stage's records in one table; a search's rounds belong to their stage."""
    table = run_sweeps.gathered(runs, lambda name: {"study": name.module, "stage": name.stage})
    return table.reindex(columns=COLUMNS)


METRICS = ("train_loss", "valid_loss", "valid_accuracy")


class Stages(dict):
    """Stage -> its rows of a table. window: over how many of its last steps what a run ends at is
    a mean."""

    def __init__(self, tables, window):
        super().__init__(tables)
        self.window, self.ended = window, {}

    def __contains__(self, name):
        part = {"scratch_tuned": "scratch_rates", QUIET: "tune_upscaled"}
        return super().__contains__(part.get(name, name))


def by_stage(data: Data, scale: str):
    """The stages of a study's table, validation losses infinite where a run diverged."""
    numbers = data.drop(columns=["study", "stage"]).fillna({"valid_loss": math.inf})
    tables = dict(list(numbers.groupby(data["stage"])))
    return Stages(tables, window(data["study"].iloc[0], scale))


@discovery.of_studies
def window(study, scale: str):
    """Over how many of its last steps a study's final losses are means; 0: its last evaluation."""
    return discovery.study(f"{study}/tune").at(scale).window


def ends(stages, name):
    """What every run of a stage ends at, one row a run: means over the window."""
    if name not in stages.ended:
        stages.ended[name] = run_sweeps.at_end(stage_rows(stages, name), stages.window, METRICS)
    return stages.ended[name]


def stage_rows(stages, name):
    """The rows of one stage. stages: from `by_stage`.

    Two names are parts of a stage: `scratch_tuned`, the run of `scratch_rates` that ends with the
    lowest training loss, and QUIET, the runs of `tune_upscaled` without noise.
    """
    if name == "scratch_tuned":
        rows = stages["scratch_rates"]
        return rows[rows["lr"] == best(ends(stages, "scratch_rates"), ["lr"], "train_loss")["lr"]]
    if name == QUIET:
        rows = stages["tune_upscaled"]
        return rows[rows[LEVEL] == 0]
    return stages[name]


def best(rows, axes, metric, how="final"):
    """Axis -> its value in the run with the lowest metric, at the end or at its minimum.

    rows: from `ends`; for the minimum, whole curves."""
    if how == "minimum":
        losses = {point: float(runs[metric].min()) for point, runs in rows.groupby(axes)}
    else:
        losses = run_sweeps.Grid(axes, metric).losses(rows)
    return dict(zip(axes, search_optimum(losses).point, strict=True))


def point(chosen):
    """A point of a sweep in words."""
    noise = f"noise {chosen[LEVEL]:.4g}" if LEVEL in chosen else "the same noise"
    return f"lr {chosen['lr']:.4g}, {noise}"


def edges(stages, setting, *sweeps):
    """Why the optima of some of SWEEPS are none; "" when they are."""
    problems = {}
    for name in sweeps:
        words, axes = SWEEPS[name]
        # Sweep 2 at the target tries one step along each axis, not along both at once.
        crosswise = name == TARGET and len(setting.target) > 1
        axes = list(setting.target) if name == TARGET else axes
        rows, metric = ends(stages, name), setting.metric_of(name)
        grid = run_sweeps.Grid(axes, metric, STEPS if crosswise else None)
        problems[words] = grid.edge(rows)
    return run_sweeps.by_name(problems)


def diverged(stages, *names):
    """Stages of which runs diverged, and how many."""
    lost = {name: ~np.isfinite(losses(stages, name)) for name in names}
    return joined(
        *(f"{s.sum()} of {len(s)} runs of {name} diverged" for name, s in lost.items() if s.any())
    )


def code_sweep(stages):
    """Sweep 2 in the released code's convention where there is one, for the paper's selection."""
    return "tune_upscaled_code" if "tune_upscaled_code" in stages else "tune_upscaled"


def losses(stages, name, metric="train_loss"):
    """Seed -> final training loss, or another metric, a mean over its window."""
    return ends(stages, name).set_index("seed")[metric]


def shared(*arms):
    """The seeds that all arms have. arms: from `losses`."""
    return sorted(set.intersection(*(set(arm.index) for arm in arms)))


def mean_of(arm):
    """Seeds -> mean of an arm over them. arm: from `losses`; read as plain numbers, because power
    asks thousands of times."""
    values = arm.to_dict()
    return lambda seeds: sum(values[seed] for seed in seeds) / len(seeds)


def difference(ours, other):
    """Statistic of seeds, for `over_seeds`: mean of one arm minus that of another."""
    first, second = mean_of(ours), mean_of(other)
    return lambda seeds: first(seeds) - second(seeds)


def ratio(ours, other):
    """Statistic of seeds: mean of one arm over that of another."""
    first, second = mean_of(ours), mean_of(other)
    return lambda seeds: first(seeds) / second(seeds)


def share(arm, best, worst):
    """Statistic of seeds: how far an arm's mean is from the best's, as a share of the way to the
    worst's; infinite where the best is not below the worst."""
    ours, lowest, highest = mean_of(arm), mean_of(best), mean_of(worst)

    def of(seeds):
        low, high = lowest(seeds), highest(seeds)
        return (ours(seeds) - low) / (high - low) if high > low else math.inf

    return of


@discovery.of_studies
def flops_ratio(study, scale: str, stage="base"):
    """Training operations of a run of a stage over those of the wide one."""

    def flops(name):
        declared = discovery.study(f"{study}/{name}")
        return TASKS[declared.task].cost(declared.settings(scale)).flops

    return flops(stage) / flops("scratch")


def printed_share(setting):
    """Share of the from-scratch run's operations after which upscaled is at its loss, of F.4."""
    figure = "fig4" if setting.key == "mlp-sgd" else "fig2"
    architecture = setting.key.split("-")[0]
    (needed,) = numbers("upscaling", f"{figure}.faster-{setting.key}")
    _, whole, *_ = numbers("upscaling", f"table4.costs-{architecture}")
    return needed / whole


def means_in_words(stages):
    """Upscaled runs that diverged, and mean final training losses in words."""
    names = {"upscaled_without_noise": "zero noise", "scratch_long": "scratch, base's steps added"}
    names = {n: n for n in ("base", "scratch", "upscaled")} | names
    names |= {"scratch_tuned": "scratch, best rate"}
    names |= {"upscaled_tuned": "upscaled, tuned at the target"}
    means = {words: losses(stages, name).mean() for name, words in names.items() if name in stages}
    losses_in_words = ", ".join(f"{words} {mean:.4g}" for words, mean in means.items())
    return joined(diverged(stages, "upscaled"), losses_in_words)
