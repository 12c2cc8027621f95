"""A decoder made deeper at the shallow one's learning rate, with and without 1/L on branches."""

import math
from functools import partial

import numpy as np

from figures.transfer._losses import LR, RATIO, Losses, of_rates
from repro.statistics import t_interval
from repro.verdicts.answers import Reading
from repro.verdicts.figure import Data, Drawn, Figure, Measured, Runs
from repro.verdicts.run_sweeps import gathered, sweep_of
from widthwise.checks.regret import Comparison

DEPTH, POWER, LOSS = "model.depth", "model.branch_power", "train_loss"
ARMS = {"plain": 0.0, "1/L": 1.0}
COLUMNS = ("stage", POWER, DEPTH, RATIO, LR, "seed", LOSS, "chance")
FALL = "loss of two blocks minus that of the deepest at the rate of two blocks, nats"
ARMS_OF = {"depth.better-with-1-over-l": "1/L", "depth.worse-without": "plain"}
ANSWERS = tuple(
    Reading(id, f"branches {arm}: {FALL}", "above 0 if depth helps") for id, arm in ARMS_OF.items()
)


def reduce(runs: Runs) -> Data:
    """Final losses of every run; a search's rounds belong to their stage."""
    table = gathered(runs, lambda name: {"stage": name.stage}, last=True)
    if POWER not in table:
        table[POWER] = math.nan
    table[POWER] = table[POWER].where(table["stage"] == "deep", 0.0)
    return table[[*COLUMNS]].sort_values([*COLUMNS[:6]], ignore_index=True)


class Depths(Losses):
    """Losses of both arms over depths. The rate that is transferred is that of the proxy, whose
    seeds are others; two blocks are judged by runs of the deep ones' seeds."""

    def __init__(self, table: Data) -> None:
        of = dict(list(table.groupby("stage")))
        self.narrow, deep = of["proxy"], of["deep"]
        (self.ratio,) = deep[RATIO].unique()
        self.chance = float(self.narrow["chance"].iloc[0])
        (base,) = of["shallow"][DEPTH].unique()
        curves = {(arm, base): sweep_of(of["shallow"], LR, LOSS) for arm in ARMS}
        for (power, depth), rows in deep.groupby([POWER, DEPTH]):
            (arm,) = (name for name, each in ARMS.items() if each == power)
            curves[arm, depth] = sweep_of(rows, LR, LOSS)
        tuned = sweep_of(self.narrow[self.narrow[RATIO] == self.ratio], LR, LOSS)
        Comparison.__init__(self, curves, tuned)

    def fall(self, arm: str, rate: float) -> np.ndarray:
        """By seed: how much lower the deepest one's loss is at a rate than that of two blocks."""
        return self.transferred(arm, self.base, rate) - self.transferred(arm, self.widest, rate)


def measure(data: Data, scale: str) -> Measured:
    losses = Depths(data)
    return {
        claim: of_rates(
            losses,
            partial(losses.fall, arm),
            arm,
            detail=f"{losses.base:g} to {losses.widest:g} blocks; retuned there "
            f"{losses.tuned(arm, losses.widest).mean():.4f}, of two blocks "
            f"{losses.tuned(arm, losses.base).mean():.4f} nats",
        )
        for claim, arm in ARMS_OF.items()
    }


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    losses = Depths(data)
    figure, axes = drawing.panels(3, width=3.0, height=2.9)
    low, _ = drawing.span(*(each.losses for each in losses.curves.values()))
    _, top = drawing.span(*(losses.transferred(a, losses.widest).mean() for a in ARMS))
    for place, arm in zip(axes[0], ARMS, strict=False):
        for depth, color in drawing.ramp(losses.widths).items():
            curve = losses.curves[arm, depth]
            shown = np.isfinite(curve.losses).all(0)
            rates, each = curve.rates, curve.losses[:, shown]
            x, line = np.tile(rates[shown], len(each)), {"marker": "o", "ms": 3, "lw": 1}
            drawing.band(place, x, each.ravel(), color, label=f"{depth:g} blocks", **line)
        label = f"best of {losses.base:g} blocks"
        place.axvline(losses.proxy_rate(), ls=":", color="0.3", lw=1, label=label)
        place.set_xscale("log", base=2)
        drawing.log2_axis(place.xaxis)
        place.set_ylim(low - 0.05, top + max(0.3, 1.5 * (top - low)))  # worse ones are cut off
        place.set_title(f"residual branches: {arm}", fontsize=9)
        drawing.legend_above(place, 2)
        place.set_xlabel("learning rate")
    axes[0, 0].set_ylabel("loss (nats)")
    last, rate = axes[0, 2], losses.proxy_rate()
    for k, arm in enumerate(ARMS):
        start = losses.transferred(arm, losses.base, rate)
        place = np.array(losses.widths, float) * 1.03 ** (2 * k - 1)
        found = [t_interval(losses.transferred(arm, d, rate) - start) for d in losses.widths[1:]]
        ends = np.array([(start.mean(),) * 3, *(start.mean() + np.array(f) for f in found)])
        color = drawing.COLORS[3 * k]
        drawing.bars(last, place, ends, fmt="o-", color=color, label=arm)
    last.axhline(start.mean(), ls=":", color="0.3", lw=1, label=f"as {losses.base:g} blocks")
    last.set_xscale("log", base=2)
    last.set_xticks(losses.widths, [f"{each:g}" for each in losses.widths])
    last.set_xlabel("blocks L")
    last.set_title("at the rate of two blocks", fontsize=9)
    drawing.legend_above(last, 2)
    return figure


FIGURE = Figure(
    title="Tuned shallow, trained deep",
    outcome=(
        "At the shallow model's rate, depth lowers the loss by {depth.better-with-1-over-l} nats "
        "with branches scaled by 1/L, by {depth.worse-without} without"
    ),
    caption=(
        "A decoder of one width, made deeper. Left, middle: final training loss, on data seen "
        "once, against the learning rate, mean and range (band) over seeds, a colour a depth; "
        "dotted: the rate that is best for two blocks, where both are the same model. Right: the "
        "loss at that rate against the depth, bars: 95 % interval over seeds of the difference to "
        "two blocks, paired. Plain: residual branches as they are. 1/L: divided by the depth over "
        "2 (CompleteP)."
    ),
    studies=tuple(f"transfer/decoder_depth/{stage}" for stage in ("proxy", "shallow", "deep")),
    answers=ANSWERS,
    columns=COLUMNS,
    reduce=reduce,
    measure=measure,
    draw=draw,
)
