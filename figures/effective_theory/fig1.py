"""Figure 1: the searches in learning rate and weight decay, one panel a strategy."""

import math
from fractions import Fraction

import numpy as np

from figures.effective_theory import _vit
from figures.effective_theory._strategies import (
    OCTAVE,
    mark_rates,
    matrices_powers,
    rate_styles,
    ratio_of_rates,
)
from figures.effective_theory._vit import DECAY
from repro.core.study import OVERNIGHT
from repro.verdicts import typeset
from repro.verdicts.answers import (
    ARITHMETIC,
    TOLERANCE,
    TRAINING,
    Test,
    all_scales,
    at_most,
    exact,
    inside,
    over_seeds,
    trained_scales,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs, View
from repro.verdicts.intervals import half_step, no_finer_than
from repro.verdicts.noise import Design
from repro.verdicts.power import Laws
from studies.effective_theory._strategies import COMPARED, matrix_factor

PRINTED = {"standard": 1e-3, "neural-tangent": 20.0}
EPOCH = 312  # iterations
LAST = {"standard": 5 * EPOCH, "neural-tangent": 10}  # in which lr_min takes over
ANSWERS = (
    Test(
        id="fig1.optimum-lr",
        kind=TRAINING,
        statement="printed-rates",
        column="ViT",
        quantity="largest |log2| of a searched value over the printed one",
        expected={"paper": at_most(0.5, TOLERANCE, "half a step of the search, which is octaves")},
        published=True,
    ),
    Test(
        id="fig1.equivalent-lr",
        kind=TRAINING,
        statement="one-rate",
        column="ViT",
        quantity="lr* n^-3/2 of neural-tangent over lr* of standard, each by a parabola through "
        "the best rate and its neighbours at wd*",
        expected=trained_scales(inside(0.5, 2, TOLERANCE, OCTAVE), OVERNIGHT),
    ),
    Test(
        id="fig1.lr-min",
        kind=ARITHMETIC,
        statement="lr-min",
        column="ViT",
        quantity="iterations in which the paper's cosine alone would be below lr_min, over the "
        "printed number: the farther from 1",
        expected=all_scales(
            inside(
                2 / 3,
                1.5,
                TOLERANCE,
                "'about the last' read as half as many again, or two thirds; a round figure",
            )
        ),
    ),
)
# Power of n by which neural-tangent's best rate is above the standard strategy's.
POWERS = {"n^3/2": 1.5, "n": 1.0, "n^1/2": 0.5}
LAWS = {"fig1.equivalent-lr": Laws("n^3/2", ("n", "n^1/2"))}
MARKERS, GREYS = "osD^vPX<>*", ("0.55", "black", "0.3", *["0.4"] * 7)  # of weight decays


def reduce(runs: Runs) -> Data:
    return _vit.reduce(runs, "round")


def measure(data: Data, scale: str) -> Measured:
    problem = _vit.edges(data, *COMPARED)
    searched = _vit.searches(data)
    width = _vit.setting(scale, "model.width")

    # The paper's optima are points of its grid, so these are points of ours.
    def octaves_off(seeds):
        ratios = []
        for strategy in COMPARED:
            lr, decay = _vit.SEARCH.optimum(searched[strategy], seeds).point
            ratios += [lr / PRINTED[strategy], lr * decay / 8e-4]
        with np.errstate(divide="ignore"):  # the best decay may be 0
            return float(np.abs(np.log2(ratios)).max())

    # Rates that are equal may be a step apart on the grid: hence the vertex between its points.
    def octaves(seeds):
        standard, tangent = (
            _vit.SEARCH.vertex(searched[strategy], "lr", seeds) for strategy in COMPARED
        )
        return tangent - standard + math.log2(matrix_factor("neural-tangent", width))

    seeds = searched["standard"]["seed"].unique()
    words = []
    for strategy, rows in searched.items():
        lr, decay = _vit.SEARCH.optimum(rows).point
        rate = lr * matrix_factor(strategy, width)
        words.append(f"{strategy} lr {lr:.4g}, wd {decay:.4g} (matrices {rate:.3g})")
    detail = "; ".join(words)
    return {
        "fig1.optimum-lr": no_finer_than(
            over_seeds(octaves_off, seeds, problem, detail),
            max(half_step(searched[s][axis]) for s in COMPARED for axis in ("lr", DECAY)),
        ),
        "fig1.equivalent-lr": ratio_of_rates(octaves, seeds, problem, detail),
        "fig1.lr-min": at_the_end(),
    }


def at_the_end():
    """In how many of the paper's last iterations the cosine alone would be below lr_min, over what
    is printed: lr (1 - cos(pi x)) / 2 < lr_min, where x is the share of the decay that is left."""
    schedule, steps = (_vit.setting("paper", key) for key in ("schedule", "steps"))
    decay, counts = steps - schedule["warmup"], {}
    for strategy, lr in PRINTED.items():
        counts[strategy] = decay * 2 / math.pi * math.asin((schedule["final_lr"] / lr) ** 0.5)
    ratios = [counts[strategy] / last for strategy, last in LAST.items()]
    words = f"{counts['standard'] / EPOCH:.1f} epochs, {counts['neural-tangent']:.0f} iterations"
    return exact(max(ratios, key=lambda ratio: abs(math.log(ratio))), 2, detail=words)


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Both searches' landscapes as parabolas in log lr, with their optima as far apart as a law has
    them; the weight decays' offsets, the curvatures and the optima's middle are the recorded."""
    axes = ["strategy", "part", "lr", DECAY, "step"]
    design = Design(recorded, ["lowest_error"], axes, log=False)
    last = (recorded["step"] == recorded["step"].max()).to_numpy()
    octaves = np.log2(recorded["lr"].to_numpy())
    bowls = {}
    for strategy in COMPARED:
        rows = np.flatnonzero((recorded["strategy"] == strategy).to_numpy() & last)
        decays = (recorded[DECAY].to_numpy()[rows, None] == recorded[DECAY].unique()).astype(float)
        decays = decays[:, decays.any(axis=0)]
        x = octaves[rows]
        terms = np.column_stack([decays, x, x**2])
        fit, *_ = np.linalg.lstsq(terms, design.mean[rows, 0])
        bend, vertex = fit[-1], -fit[-2] / (2 * fit[-1])
        bowls[strategy] = rows, decays @ fit[:-2] - bend * vertex**2, bend, vertex
    middle = np.mean([vertex for *_, vertex in bowls.values()])
    apart = POWERS[law] * np.log2(_vit.setting(scale, "model.width")) / 2
    for side, (rows, lowest, bend, _) in zip((-1, 1), bowls.values(), strict=True):
        design.mean[rows, 0] = lowest + bend * (octaves[rows] - middle - side * apart) ** 2
    drawn = design.draw(rng)
    return drawn.assign(lowest_error=drawn["lowest_error"].clip(0, 1))


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    searched = _vit.searches(data)
    figure, axes = drawing.panels(len(searched), 2, width=3.1, height=3.4)
    for row in axes:
        for panel in row[1:]:
            panel.sharey(row[0])
    for panel in axes[1, 1:]:
        panel.sharex(axes[1, 0])
    width = _vit.setting(scale, "model.width")
    factors = {name: matrix_factor(name, width) for name in searched}
    powers = {
        name: matrices_powers(rows["lr"].unique(), factors[name]) for name, rows in searched.items()
    }
    colors = drawing.ramp(power for each in powers.values() for power in each.values())
    rates = {}
    for (above, beneath), strategy in zip(axes.T, searched, strict=True):
        rows, factor = searched[strategy], factors[strategy]
        closed = "" if not _vit.edges(data, strategy) else ", search limit"
        above.set_title(strategy + closed, fontsize=9)
        draw_curves(above, rows, scale, powers[strategy], colors)
        draw_search(beneath, rows, factor)
        rates[strategy] = _vit.SEARCH.optimum(rows).point[0] * factor
        power = Fraction(np.log(factor) / np.log(width)).limit_denominator(8)
        beneath.set_xlabel(f"matrices' rate, lr $n^{{{power}}}$" if power else "matrices' rate, lr")
    rivals = {
        law: rates["standard"] * width ** (power - POWERS["n^3/2"])
        for law, power in POWERS.items()
        if law != "n^3/2"
    }
    for panel, strategy in zip(axes[1], PRINTED, strict=False):
        printed = PRINTED[strategy] * matrix_factor(strategy, _vit.setting("paper", "model.width"))
        mark_rates(panel, printed, rivals if strategy == "neural-tangent" else {})
    drawing.log2_axis(axes[1, 0].xaxis)
    for panel in axes[1]:
        drawing.legend_above(panel, 2, title="wd")
    for panel in axes[:, 1:].flat:
        panel.tick_params(labelleft=False)
        panel.set_ylabel("")
    return figure


def draw_curves(panel, rows, scale: str, powers, colors):
    """Top-1 against epochs of every point of a search, a colour a rate, the optimum thick. powers,
    colors: as of `rate_styles`."""
    from repro.verdicts import drawing

    best = _vit.SEARCH.optimum(rows).point
    styles = rate_styles(powers, best[0], colors)
    named = set()
    for point, group in rows.groupby(["lr", DECAY]):
        curve = group.groupby("step", as_index=False)["valid_accuracy"].mean()
        style = styles[point[0]] | ({} if point == best else {"lw": 1, "zorder": 2})
        power = f"$2^{{{powers[point[0]]}}}$"
        label = None if point[0] in named else f"{point[0]:.3g}, {power}"
        named.add(point[0])
        _vit.draw_curve(panel, curve, scale, label=label, **style)
    _vit.label_axes(panel, scale)
    chosen = typeset.powers(f"lr* = {best[0]:.3g}, wd* = {best[1]:.3g}")
    drawing.legend_above(panel, 2, title=f"{chosen}; lr, matrices' rate:")


def draw_search(panel, rows, factor):
    """Largest top-1 of a search against the matrices' rate, a line a weight decay, a small mark a
    seed; a circle around the optimum, grey ones around ties with it."""
    found = _vit.SEARCH.optimum(rows)
    top = {point: _vit.top1(group) for point, group in rows.groupby(["lr", DECAY])}
    decays = sorted(rows[DECAY].unique())
    for decay, marker, gray in zip(decays, MARKERS, GREYS, strict=False):
        line = {lr * factor: values for (lr, wd), values in top.items() if wd == decay}
        for rate, values in line.items():
            panel.plot([rate] * len(values), values, marker, ms=2.5, color=gray)
        means = [values.mean() for values in line.values()]
        style = {"marker": marker, "ms": 5, "mfc": "none", "lw": 1, "color": gray}
        panel.plot([*line], means, **style, label=typeset.powers(f"{decay:.3g}"))
    for point in found.ties:
        color = "black" if point == found.point else "0.6"
        circle = {"ms": 13, "mfc": "none", "color": color}
        panel.plot(point[0] * factor, top[point].mean(), "o", **circle)
    panel.set_xscale("log")
    panel.set_ylabel("largest top-1 (%)")
    tied = len(found.ties) > 1
    panel.set_title("two points equally good" if tied else "best point circled", fontsize=8)


FIGURE = Figure(
    title="Figure 1. ViT, searches in learning rate and weight decay",
    outcome="lr* n^-3/2 of neural-tangent is {fig1.equivalent-lr} times lr* of standard",
    caption=(
        "Above: top-1 validation accuracy of the ViT against epochs, mean over seeds, for every "
        "(lr, wd) that a strategy's search tried in steps of 2 (Dinan et al., Figure 1). Colour: "
        "the matrices' rate; thick: the optimum, no worse than its six neighbours (search limit: "
        "some were not tried); dashed: higher rates. Below: the largest top-1 along the run "
        "against the matrices' rate, a line a weight decay, a small mark a seed. Circle: the "
        "optimum; grey circle: a tie with it; dashed: the paper's, and where rival laws have "
        "neural-tangent's (width and data are not the paper's)."
    ),
    studies=_vit.stages("search"),
    view=View("lr", "valid_accuracy", {"strategy": "standard"}),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
