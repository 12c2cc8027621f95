"""Figure 1: the searches in learning rate and weight decay, one panel a strategy."""

import numpy as np

from figures.effective_theory import _vit
from figures.effective_theory._vit import DECAY
from repro.judge.claims import (
    TRAINING,
    Claim,
    at_most,
    between,
    no_finer_than,
    over_seeds,
    trained_scales,
)
from repro.judge.noise import Design
from repro.judge.power import Laws
from repro.judge.view import View
from studies.effective_theory._strategies import STRATEGIES, matrix_factor

TITLE = "Figure 1. ViT, searches in learning rate and weight decay"
CAPTION = (
    "Top-1 validation accuracy of the ViT against epochs, mean over seeds, for every (lr, wd) that "
    "a strategy's search tried in steps of 2 (Dinan et al., Figure 1). Right of it the search, "
    "each point with its round and the largest top-1 along the run: colour is lr, marker wd, in "
    "both. Black circle, thick curve: the optimum, no worse than its six neighbours (search limit: "
    "some were not tried); grey circle: a tie with it; grey line: the best from round to round. "
    "wd = 0, below the break of its axis, is not to scale."
)
STUDIES = _vit.stages("search")
PRINTED = {"standard": 1e-3, "neural-tangent": 20.0}
VIEW = View("lr", "valid_accuracy", {"strategy": "standard"})
CLAIMS = (
    Claim(
        id="fig1.optimum-lr",
        kind=TRAINING,
        statement="lr* is 1e-3 (standard) and 20 (neural-tangent), lr* wd* = 8e-4 for both",
        source="Figure 1; II.1.E",
        quantity="largest |log2| of a searched value over the printed one",
        expected={"paper": at_most(0.5)},
        published=True,
    ),
    Claim(
        id="fig1.equivalent-lr",
        kind=TRAINING,
        statement="Both optima give the matrices about one rate: 20 * 768^-3/2 = 9.4e-4, and 1e-3",
        source="II.1.E",
        quantity="lr* n^-3/2 of neural-tangent over lr* of standard",
        expected=trained_scales(between(0.5, 2)),
    ),
)
# Power of n by which neural-tangent's best rate is above the standard strategy's.
POWERS = {"n^3/2": 1.5, "n": 1.0, "n^1/2": 0.5}
LAWS = {"fig1.equivalent-lr": Laws("n^3/2", ("n", "n^1/2"))}
MARKERS = "osD^vPX<>*"  # of weight decays


def reduce(runs):
    return _vit.reduce(runs, "round")


def measure(data, scale):
    pair = ("standard", "neural-tangent")
    problem = _vit.edges(data, *pair)
    searched = {strategy: _vit.rows_of(data, strategy, "search") for strategy in STRATEGIES}
    width = _vit.setting(scale, "model.width")

    def octaves_off(seeds):
        ratios = []
        for strategy in pair:
            lr, decay = _vit.optimum(searched[strategy], seeds).point
            ratios += [lr / PRINTED[strategy], lr * decay / 8e-4]
        with np.errstate(divide="ignore"):  # the best decay may be 0
            return float(np.abs(np.log2(ratios)).max())

    def ratio(seeds):
        rates = [_vit.optimum(searched[strategy], seeds).point[0] for strategy in pair]
        return float(rates[1] * matrix_factor("neural-tangent", width) / rates[0])

    seeds = searched["standard"]["seed"].unique()
    words = []
    for strategy, rows in searched.items():
        lr, decay = _vit.optimum(rows).point
        rate = lr * matrix_factor(strategy, width)
        words.append(f"{strategy} lr {lr:.4g}, wd {decay:.4g} (matrices {rate:.3g})")
    detail = "; ".join(words)
    equivalent = over_seeds(ratio, seeds, problem, detail)
    return {
        "fig1.optimum-lr": over_seeds(octaves_off, seeds, problem, detail),
        # Each optimum is known to half an octave of the grid.
        "fig1.equivalent-lr": no_finer_than(equivalent, equivalent.value / 2, equivalent.value * 2),
    }


