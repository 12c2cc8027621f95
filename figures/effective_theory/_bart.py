"""The runs behind Figures 3 to 5: one table, the sweeps' optima, curves of the validation loss."""

import math

import numpy as np

from repro.core import discovery
from repro.core.spec import lookup
from repro.tasks import TASKS
from repro.verdicts import run_sweeps
from repro.verdicts.answers import Reading, exact, number
from repro.verdicts.figure import Data, Generator, Runs
from repro.verdicts.noise import Design
from repro.verdicts.typeset import powers
from studies.effective_theory._bart import STRATEGIES, shift
from studies.effective_theory.bart import METRIC, stage_name
from widthwise.checks.sweep import Sweep

SWEEPS = {strategy: f"effective_theory/bart/{stage_name(strategy)}" for strategy in STRATEGIES}
BESTS = {strategy: f"effective_theory/bart/{stage_name(strategy)}_best" for strategy in STRATEGIES}
R2C2 = "effective_theory/r2c2"
COLUMNS = ["model", "part", "strategy", "lr", "optimizer.weight_decay", "seed", "step"]
COLUMNS += ["train_loss", "valid_loss", METRIC]
# The optimum of a sweep, by the smallest loss along a run.
SWEEP = run_sweeps.Grid(("lr",), METRIC, place="the optimum is at the grid's edge: lr = {:.4g}")
SKIPPED = "skipped"  # steps whose gradients overflowed, since the start
AXES = ["model", "part", "strategy", "lr", "optimizer.weight_decay", "step"]


def reduce(runs: Runs) -> Data:
    """Every stage's records in one table; a search's rounds belong to its stage."""
    places = {stage: ("sweep", strategy) for strategy, stage in SWEEPS.items()}
    places |= {stage: ("best", strategy) for strategy, stage in BESTS.items()}
    names = {parametrization: strategy for strategy, parametrization in STRATEGIES.items()}

    def by_parametrization(table):
        return table["parametrization"].map(names)

    def label(name):
        if str(name) == R2C2:
            return {"model": "R2C2", "part": "untuned", "strategy": by_parametrization}
        part, strategy = places[str(name.at_round(0))]
        return {"model": "BART", "part": part, "strategy": strategy}

    table = run_sweeps.gathered(runs, label)
    further = [SKIPPED] if SKIPPED in table else []  # of float16 alone
    return table.reindex(columns=[*COLUMNS, *further])


def rows_of(data: Data, strategy, part, model="BART"):
    """The rows of one strategy's part."""
    chosen = (data["strategy"] == strategy) & (data["part"] == part) & (data["model"] == model)
    return data[chosen]


def sweep(data: Data, strategy) -> Sweep:
    """A strategy's sweep: the smallest loss along each run, by rate and seed."""
    return run_sweeps.sweep_of(run_sweeps.last_step(rows_of(data, strategy, "sweep")), "lr", METRIC)


def around_best(swept: Sweep) -> Sweep:
    """Of a sweep its best rate and the two beside it; which these are, all seeds together say. The
    whole sweep where every rate diverged."""
    best = swept.optimum("grid")
    if np.isnan(best):
        return swept
    near = np.abs(swept.log2 - best) < run_sweeps.NEIGHBOURS
    return Sweep(swept.rates[near], swept.seeds, swept.losses[:, near])


def vertex(swept: Sweep, seeds):
    """log2 of a sweep's optimal rate, by a parabola through the best rate and its neighbours."""
    return around_best(swept).of(seeds).optimum(reach=run_sweeps.NEIGHBOURS, inside=False)


def lowest_between(swept: Sweep, seeds) -> float:
    """The smallest loss at that optimum, by the same parabola; NaN where it has no minimum
    or a neighbour diverged."""
    near = around_best(swept).of(seeds)
    losses = near.mean()
    if len(losses) < 3 or not np.isfinite(losses).all():
        return math.nan
    bend, slope, height = np.polyfit(near.log2 - near.log2[1], losses, 2)
    return float(height - slope**2 / (4 * bend)) if bend > 0 else math.nan


def set_apart(recorded: Data, ours, other, side, rng: Generator):
    """The table with new seeds, and one arm's validation losses below another's by their recorded
    difference (side 1), upon them (0) or above (-1). ours, other: an arm by column -> value."""
    design = Design(recorded, ["valid_loss", METRIC], AXES, log=False)
    design.set_apart(design.rows(**ours), design.rows(**other), side)
    return design.draw(rng)


