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


class Sweep:
    """The final losses of a sweep, as arrays.

    seeds: sorted. losses: width -> array (seeds, settings of the other axes, rates), NaN where
    there is no run. rates: width -> the learning rates of its last axis.
    """

    def __init__(self, table):
        others = [c for c in table.columns if c not in (LR, WIDTH, "seed", "train_loss")]
        setting = np.zeros(len(table), int)
        if others:
            setting = table.groupby(others, dropna=False).ngroup().to_numpy()
        rate, width, loss = (table[column].to_numpy() for column in (LR, WIDTH, "train_loss"))
        seeds, seed = np.unique(table["seed"], return_inverse=True)
        self.seeds = [int(each) for each in seeds]
        self.losses, self.rates = {}, {}
        for each in np.unique(width):
            rows = np.flatnonzero(width == each)
            rates, place = np.unique(rate[rows], return_inverse=True)
            losses = np.full((len(seeds), setting.max() + 1, len(rates)), np.nan)
            losses[seed[rows], setting[rows], place] = loss[rows]
            self.losses[int(each)], self.rates[int(each)] = losses, rates

    def curve(self, width: int, seeds: Sequence[int]) -> np.ndarray:
        """Mean loss over seeds (repeats count) per learning rate, the other axes at their best.

        A diverged run makes its point infinite: it is never averaged away.
        """
        chosen = self.losses[width][[self.seeds.index(seed) for seed in seeds]]
        return np.fmin.reduce(chosen.mean(axis=0), axis=0)


def optima(sweep: Sweep, seeds: Sequence[int], window: float) -> dict[int, Optimum]:
    """Width -> optimum of the mean curve over the given seeds, where any loss is finite.

    By the paper's rule for the paper's window, to the letter: every run within it counts, of any
    seed; for another by a parabola, which does not depend on the window (NaN where there is none).
    """
    result = {}
    for width, rates in sweep.rates.items():
        curve = sweep.curve(width, seeds)
        if not np.isfinite(curve).any():
            continue
        found = window_optimum(rates, curve, window)
        if window == PAPER_WINDOW:
            each = [sweep.curve(width, [seed]) for seed in seeds]
            log2 = grid_optimum(np.tile(rates, len(each)), np.concatenate(each), window)
        else:
            log2 = parabola_optimum(rates, curve)
        result[width] = replace(found, log2=log2)
    return result


def optimum_slope(sweep: Sweep, seeds: Sequence[int], window: float) -> float:
    """Slope of log2 of the optimal eta_E against log2 d."""
    found = optima(sweep, seeds, window)
    return slope(np.log2(list(found)), [o.log2 for o in found.values()])


def centre_slope(sweep: Sweep, seeds: Sequence[int], window: float) -> float:
    """The same by a second estimator, the centre of the window on the interpolated curve."""
    found = optima(sweep, seeds, window)
    return slope(np.log2(list(found)), [o.centre for o in found.values()])


def slope_words(found: dict[int, Optimum]) -> str:
    """`slope -0.39` of optima by width."""
    if len(found) < 2:
        return "no slope"
    value = slope(np.log2(list(found)), [o.log2 for o in found.values()])
    return f"slope {value:z.2f}"


def measured(sweep: Sweep, statistic, window: float, detail: str = "") -> Measurement:
    """Mean over seeds of a statistic of (sweep, seeds), with its interval and edge warning."""
    hopeless = diverged_widths(sweep)
    if hopeless:
        nan = float("nan")
        words = f"a seed diverged at every learning rate at d = {', '.join(hopeless)}"
        return Measurement(nan, nan, nan, len(sweep.seeds), words)
    problem = edge_problem(optima(sweep, sweep.seeds, window))
    found = over_seeds(lambda seed: statistic(sweep, seed), sweep.seeds, problem, detail)
    if np.isnan(found.value):
        without = "a seed's curve has no minimum inside the grid"
        found = replace(found, problem=joined(problem, without))
    return found


