"""Figure 2: the four strategies at their optima."""

import math

from figures.effective_theory import _vit
from figures.effective_theory._strategies import AHEAD_TOO, PAPER, style
from figures.effective_theory._vit import reduce
from repro.core.study import OVERNIGHT
from repro.verdicts.answers import (
    CONTROL,
    OURS,
    TRAINING,
    Test,
    above,
    exact,
    over_seeds,
    trained_scales,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured
from repro.verdicts.intervals import no_finer_than
from repro.verdicts.power import SIDES, SIGN
from repro.verdicts.typeset import powers
from studies.effective_theory._strategies import COMPARED, STANDARD, STRATEGIES, TANGENT

SPIKE = 0.05  # of top-1: five points
OPTIMA = "at (lr*, wd*)"
PANELS = {"best": OPTIMA, "fresh": OPTIMA, "long": "three times the epochs, same (lr*, wd*)"}
ANSWERS = (
    Test(
        id="fig2.nt-better",
        kind=TRAINING,
        statement="nt-better",
        column="ViT",
        quantity="largest top-1 in percentage points, neural-tangent minus standard, each at its "
        "(lr*, wd*), at reduced scale of seeds of their own",
        expected=trained_scales(above(0)),
    ),
    Test(
        id="fig2.nt-better-long",
        kind=CONTROL,
        statement="nt-better-beside",
        column="ViT, three times the epochs",
        quantity="largest top-1 in percentage points, neural-tangent minus standard, (lr*, wd*) of "
        "the short runs",
        expected={"reduced": above(0, OURS, AHEAD_TOO), OVERNIGHT: None},
    ),
    Test(
        id="fig2.order",
        kind=TRAINING,
        statement="order",
        column="ViT",
        quantity="largest top-1 in percentage points: smaller of hybrid minus the next best, and "
        "the next worst minus maximal-update",
        expected={OVERNIGHT: above(0), "paper": above(0)},
    ),
    Test(
        id="fig2.spikes",
        kind=TRAINING,
        statement="spikes",
        column="ViT",
        quantity="drops of top-1 over 5 percentage points below its running maximum after the "
        "warm-up, a run: standard minus another strategy, the smallest of the three",
        expected={"paper": above(0)},
    ),
)
DIFFERENCES = {  # claim -> what it is of
    "fig2.nt-better": "neural-tangent\nminus\nstandard",
    "fig2.nt-better-long": "the same,\nthree times\nthe epochs",
    "fig2.order": "hybrid ahead,\nmaximal-\nupdate last",
}
LAWS = dict.fromkeys(("fig2.nt-better", "fig2.nt-better-long", "fig2.order"), SIGN)
# The paper's order: which strategy lies above (-1) or below (1) which.
ORDER = ((TANGENT, STANDARD, -1), ("hybrid", TANGENT, -1), ("maximal-update", STANDARD, 1))


def spikes(rows, scale: str):
    """Seed -> how often top-1 falls by more than SPIKE below its running maximum after warm-up."""
    counts = {}
    for seed, run in rows[rows["step"] > _vit.setting(scale, "schedule.warmup")].groupby("seed"):
        accuracy = run.sort_values("step")["valid_accuracy"]
        below = (accuracy.cummax() - accuracy > SPIKE).astype(int)
        counts[seed] = int((below.diff().fillna(below) > 0).sum())
    return counts


def measure(data: Data, scale: str) -> Measured:
    import pandas as pd

    def of_all(part):
        return {strategy: _vit.rows_of(data, strategy, part) for strategy in PAPER}

    part = "best" if any(runs.empty for runs in of_all("fresh").values()) else "fresh"
    rows = of_all(part)
    best = {strategy: _vit.top1(runs) for strategy, runs in rows.items()}
    lacking = exact(math.nan, 0, "no such runs at this scale")
    limits = _vit.edges(data, *PAPER)
    pair = _vit.edges(data, *COMPARED)
    # The controls were thought of when the runs of `best` had been seen. Seeds that no run had
    # before judge, where there are such.
    judged = "fresh" if (data["part"] == "fresh").any() else "best"  # at paper scale

    def ahead(part):
        if not (data["part"] == part).any():
            return lacking
        ours, other = (_vit.top1(_vit.rows_of(data, each, part)) for each in (TANGENT, STANDARD))
        return _vit.difference(ours, other, pair, _vit.in_words(data, part))

    def margin(seeds):
        means = {strategy: top1.loc[list(seeds)].mean() for strategy, top1 in best.items()}
        top, bottom = means.pop("hybrid"), means.pop("maximal-update")
        return float(min(top - max(means.values()), min(means.values()) - bottom))

    ahead_of_two = {
        "fig2.nt-better": ahead(judged),
        "fig2.nt-better-long": ahead("long"),
    }
    if any(top1.empty for top1 in best.values()):
        return ahead_of_two | dict.fromkeys(("fig2.order", "fig2.spikes"), lacking)
    counted = {
        strategy: pd.Series(spikes(runs, scale), dtype=float) for strategy, runs in rows.items()
    }

    def fewer(seeds):
        standard, *others = (count.loc[list(seeds)].mean() for count in counted.values())
        return float(standard - max(others))

    in_words = ", ".join(f"{strategy} {count.mean():.2f}" for strategy, count in counted.items())
    seeds = best["standard"].index
    return ahead_of_two | {
        "fig2.order": over_seeds(margin, seeds, limits, _vit.in_words(data, part)),
        "fig2.spikes": no_finer_than(  # a spike more or less in one of the runs
            over_seeds(fewer, seeds, limits, f"a run: {in_words}"), 1 / (2 * len(seeds))
        ),
    }


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    sides = {
        ((ours, part), (other, part)): side * SIDES[law]
        for part in PANELS
        for ours, other, side in ORDER
    }
    return _vit.set_apart(recorded, sides, rng)


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    shown = [part for part in PANELS if len(data[data["part"] == part])]
    figure, axes = drawing.panels(len(shown) + 1, width=4.4, height=4.2)
    for panel in axes[0, 1:-1]:
        panel.sharey(axes[0, 0])
    draw_judged(axes[0, -1], measure(data, scale))
    for panel, part in zip(axes[0], shown, strict=False):
        for strategy in STRATEGIES:
            rows = _vit.rows_of(data, strategy, part)
            if rows.empty:
                continue
            lr, decay = rows[["lr", _vit.DECAY]].iloc[0]
            label = powers(f"{strategy} ({lr:.3g}, {decay:.3g})")
            for i, (_, run) in enumerate(rows.groupby("seed")):
                run = run.sort_values("step")
                look = style(strategy) | {"lw": 1.1, "label": label if i == 0 else None}
                _vit.draw_curve(panel, run, scale, **look)
        beside = part == "fresh" and "best" in shown
        panel.set_title(PANELS[part] + ", the seeds that judge" * beside, fontsize=9)
        _vit.label_axes(panel, scale)
    drawing.legend_above(axes[0, 0], 2, title="strategy (lr*, wd*)")  # the same in all panels
    return figure


def draw_judged(panel, measured):
    """Differences of the largest top-1 that claims are about, with their 95 % intervals."""
    from repro.verdicts import drawing

    shown = [claim for claim in DIFFERENCES if math.isfinite(measured[claim].value)]
    found = [(measured[name].value, measured[name].low, measured[name].high) for name in shown]
    places = range(len(shown))
    drawing.bars(panel, places, found, ms=6, color="black")
    panel.axhline(0, ls="--", lw=1, color=drawing.PAPER, label="the paper: above 0")
    panel.set_xticks(places, [DIFFERENCES[claim] for claim in shown], fontsize=8)
    panel.set_xlim(-0.6, len(shown) - 0.4)
    panel.set_ylabel("difference of the largest top-1 (points)")
    panel.set_title("what claims are about", fontsize=9)
    panel.legend(fontsize=8)


FIGURE = Figure(
    title="Figure 2. ViT, the four strategies at their best learning rate and weight decay",
    outcome="Neural-tangent's top-1 is {fig2.nt-better} points above standard's",
    caption=(
        "Top-1 validation accuracy of the ViT against epochs at (lr*, wd*), the optimum of each "
        "strategy's search, one line a seed that the search did not see (Dinan et al., Figure 2). "
        "Colour and line style: the strategy. "
        "Right (ours, at reduced scale): the same (lr*, wd*) for three times the epochs. Last: the "
        "differences that claims are about, with 95 % intervals over seeds."
    ),
    studies=_vit.stages("search", "best", "long", "fresh"),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
