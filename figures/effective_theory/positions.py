"""Footnote 44 and controls: is the gain the positional embedding's, and by its rate or its size?"""

import math

from figures.effective_theory import _vit
from figures.effective_theory._strategies import AHEAD_TOO, style
from figures.effective_theory._vit import reduce
from repro.core.study import OVERNIGHT, WORKSTATION
from repro.verdicts.answers import (
    CONTROL,
    OURS,
    STATED,
    TRAINING,
    Reading,
    Test,
    above,
    below,
    exact,
    over_means,
    trained_scales,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured
from repro.verdicts.power import SIDES, SIGN
from studies.effective_theory._strategies import COMPARED, STANDARD, TANGENT

PLACES = {  # under what name -> the parts shown
    "as in the\npaper": ("best", "printed"),
    "positions\nn times\nfaster": ("positions_raised",),
    "positions\nas the\nmatrices": ("positions_lowered",),
    "head's\nbias 0": ("bias_off",),
    "head\nmatched": ("head",),
    "positions\nof order\none": ("order_one",),
    "order one,\nhead\nmatched": ("head_order_one",),
    "order one,\n3x": ("order_one_long",),
}
PARTS = [part for parts in PLACES.values() for part in parts]
TOP1 = "largest top-1 in percentage points, "
LARGE = "both with positions of standard deviation 1 and tuned anew"
MATCHED = "its head's rate over its matrices' as at the paper's n / n_out"


def control(name, words, quantity, *scales):
    """A control that is judged: the neural-tangent strategy is ahead all the same."""
    return Test(
        id=f"positions.{name}",
        kind=CONTROL,
        statement="nt-better-beside",
        column=f"ViT, {words}",
        quantity=f"{TOP1}neural-tangent minus standard, {quantity}",
        expected=dict.fromkeys(scales, above(0, OURS, AHEAD_TOO)),
    )


ANSWERS = (
    Test(
        id="positions.raised",
        kind=TRAINING,
        statement="positions",
        column="ViT",
        quantity=TOP1 + "standard with positions n times faster minus standard",
        expected=trained_scales(above(0)),
    ),
    Test(
        id="positions.lowered",
        kind=TRAINING,
        statement="positions",
        column="ViT",
        quantity=TOP1 + "neural-tangent with positions as its matrices, minus without",
        expected=trained_scales(
            below(0, STATED, "the benefits 'arise from' these rates: without them some must go")
        ),
    ),
    Test(
        id="positions.bias-off",
        kind=TRAINING,
        statement="nt-better",
        column="ViT, the head's biases off",
        quantity=TOP1 + "neural-tangent minus standard, both with a head's bias of 0 throughout",
        expected=trained_scales(above(0)),
    ),
    Reading(
        id="positions.share",
        words="gain of standard by faster positions over the gain of neural-tangent",
        beside="about 1 if it is all of it",
    ),
    control("head", "the head as in the paper", MATCHED, OVERNIGHT, WORKSTATION),
    control("order-one", "positions of order one on both sides", LARGE, "reduced", "paper"),
    control("head-order-one", "both", f"{MATCHED}; {LARGE}", OVERNIGHT, WORKSTATION),
    Reading(
        id="positions.order-one-long",
        words=f"{TOP1}neural-tangent minus standard, {LARGE} by the short runs, for three times "
        "the epochs",
        beside="above 0 if length decides",
    ),
    Reading(
        id="positions.size",
        words="gain of standard by positions of standard deviation 1 over the gain of "
        "neural-tangent",
        beside="0 if it is the rate, about 1 if size does it",
    ),
)
# Test -> (label, what is compared: (strategy, part), minus another).
COMPARISONS = {
    "positions.raised": (
        "standard:\npositions\nfaster",
        (STANDARD, "positions_raised"),
        (STANDARD, "printed"),
    ),
    "positions.lowered": (
        "neural-tangent:\npositions\nslower",
        (TANGENT, "positions_lowered"),
        (TANGENT, "printed"),
    ),
    "positions.bias-off": ("head's\nbias 0", (TANGENT, "bias_off"), (STANDARD, "bias_off")),
    "positions.head": ("head\nmatched", (TANGENT, "head"), (STANDARD, "printed")),
    "positions.order-one": (
        "positions\nof order\none",
        (TANGENT, "order_one"),
        (STANDARD, "order_one"),
    ),
    "positions.head-order-one": (
        "order one,\nhead\nmatched",
        (TANGENT, "head_order_one"),
        (STANDARD, "order_one"),
    ),
    "positions.order-one-long": (
        "order one,\n3x",
        (TANGENT, "order_one_long"),
        (STANDARD, "order_one_long"),
    ),
}
# Test -> the part whose gain over standard is set over neural-tangent's.
SHARES = {"positions.share": "positions_raised", "positions.size": "order_one"}
LAWS = {test.id: SIGN for test in ANSWERS if isinstance(test, Test)}


def arm_or_best(seeds, arm, beside):
    """The arm itself; `best` in the place of `printed` where that lacks seeds of the arm it is
    compared with. seeds: arm -> its seeds."""
    strategy, part = arm
    its, wanted = (seeds.get(each, set()) for each in (arm, beside))
    return (strategy, "best") if part == "printed" and not (its and wanted <= its) else arm


def seeds_of(data: Data):
    """Arm -> its seeds."""
    return {arm: set(rows["seed"]) for arm, rows in data.groupby(["strategy", "part"])}


def measure(data: Data, scale: str) -> Measured:
    top1 = {arm: _vit.top1(rows) for arm, rows in data.groupby(["strategy", "part"])}
    seeds = seeds_of(data)
    problems = {
        part: _vit.edges(data, *COMPARED, part=part) for part in ("search", "order_one_search")
    }

    def problem(part):
        return problems["order_one_search" if "order_one" in part else "search"]

    measured = {}
    for claim, (_, *compared) in COMPARISONS.items():
        pair = [arm_or_best(seeds, arm, compared[0]) for arm in compared]
        if all(arm in top1 for arm in pair):
            words = "; ".join(_vit.arm_in_words(data, *arm) for arm in pair)
            one, other = (top1[arm] for arm in pair)
            measured[claim] = _vit.difference(one, other, problem(pair[0][1]), words)
        else:
            measured[claim] = exact(math.nan, 0, "no such runs at this scale")
    for claim, part in SHARES.items():
        three = ((STANDARD, "printed"), (STANDARD, part), (TANGENT, "printed"))
        arms = [arm_or_best(seeds, arm, three[1]) for arm in three]
        if not all(arm in top1 for arm in arms):
            measured[claim] = exact(math.nan, 0, "no such runs at this scale")
            continue

        # A ratio of two means: of a single seed the gain may be about zero.
        def share(seeds, three=tuple(top1[arm] for arm in arms)):
            means = [by_seed.loc[list(seeds)].mean() for by_seed in three]
            gain = means[2] - means[0]
            return float((means[1] - means[0]) / gain) if gain else math.nan

        words = "; ".join(_vit.arm_in_words(data, *arm) for arm in arms)
        measured[claim] = over_means(share, top1[arms[0]].index, problem(part), words)
    return measured


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Each difference as large as recorded, on the paper's side, none, or on the other side."""
    seeds = seeds_of(recorded)
    sides = {
        tuple(arm_or_best(seeds, arm, pair[0]) for arm in pair): (
            SIDES[law] if claim == "positions.lowered" else -SIDES[law]
        )
        for claim, (_, *pair) in COMPARISONS.items()
    }
    return _vit.set_apart(recorded, sides, rng)


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, axes = drawing.panels(1, 2, width=8.0, height=3.0)
    names = draw_runs(axes[0, 0], data, PLACES)
    panel = axes[1, 0]
    found = {claim: measured for claim, measured in measure(data, scale).items() if measured.n}
    shown = [claim for claim in COMPARISONS if claim in found]
    bars = [(found[name].value, found[name].low, found[name].high) for name in shown]
    # Below the place of the runs that something is taken from.
    part = {name: COMPARISONS[name][1][1] for name in shown}
    at = [next(i for i, place in enumerate(names) if part[n] in PLACES[place]) for n in shown]
    drawing.bars(panel, at, bars, fmt="s", color="black")
    panel.axhline(0, color="0.6", lw=0.8)
    panel.set_xticks(at, [COMPARISONS[name][0] for name in shown], fontsize=7)
    panel.set_xlim(axes[0, 0].get_xlim())
    panel.set_ylabel("difference (points)")
    panel.set_title(
        "positions faster or slower: that minus the same strategy as in the paper; all others: "
        "neural-tangent minus standard",
        fontsize=8,
    )
    return figure


def small(data: Data, scale: str) -> Drawn:
    """The runs as in the paper, and with faster or slower positions."""
    from repro.verdicts import drawing

    figure, ((panel,),) = drawing.panels(1, width=drawing.SMALL_INCHES, height=2.5)
    draw_runs(panel, data, dict([*PLACES.items()][:3]))
    return figure


def draw_runs(panel, data: Data, places):
    """A column of circles for every strategy at every place; returns those that are there."""
    names: list[str] = []
    for name, parts in places.items():
        shown = False
        for strategy, shift in zip(COMPARED, (-0.2, 0.2), strict=True):
            here = (data["strategy"] == strategy) & data["part"].isin(parts)
            if not here.any():
                continue
            at, color, shown = len(names) + shift, style(strategy)["color"], True
            largest = _vit.top1(data[here])
            panel.plot([at] * len(largest), largest, "o", color=color, mfc="none", ms=5)
            panel.plot([at - 0.15, at + 0.15], [largest.mean()] * 2, color=color, lw=2)
        names += [name] if shown else []
    for strategy in COMPARED:
        panel.plot([], [], lw=2, color=style(strategy)["color"], label=strategy)
    panel.set_xticks(range(len(names)), names, fontsize=7)
    panel.set_xlim(-0.6, len(names) - 0.4)
    panel.set_ylabel("largest top-1 (%)")
    panel.plot([], [], "o", color="0.4", mfc="none", ms=5, label="a seed")
    panel.legend(fontsize=7)
    return names


FIGURE = Figure(
    title="Footnote 44. ViT, what makes the neural-tangent strategy better",
    outcome=(
        "Faster positions change standard's top-1 by {positions.raised} points, slower ones "
        "neural-tangent's by {positions.lowered}; from large positions on, neural-tangent leads "
        "by {positions.order-one}"
    ),
    caption=(
        "Above, largest top-1 of the ViT along the run: as in the paper, and with one thing "
        "changed (Dinan et al., footnotes 39 and 44; ours: a head's rate as at the paper's n / "
        "n_out, and positions that begin with standard deviation 1, at the optimum of a search of "
        "their own; right: for three times the epochs). Circles: seeds; line: their mean; colour: "
        "the strategy. Below, what is judged: differences, mean over seeds that both have, with 95 "
        "% intervals."
    ),
    studies=_vit.stages("search", "order_one_search", *PARTS, of=COMPARED),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    small=small,
    simulate=simulate,
)