def diverged_widths(sweep: Sweep) -> list[str]:
    """Widths at which some seed has no finite loss."""
    return [
        str(width)
        for width in sweep.rates
        if not all(np.isfinite(sweep.curve(width, [seed])).any() for seed in sweep.seeds)
    ]


def edge_problem(found: dict[int, Optimum]) -> str:
    """Why optima at a grid's edge are no optima; empty when all are inside."""
    edges = [str(width) for width, optimum in found.items() if optimum.at_edge]
    return f"the optimum's window meets the grid's edge at d = {', '.join(edges)}" if edges else ""


def slope_measurement(sweep: Sweep, window: float) -> Measurement:
    """Slope of the optimum against width, with the optima and the paper's 20 % value beside it.

    Two estimators may differ by more than seeds do: then the interval spans those of both.
    """
    seeds = sweep.seeds
    if diverged_widths(sweep):
        return measured(sweep, lambda each, s: optimum_slope(each, s, window), window)
    found = optima(sweep, seeds, window)
    words = ", ".join(f"d={d}: 2^{o.log2:.2f}" for d, o in found.items())
    in_paper_window = slope_words(optima(sweep, seeds, PAPER_WINDOW))
    second = measured(sweep, lambda each, s: centre_slope(each, s, window), window)
    detail = (
        f"optima {words}; {in_paper_window} with the paper's 20 % window on the grid, "
        f"{second.value:z.2f} [{second.low:z.2f}, {second.high:z.2f}] by the centre of a window of "
        f"{window:.0%}"
    )
    first = measured(sweep, lambda each, s: optimum_slope(each, s, window), window, detail)
    reach = max(each.high - each.low for each in (first, second)) / 2
    if abs(first.value - second.value) > reach:
        ends = (first.low, second.low, first.high, second.high)
        words = f"{first.detail}; the two differ by more than an interval, which here spans both"
        first = replace(first, low=min(ends), high=max(ends), detail=words)
    return first


def draw_losses(axes, sweep: Sweep, label) -> None:
    """Training loss against eta_E per width, diverged runs on top. label: of a width.

    The line is the best configuration of the mean over seeds, the band the range over seeds of
    each seed's own best.
    """
    from repro.judge.drawing import COLORS, log2_axis

    for color, (width, lr) in zip(COLORS, sweep.rates.items(), strict=False):
        losses = np.array([sweep.curve(width, [seed]) for seed in sweep.seeds])
        curve = sweep.curve(width, sweep.seeds)
        finite = np.isfinite(curve)
        axes.plot(lr[finite], curve[finite], "o-", ms=3, color=color, label=label(width))
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


def interval(sweep: Sweep, window: float, width: int) -> tuple[float, float]:
    """95 % interval of log2 of the optimum at a width, over seeds; NaN where there is none."""
    each = [optima(sweep, [seed], window).get(width) for seed in sweep.seeds]
    _, low, high = t_interval([math.nan if found is None else found.log2 for found in each])
    return low, high


def draw_optima(
    axes, sweep: Sweep, window: float, label: str, color, marker="o", guides=False
) -> None:
    """Optimal eta_E against width; with guides also its window shaded, the optimum by the paper's
    20 % where that is another, and lines of slope 0, -1/2 and -1."""
    from repro.judge.drawing import log2_axis

    found = optima(sweep, sweep.seeds, window)
    if not found:
        return
    d = np.array(list(found))
    centre = 2.0 ** np.array([o.log2 for o in found.values()])
    axes.plot(d, centre, marker + "-", color=color, label=f"{label}: {slope_words(found)}")
    ends = 2.0 ** np.array([interval(sweep, window, width) for width in found]).T
    axes.vlines(d, *ends, color=color, lw=1)
    if guides:
        if window != PAPER_WINDOW:
            paper = optima(sweep, sweep.seeds, PAPER_WINDOW)
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
        axes.plot(d, centre[0] * (d / d[0]) ** -0.5, "--", color="0.3", label="slope -1/2 (rule)")
        axes.plot(d, centre[0] * (d / d[0]) ** -1.0, "-.", color="0.3", label="slope -1 (SP)")
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
