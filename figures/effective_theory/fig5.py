"""Figure 5: R2C2 untuned, with BART dashed."""

import math

import numpy as np

from figures.effective_theory import _bart
from figures.effective_theory._bart import R2C2, STRATEGIES, reduce
from figures.effective_theory._strategies import style
from repro.verdicts.answers import (
    TRAINING,
    Reading,
    Test,
    below,
    exact,
    over_seeds,
    trained_scales,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, View
from repro.verdicts.power import SIDES, SIGN
from studies.effective_theory._strategies import COMPARED

SIZE, sized = _bart.size(R2C2, "fig5", "R2C2")
ANSWERS = (
    Test(
        id="fig5.nt-faster",
        kind=TRAINING,
        statement="bart-faster",
        column="R2C2",
        quantity="validation loss (nats), neural-tangent minus standard, mean over all evaluations "
        "up to the last that both reached",
        expected=trained_scales(below(0)),
    ),
    Reading(
        id="fig5.nt-below",
        words="share of these evaluations at which neural-tangent's validation loss is lower",
        beside="1 where the curves do not cross",
    ),
    Reading(
        id="fig5.nt-better-at-end",
        words="validation loss (nats) at the last common update, neural-tangent minus standard",
        beside='below 0 where it is still ahead; the paper says "at least at the early stage"',
        statement="bart-faster",
        column="R2C2",
    ),
    *SIZE,
)
LAWS = {"fig5.nt-faster": SIGN}


def compared(data: Data):
    """Validation losses of R2C2 up to the last update that both strategies reached, standard and
    neural-tangent: a row an update, a column a seed; none where one diverged from the start."""
    tables = [
        _bart.rows_of(data, strategy, "untuned", "R2C2").pivot(
            index="step", columns="seed", values="valid_loss"
        )
        for strategy in COMPARED
    ]
    finite = [table.index[np.isfinite(table).all(axis=1)] for table in tables]
    common = sorted(set(finite[0]) & set(finite[1]))
    return [table.loc[common] for table in tables]


def measure(data: Data, scale: str) -> Measured:
    standard, tangent = compared(data)
    if standard.empty:
        nothing = exact(math.nan, 1, "a strategy diverged from the start")
        return {claim.id: nothing for claim in ANSWERS} | sized(scale)
    gap = tangent - standard  # update, seed
    last = (table.iloc[-1].mean() for table in (standard, tangent))
    at_end = "at update {}: standard {:.4g}, neural-tangent {:.4g}".format(gap.index[-1], *last)
    along = ", ".join(f"{mean:+z.3f} at {step:g}" for step, mean in gap.mean(axis=1).items())
    quantities = {
        "fig5.nt-faster": (gap.mean(), along),
        "fig5.nt-below": ((gap < 0).mean(), ""),
        "fig5.nt-better-at-end": (gap.iloc[-1], at_end),
    }

    def over(by_seed, detail):
        return over_seeds(lambda s: float(by_seed[list(s)].mean()), by_seed.index, detail=detail)

    return sized(scale) | {claim: over(*found) for claim, found in quantities.items()}


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    other, ours = ({"model": "R2C2", "strategy": strategy} for strategy in COMPARED)
    return _bart.set_apart(recorded, ours, other, SIDES[law], rng)


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, ((panel, difference),) = drawing.panels(2, width=4.8, height=3.8)
    for strategy in STRATEGIES:
        rows = _bart.rows_of(data, strategy, "untuned", "R2C2")
        lr, decay = (rows[key].iloc[0] for key in ("lr", "optimizer.weight_decay"))
        label = f"R2C2, {strategy}, ({lr:.4g}, {decay:.2g})"
        _bart.draw_curve(panel, rows, label, **style(strategy))
    for strategy in STRATEGIES:
        lr = _bart.SWEEP.optimum(_bart.rows_of(data, strategy, "sweep")).point[0]
        look = style(strategy) | {"lw": 0.8, "alpha": 0.6}
        label = f"BART, {_bart.pair(scale, strategy, lr)}"
        _bart.draw_curve(panel, _bart.best_runs(data, strategy), label, **look)
    low, high = panel.get_ylim()
    panel.set_ylim(low, high + 0.25 * (high - low))  # room for the legend
    _bart.finish(panel, "R2C2, and BART (thin)", "model, strategy, (lr, wd) [smallest loss]")
    standard, tangent = compared(data)
    if standard.empty:
        difference.set_axis_off()
        return figure
    found = measure(data, scale)["fig5.nt-faster"]
    words = "R2C2, neural-tangent minus standard"
    _bart.draw_difference(
        difference, tangent - standard, words, found, "mean of all, 95 % interval"
    )
    return figure


FIGURE = Figure(
    title="Figure 5. R2C2 under the standard and the neural-tangent strategy, untuned",
    outcome=(
        "R2C2's validation loss under neural-tangent lies {fig5.nt-faster} nats above that under "
        "standard, over all evaluations"
    ),
    caption=(
        "Validation loss against updates: mean over seeds, band: range over seeds (Dinan et al., "
        "Figure 5). Thick: R2C2, at rates taken over from elsewhere; thin: BART, the runs of "
        "Figure 4; colour and dashes: the strategy. In brackets the smallest loss along the run, "
        "mean over seeds. Right: R2C2's difference at every update, and its mean over all, which "
        "the claim is about."
    ),
    studies=(R2C2, "effective_theory/bart"),
    view=View("step", "valid_loss", {"part": "untuned"}),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
