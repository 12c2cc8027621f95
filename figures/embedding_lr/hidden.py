"""Section 2: the best learning rate of the hidden layers beside that of the output."""

import numpy as np

from figures.embedding_lr._sweep import HEIGHT, WIDTH
from repro.verdicts.answers import (
    TOLERANCE,
    TRAINING,
    Measurement,
    Test,
    over_means,
    trained_scales,
    within,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.noise import Design
from repro.verdicts.power import Laws
from repro.verdicts.run_sweeps import gathered, sweep_of
from widthwise.checks.sweep import Sweep

# At paper scale Figure 1's sweep, over all other settings too.
STUDIES = ("embedding_lr/width", "embedding_lr/hidden_and_output")
HIDDEN, OUTPUT = "lr.hidden", "lr.output"  # times 1/d
ANSWERS = (
    Test(
        id="hidden.as-output",
        kind=TRAINING,
        statement="hidden-as-output",
        column="learning rates, one vocabulary, as printed",
        quantity="octaves from the best eta_H to the best eta_W, each at the best of the other, "
        "mean over widths",
        expected=trained_scales(
            within(0, 0.5, TOLERANCE, "half a step of the grid, which is octaves")
        ),
    ),
)
ALIKE, ABOVE, BELOW = "one rate for both", "the output's an octave above", "an octave below"
LAWS = {"hidden.as-output": Laws(ALIKE, (ABOVE, BELOW))}
APART = {ALIKE: 0.0, ABOVE: 1.0, BELOW: -1.0}


def reduce(runs: Runs) -> Data:
    whole = next(table.columns for table in runs.values() if "step" in table)
    return gathered(runs, lambda name: {}, last=True)[whole.drop("step")]


def along(rows: Data, axis: str) -> Sweep:
    """The sweep along the rate of one of the two, all other settings at their best."""
    others = [c for c in rows if c not in (axis, "seed", "train_loss", "vocab_reached")]
    setting = rows.groupby(others, dropna=False).ngroup()
    return sweep_of(rows.assign(setting=setting), axis, "train_loss", None, "setting")


def pairs(data: Data) -> dict[int, tuple[Sweep, Sweep]]:
    """Width -> the sweeps along eta_H and eta_W."""
    return {int(d): (along(rows, HIDDEN), along(rows, OUTPUT)) for d, rows in data.groupby(WIDTH)}


def octaves(hidden: Sweep, output: Sweep, seeds) -> float:
    """From the best eta_H to the best eta_W, by parabolas of three octaves."""
    return output.of(seeds).optimum() - hidden.of(seeds).optimum()


def measure(data: Data, scale: str) -> Measured:
    if (data[HIDDEN] == data[OUTPUT]).all():
        words = "both rates are one setting at this scale"
        return {"hidden.as-output": Measurement(np.nan, np.nan, np.nan, 0, words)}
    swept = pairs(data)
    edges = [
        f"eta_{name} {each.best_rate:g} at d = {d}"
        for d, both in swept.items()
        for name, each in zip("HW", both, strict=True)
        if each.at_edge
    ]
    problem = f"the best lies at an end of what was tried: {', '.join(edges)}" * bool(edges)
    seeds = next(iter(swept.values()))[0].seeds
    words = ", ".join(
        f"d = {d}: eta_H = {2 ** h.optimum():.3g}/d, eta_W = {2 ** w.optimum():.3g}/d"
        for d, (h, w) in swept.items()
    )

    def apart(sample) -> float:
        return float(np.mean([octaves(h, w, sample) for h, w in swept.values()]))

    return {"hidden.as-output": over_means(apart, seeds, problem, words)}


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Every width's losses moved along eta_W to where a law has its best."""
    design = Design(recorded, ["train_loss"], [WIDTH, HIDDEN, OUTPUT])
    log2_rate = np.log2(recorded[OUTPUT].to_numpy())
    swept = pairs(recorded)
    for (width, _), rows in recorded.groupby([WIDTH, HIDDEN]).indices.items():
        hidden, output = swept[int(width)]
        design.move(rows, log2_rate, APART[law] - octaves(hidden, output, hidden.seeds))
    return design.draw(rng, curve=WIDTH)


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    swept = pairs(data)
    figure, axes = drawing.panels(len(swept), height=HEIGHT)
    for axis, (width, (hidden, output)) in zip(axes[0], swept.items(), strict=True):
        rows = data[data[WIDTH] == width]
        mean = rows.groupby([HIDDEN, OUTPUT])["train_loss"].mean().unstack()
        x, y = np.log2(mean.index), np.log2(mean.columns)
        shown = axis.pcolormesh(x, y, mean.to_numpy().T, cmap="viridis_r", shading="nearest")
        figure.colorbar(shown, ax=axis, label="training loss (nats per token)")
        axis.plot(x, x, "--", lw=1, color=drawing.PAPER, label="the paper: one rate")
        best = [each.optimum() for each in (hidden, output)]
        axis.plot(*best, "o", color="black", ms=6, label="best, by parabolas")
        axis.set_xlabel(r"$\log_2\,\eta_H\,d$")
        axis.set_ylabel(r"$\log_2\,\eta_W\,d$")
        axis.set_title(f"d = {width}", fontsize=9, loc="left")
        drawing.legend_above(axis, 2)
    return figure


FIGURE = Figure(
    title="Section 2. The hidden layers' learning rate beside the output's",
    outcome="The output's best rate lies {hidden.as-output} octaves above the hidden layers'",
    caption=(
        "Training loss, mean over seeds, by the hidden layers' rate and the output's, both times "
        "the width; a panel a width. Dashed: both alike. Dot: the best of each, by a parabola "
        "through three octaves of the lowest loss over the other. One vocabulary, no LayerNorm, as "
        "printed (Hayou & Liu, Section 2)."
    ),
    studies=STUDIES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
