"""Sweeps of the embedding learning rate: optimum per width, slopes, panels of Figures 1 and 3."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from repro.judge.claims import Measurement, over_seeds
from repro.judge.optimum import (
    PAPER_WINDOW,
    Optimum,
    grid_optimum,
    parabola_optimum,
    window_optimum,
)
from repro.judge.tables import joined
from repro.statistics import slope, t_interval

LR = "lr.embedding"
WIDTH = "model.width"
# At losses of 4 to 5 nats the paper's 20 % covers the whole grid; see the suite's notes.
WINDOW = {"smoke": 0.01, "reduced": 0.01, "paper": PAPER_WINDOW}
HEIGHT = 4.0  # inches of a panel with its legend
ABOVE = {  # a legend over its panel
    "loc": "lower center",
    "bbox_to_anchor": (0.5, 1.01),
    "fontsize": 7,
    "columnspacing": 1,
    "handlelength": 1.5,
}


def mean_curve(table, seeds: Sequence[int]):
    """Mean loss over seeds (repeats count) per learning rate, the other axes at their best.

    A diverged run makes its point infinite: it is never averaged away.
    """
    others = [c for c in table.columns if c not in (LR, "seed", "train_loss")]
    weights = {seed: list(seeds).count(seed) for seed in set(seeds)}
    chosen = table[table["seed"].isin(list(weights))]
    weighted = chosen.assign(
        total=chosen["train_loss"] * chosen["seed"].map(weights),
        weight=chosen["seed"].map(weights),
    )
    sums = weighted.groupby([LR, *others], dropna=False)[["total", "weight"]].sum()
    return (sums["total"] / sums["weight"]).groupby(level=0).min().sort_index()


def optima(table, seeds: Sequence[int], window: float) -> dict[int, Optimum]:
    """Width -> optimum of the mean curve over the given seeds, where any loss is finite.

    By the paper's rule for the paper's window, to the letter; for another by a parabola, which does
    not depend on the window (NaN where there is none).
    """
    result = {}
    for width, part in table.groupby(WIDTH):
        curve = mean_curve(part, seeds)
        if not np.isfinite(curve).any():
            continue
        found = window_optimum(curve.index, curve.to_numpy(), window)
        if window == PAPER_WINDOW:
            log2 = grid_optimum(curve.index, curve.to_numpy(), window)
        else:
            log2 = parabola_optimum(curve.index, curve.to_numpy())
        result[int(width)] = replace(found, log2=log2)
    return result


def optimum_slope(table, seeds: Sequence[int], window: float) -> float:
    """Slope of log2 of the optimal eta_E against log2 d."""
    found = optima(table, seeds, window)
    return slope(np.log2(list(found)), [o.log2 for o in found.values()])


def centre_slope(table, seeds: Sequence[int], window: float) -> float:
    """The same by a second estimator, the centre of the window on the interpolated curve."""
    found = optima(table, seeds, window)
    return slope(np.log2(list(found)), [o.centre for o in found.values()])


def slope_words(found: dict[int, Optimum]) -> str:
    """`slope -0.39` of optima by width."""
    if len(found) < 2:
        return "no slope"
    value = slope(np.log2(list(found)), [o.log2 for o in found.values()])
    return f"slope {value:z.2f}"


def measured(table, statistic, window: float, detail: str = "") -> Measurement:
    """Mean over seeds of a statistic of (table, seeds), with its interval and edge warning."""
    seeds = sorted(int(s) for s in table["seed"].unique())
    hopeless = diverged_widths(table, seeds)
    if hopeless:
        nan = float("nan")
        words = f"a seed diverged at every learning rate at d = {', '.join(hopeless)}"
        return Measurement(nan, nan, nan, len(seeds), words)
    problem = edge_problem(optima(table, seeds, window))
    found = over_seeds(lambda seed: statistic(table, seed), seeds, problem, detail)
    if np.isnan(found.value):
        without = "a seed's curve has no minimum inside the grid"
        found = replace(found, problem=joined(problem, without))
    return found


def diverged_widths(table, seeds) -> list[str]:
    """Widths at which some seed has no finite loss."""
    return [
        str(width)
        for width, part in table.groupby(WIDTH)
        if not all(np.isfinite(mean_curve(part, [seed])).any() for seed in seeds)
    ]


def edge_problem(found: dict[int, Optimum]) -> str:
    """Why optima at a grid's edge are no optima; empty when all are inside."""
    edges = [str(width) for width, optimum in found.items() if optimum.at_edge]
    return f"the optimum's window meets the grid's edge at d = {', '.join(edges)}" if edges else ""