def size(study: str, figure: str, model: str):
    """How far a design is from the printed one: readings of a figure, and what measures them."""
    task = TASKS["span_denoising"]
    names = tuple(f"{figure}.{name}" for name in ("parameters", "tokens-per-parameter"))

    def values(scale):
        cost = task.cost(discovery.study(study).settings(scale))
        return cost.parameters, cost.seen / cost.parameters

    printed = values("paper")
    words = f"parameters of {model}", f"tokens that a run reads for each parameter of {model}"
    readings = tuple(
        Reading(name, words=each, beside=f"{number(value, '.3g')} in the paper")
        for name, each, value in zip(names, words, printed, strict=True)
    )
    return readings, lambda scale: dict(zip(names, map(exact, values(scale)), strict=True))


def edges(data: Data, *strategies):
    """Why the best rates of some strategies' sweeps are no optima; "" when they are."""
    return run_sweeps.by_name(
        {strategy: SWEEP.edge(rows_of(data, strategy, "sweep")) for strategy in strategies}
    )


def nearest(values, wanted):
    """The value within 1 % of a wanted one, None where there is none."""
    near = [v for v in values if abs(v / wanted - 1) < 0.01]
    return float(near[0]) if near else None


def best_runs(data: Data, strategy):
    """The runs at a sweep's best rate, with seeds of their own where there are."""
    own = rows_of(data, strategy, "best")
    rows = rows_of(data, strategy, "sweep")
    return rows[rows["lr"] == SWEEP.optimum(rows).point[0]] if own.empty else own


def setting(scale: str, strategy, key):
    """A setting of a strategy's sweep at a scale."""
    study = discovery.study(SWEEPS[strategy])
    return lookup(study.settings(scale), key)


def factor(scale: str, strategy):
    """What the strategy's learning rates are shifted by, n^3/2 or 1."""
    return shift(strategy, setting(scale, strategy, "model.width"))


def draw_curve(panel, rows, label, **style):
    """Mean validation loss over seeds against updates, with the range; diverged ends left out."""
    from repro.verdicts import drawing

    rows = rows[np.isfinite(rows["valid_loss"]) & np.isfinite(rows["train_loss"])]
    if rows.empty:
        panel.plot([], [], label=f"{label} [diverged]", **style)
        return
    words = f"{label} [{rows.groupby('seed')['valid_loss'].min().mean():.4g}]"
    drawing.band(panel, rows["step"], rows["valid_loss"], label=words, **{"lw": 1.4, **style})


def finish(panel, title, legend):
    """Labels, the legend's title, and bits on the right as fairseq logs them."""
    panel.set_xlabel("updates")
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.set_ylabel("validation loss (nats)")
    bits = panel.secondary_yaxis("right", functions=(nats_to_bits, bits_to_nats))
    bits.set_ylabel("bits", fontsize=8)
    bits.tick_params(labelsize=8)
    panel.set_title(title, fontsize=9)
    panel.legend(title=legend, fontsize=8, title_fontsize=8)


def draw_difference(panel, gap, words, found, judged):
    """What one strategy's validation loss is above another's, a thin line a seed, and their mean;
    right of it what a claim measures, with its 95 % interval.

    gap: a row an update, a column a seed. words: which minus which. found, judged: the measurement,
    and what it is of, in a few words.
    """
    from repro.verdicts import drawing

    panel.plot(gap.index, gap, lw=0.8, color="0.6", zorder=1)
    panel.plot([], [], lw=0.8, color="0.6", label="a seed")
    panel.plot(gap.index, gap.mean(axis=1), "-", lw=2, color="black", label="mean over seeds")
    after = gap.index[-1] + 0.1 * (gap.index[-1] - gap.index[0])
    value = [(found.value, found.low, found.high)]
    drawing.bars(panel, [after], value, fmt="D", ms=5, color="C3", label=judged)
    drawing.printed(panel, (gap.index[0], after), 0, "the paper:\nbelow 0")
    panel.set_xlabel("updates")
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.set_ylabel(f"{words},\nvalidation loss (nats)")
    panel.legend(fontsize=8)


def nats_to_bits(loss):
    """Nats -> bits."""
    return loss / math.log(2)


def bits_to_nats(loss):
    """Bits -> nats."""
    return loss * math.log(2)


def pair(scale: str, strategy, lr):
    """`(lr, wd)` in words, as the paper's legends have it."""
    decay = setting(scale, strategy, "optimizer.weight_decay")
    return powers(f"{strategy}, ({lr:.4g}, {decay:.2g})")
