"""Figure 1: the searches in learning rate and weight decay, one panel a strategy."""

import numpy as np

from figures.effective_theory import _vit
from figures.effective_theory._vit import DECAY
from repro.claims import Claim, at_most, between, over_seeds
from studies.effective_theory._vit import STRATEGIES, matrix_factor

TITLE = "Figure 1. ViT, searches in learning rate and weight decay"
CAPTION = (
    "Top-1 validation accuracy of the ViT against epochs, over steps of 2 in (lr, wd) around each "
    "strategy's optimum, which is better than its six neighbours (Dinan et al., Figure 1). Beside "
    "it the search: points with their round and largest top-1, and the way of the best."
)
STUDIES = _vit.stages("search")
PRINTED = {"standard": 1e-3, "neural-tangent": 20.0}
CLAIMS = (
    Claim(
        id="fig1.optimum-lr",
        statement="lr* is 1e-3 (standard) and 20 (neural-tangent), lr* wd* = 8e-4 for both",
        source="Figure 1; II.1.E",
        quantity="largest |log2| of a searched value over the printed one",
        expected={"paper": at_most(0.5)},
    ),
    Claim(
        id="fig1.equivalent-lr",
        statement="Both optima give the matrices about one rate: 20 * 768^-3/2 = 9.4e-4, and 1e-3",
        source="II.1.E",
        quantity="lr* n^-3/2 of neural-tangent over lr* of standard",
        expected=dict.fromkeys(_vit.TRAINED, between(0.5, 2)),
    ),
)
SHOWN = 12  # curves in a legend, the best


def reduce(runs):
    return _vit.reduce(runs, "round")


def measure(data, scale):
    pair = ("standard", "neural-tangent")
    problem = _vit.edges(data, *pair)
    searched = {each: _vit.rows_of(data, each, "search") for each in STRATEGIES}
    width = _vit.setting(scale, "model.width")

    def octaves_off(seeds):
        found = []
        for each in pair:
            lr, decay = _vit.optimum(searched[each], seeds)
            found += [lr / PRINTED[each], lr * decay / 8e-4]
        with np.errstate(divide="ignore"):  # the best decay may be 0
            return float(np.abs(np.log2(found)).max())

    def ratio(seeds):
        rates = [_vit.optimum(searched[each], seeds)[0] for each in pair]
        return float(rates[1] * matrix_factor("neural-tangent", width) / rates[0])

    seeds = searched["standard"]["seed"].unique()
    words = []
    for each, rows in searched.items():
        lr, decay = _vit.optimum(rows)
        rate = lr * matrix_factor(each, width)
        words.append(f"{each} lr {lr:.4g}, wd {decay:.4g} (matrices {rate:.3g})")
    detail = "; ".join(words)
    return {
        "fig1.optimum-lr": over_seeds(octaves_off, seeds, problem, detail),
        "fig1.equivalent-lr": over_seeds(ratio, seeds, problem, detail),
    }


def draw(data, scale):
    from repro import drawing

    figure, axes = drawing.panels(4, 2, width=3.6, height=3.6)
    pairs = axes.reshape(-1, 2)
    for (panel, plane), strategy in zip(pairs, STRATEGIES, strict=True):
        rows = _vit.rows_of(data, strategy, "search")
        points = dict(list(rows.groupby(["lr", DECAY])))
        largest = {point: _vit.top1(group).mean() for point, group in points.items()}
        best = _vit.optimum(rows)
        ranked = sorted(points, key=lambda point: (point != best, -largest[point]))
        colors = drawing.sns.color_palette("viridis", max(len(ranked) - 1, 1))
        for rank, (lr, decay) in enumerate(ranked):
            label = f"({lr:.3g}, {decay:.3g}) [{100 * largest[lr, decay]:.1f}]"
            style = {"color": "black", "lw": 1.8, "zorder": 3} if rank == 0 else {}
            style = style or {"color": colors[rank - 1], "lw": 0.9}
            curve = points[lr, decay].groupby("step", as_index=False)["valid_accuracy"].mean()
            accuracy = 100 * curve["valid_accuracy"]
            label = label if rank < SHOWN else None
            panel.plot(_vit.epochs(curve, scale), accuracy, label=label, **style)
        closed = "" if not _vit.edge(data, strategy) else ", search limit"
        panel.set_title(strategy + closed, fontsize=9)
        panel.set_xlabel("epoch")
        panel.set_ylabel("top-1 (%)")
        panel.legend(title="(lr, wd) [largest]", fontsize=5.5, title_fontsize=6)
        draw_path(plane, rows, drawing)
    return figure


def draw_path(plane, rows, drawing):
    """A search in the plane of (lr, wd): its points by round, and the way of the best."""
    positive = rows.loc[rows[DECAY] > 0, DECAY]
    zero = positive.min() / 2  # where no weight decay is drawn

    def place(point):
        return point[0], point[1] or zero

    error = _vit.errors(rows)
    for (lr, decay), group in rows.groupby(["lr", DECAY]):
        number = int(group["round"].iloc[0])
        color = drawing.COLORS[number]
        plane.plot(*place((lr, decay)), "o", ms=4, color=color)
        plane.annotate(
            f"{number}: {100 * (1 - error[lr, decay]):.1f}",
            place((lr, decay)),
            (4, 4),
            textcoords="offset points",
            fontsize=6.5,
            color=color,
        )
    way = [place(point) for point in _vit.path(rows)]
    plane.plot(*zip(*way, strict=True), "-", lw=1, color="0.6", zorder=0)
    plane.plot(*way[-1], "o", ms=10, mfc="none", color="black")
    plane.set_xscale("log", base=2)
    plane.set_yscale("log", base=2)
    plane.margins(0.25)
    decays = sorted(rows[DECAY].unique())
    plane.set_yticks([wd or zero for wd in decays], [f"{wd:.3g}" for wd in decays])
    plane.minorticks_off()
    plane.set_xlabel("lr")
    plane.set_ylabel("wd")
    plane.set_title("the search, round: largest top-1 (%)", fontsize=9)