def slope_measurement(table, window: float) -> Measurement:
    """Slope of the optimum against width, with the optima and the paper's 20 % value beside it."""
    seeds = sorted(int(s) for s in table["seed"].unique())
    if diverged_widths(table, seeds):
        return measured(table, optimum_slope, window)
    found = optima(table, seeds, window)
    words = ", ".join(f"d={d}: 2^{o.log2:.2f}" for d, o in found.items())
    in_paper_window = slope_words(optima(table, seeds, PAPER_WINDOW))
    second = measured(table, lambda t, s: centre_slope(t, s, window), window)
    detail = (
        f"optima {words}; {in_paper_window} with the paper's 20 % window on the grid, "
        f"{second.value:z.2f} [{second.low:z.2f}, {second.high:z.2f}] by the centre of a window of "
        f"{window:.0%}"
    )
    first = measured(table, lambda t, s: optimum_slope(t, s, window), window, detail)
    if abs(first.value - second.value) > (first.high - first.low) / 2:
        words = f"two estimators disagree: {first.value:z.2f} and {second.value:z.2f}"
        first = replace(first, problem=joined(first.problem, words))
    return first


def draw_losses(axes, table, label) -> None:
    """Training loss against eta_E per width, diverged runs on top.

    The line is the best configuration of the mean over seeds, the band the range over seeds of
    each seed's own best.
    """
    from repro.judge.drawing import COLORS, log2_axis

    seeds = sorted(table["seed"].unique())
    for color, (width, part) in zip(COLORS, table.groupby(WIDTH), strict=False):
        per_seed = [mean_curve(part, [seed]) for seed in seeds]
        losses = np.array([c.to_numpy() for c in per_seed])
        lr = per_seed[0].index.to_numpy()
        curve = mean_curve(part, seeds).to_numpy()
        finite = np.isfinite(curve)
        axes.plot(lr[finite], curve[finite], "o-", ms=3, color=color, label=label(width, part))
        axes.fill_between(
            lr[finite],
            losses[:, finite].min(0),
            losses[:, finite].max(0),
            color=color,
            alpha=0.2,
            lw=0,
        )
        for x in lr[~finite]:
            axes.plot(x, 0.97, "x", color=color, transform=axes.get_xaxis_transform())
    axes.set_xscale("log")
    log2_axis(axes.xaxis)
    axes.set_xlabel(r"embedding learning rate $\eta_E$")
    axes.set_ylabel("training loss (nats per token)")
    axes.legend(ncols=3, **ABOVE)


def interval(table, seeds, window: float, width: int) -> tuple[float, float]:
    """95 % interval of log2 of the optimum at a width, over seeds; NaN where there is none."""
    each = [optima(table, [seed], window).get(width) for seed in seeds]
    _, low, high = t_interval([math.nan if found is None else found.log2 for found in each])
    return low, high


def draw_optima(axes, table, window: float, label: str, color, marker="o", guides=False) -> None:
    """Optimal eta_E against width; with guides also its window shaded, the optimum by the paper's
    20 % where that is another, and lines of slope 0 and -1/2."""
    from repro.judge.drawing import log2_axis

    seeds = sorted(table["seed"].unique())
    found = optima(table, seeds, window)
    if not found:
        return
    d = np.array(list(found))
    centre = 2.0 ** np.array([o.log2 for o in found.values()])
    axes.plot(d, centre, marker + "-", color=color, label=f"{label}: {slope_words(found)}")
    ends = 2.0 ** np.array([interval(table, seeds, window, width) for width in found]).T
    axes.vlines(d, *ends, color=color, lw=1)
    if guides:
        if window != PAPER_WINDOW:
            paper = optima(table, seeds, PAPER_WINDOW)
            axes.plot(
                d,
                [2**o.log2 for o in paper.values()],
                "x",
                color="0.3",
                label=f"by the paper's {PAPER_WINDOW:.0%}: {slope_words(paper)}",
            )
        axes.fill_between(
            d,
            [2**o.low for o in found.values()],
            [2**o.high for o in found.values()],
            color=color,
            alpha=0.15,
            lw=0,
            label=f"loss within {window:.0%} of the best",
        )
        axes.plot(d, centre[0] * np.ones(len(d)), ":", color="0.3", label="slope 0 (muP)")
        axes.plot(d, centre[0] * (d / d[0]) ** -0.5, "--", color="0.3", label="slope -1/2")
    for width, optimum in found.items():
        if optimum.at_edge:
            axes.annotate(
                "edge",
                (width, 2**optimum.log2),
                (0, 5),
                textcoords="offset points",
                ha="center",
                fontsize=7,
            )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    log2_axis(axes.xaxis)
    log2_axis(axes.yaxis)
    axes.set_xlabel("width $d$")
    axes.set_ylabel(r"optimum $\eta_E^*$")
    axes.legend(ncols=2, **ABOVE)