def simulate(law, recorded, scale, rng):
    """Both searches' landscapes as parabolas in log lr, with their optima as far apart as a law has
    them; the weight decays' offsets, the curvatures and the optima's middle are the recorded."""
    axes = ["strategy", "part", "lr", DECAY, "step"]
    design = Design(recorded, ["lowest_error"], axes, log=False)
    last = (recorded["step"] == recorded["step"].max()).to_numpy()
    octaves = np.log2(recorded["lr"].to_numpy())
    bowls = {}
    for strategy in ("standard", "neural-tangent"):
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


def draw(data, scale):
    from repro.judge import drawing

    figure, axes = drawing.panels(4, 2, width=3.6, height=3.6)
    pairs = axes.reshape(-1, 2)
    for panel, _ in pairs[1:]:
        panel.sharey(pairs[0, 0])
    for (panel, plane), strategy in zip(pairs, STRATEGIES, strict=True):
        rows = _vit.rows_of(data, strategy, "search")
        points = dict(list(rows.groupby(["lr", DECAY])))
        styles = point_styles(points, drawing.sns)
        best = _vit.optimum(rows).point
        for point, group in points.items():
            curve = group.groupby("step", as_index=False)["valid_accuracy"].mean()
            style = {"lw": 2, "zorder": 3} if point == best else {"lw": 0.9}
            style |= {"ms": 4, "markevery": max(1, len(curve) // 8)}
            _vit.draw_curve(panel, curve, scale, **styles[point], **style)
        closed = "" if not _vit.edge(data, strategy) else ", search limit"
        panel.set_title(strategy + closed, fontsize=9)
        _vit.label_axes(panel, scale)
        draw_search(plane, rows, styles)
    return figure


def point_styles(points, sns):
    """(lr, wd) -> colour by the rate, marker by the decay."""
    rates, decays = (sorted({point[i] for point in points}) for i in (0, 1))
    colors = dict(zip(rates, sns.color_palette("viridis", len(rates)), strict=True))
    return {
        (lr, decay): {"color": colors[lr], "marker": MARKERS[decays.index(decay) % len(MARKERS)]}
        for lr, decay in points
    }


def draw_search(plane, rows, styles):
    """A search in the plane of (lr, wd): its points by round, and the way of the best."""
    rates, decays = (sorted(rows[key].unique()) for key in ("lr", DECAY))
    zero = min(wd for wd in decays if wd > 0) / 2  # where no weight decay is drawn

    def place(point):
        return point[0], point[1] or zero

    for point, group in rows.groupby(["lr", DECAY]):
        plane.plot(*place(point), ms=5, **styles[point])
        words = f"{group['round'].iloc[0]:.0f}: {_vit.top1(group).mean():.2f}"
        offset = {"xytext": (5, 5), "textcoords": "offset points"}
        plane.annotate(words, place(point), fontsize=7, **offset)
    way = _vit.path(rows)
    plane.plot(*zip(*map(place, way), strict=True), "-", lw=1, color="0.6", zorder=0)
    ties = _vit.optimum(rows).ties
    for point in ties:
        color = "black" if point == way[-1] else "0.6"
        plane.plot(*place(point), "o", ms=12, mfc="none", color=color)
    plane.set_xscale("log")
    plane.set_yscale("log")
    plane.set_xlim(rates[0] / 2**0.6, rates[-1] * 2**0.8)
    plane.set_ylim((decays[0] or zero) / 2**0.6, decays[-1] * 2**0.6)
    plane.set_xticks(rates, [f"{lr:.3g}" for lr in rates])
    plane.set_yticks([wd or zero for wd in decays], [f"{wd:.3g}" for wd in decays])
    plane.minorticks_off()
    if decays[0] == 0:
        draw_break(plane, zero * 2**0.45, zero * 2**0.55)
    plane.set_xlabel("lr")
    plane.set_ylabel("wd")
    tie = ", a tie" if len(ties) > 1 else ""
    plane.set_title(f"round: largest top-1 (%){tie}", fontsize=9)


def draw_break(plane, low, high):
    """Cut the y axis between two heights: what is below is not to scale."""
    style = {"transform": plane.get_yaxis_transform(), "clip_on": False}
    plane.plot([0, 0], [low, high], color="white", lw=3, zorder=4, **style)
    slant = {"marker": [(-1, -0.5), (1, 0.5)], "ms": 8, "ls": "none", "color": "black"}
    plane.plot([0, 0], [low, high], zorder=5, **slant, **style)
