"""Sweeps of the embedding learning rate: optimum per width, slopes, panels of Figures 1 and 3."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from repro.judge.claims import Measurement, over_seeds
from repro.judge.intervals import in_words, joined, of_estimators
from repro.judge.optimum import PAPER_WINDOW, Optimum, grid_optimum, window_optimum
from repro.judge.sweep import by_width
from repro.statistics import slope, t_interval
from repro.suite.study import SCALES
from widthwise.checks.sweep import Sweeps

LR = "lr.embedding"
WIDTH = "model.width"
# At losses of 4 to 5 nats the paper's 20 % covers the whole grid; see the suite's notes.
WINDOW = dict.fromkeys(SCALES, 0.01) | {"paper": PAPER_WINDOW}
REACHES = (2.0, 1.0, 3.0)  # octaves around the best that a parabola takes; the first is judged
HEIGHT = 4.0  # inches of a panel with its legend
ABOVE = {  # a legend over its panel
    "loc": "lower center",
    "bbox_to_anchor": (0.5, 1.01),
    "fontsize": 7,
    "columnspacing": 1,
    "handlelength": 1.5,
}


def sweeps(table) -> Sweeps:
    """Width -> the sweep of the final losses of a table. Its other columns are further settings:
    the mean over seeds has them at their best."""
    others = [c for c in table.columns if c not in (LR, WIDTH, "seed", "train_loss")]
    setting = table.groupby(others, dropna=False).ngroup() if others else 0
    return by_width(table.assign(setting=setting), WIDTH, LR, "train_loss", "setting")


def optima(
    sweep: Sweeps, seeds: Sequence[int], window: float, reach: float = 0.0
) -> dict[float, Optimum]:
    """Width -> optimum of the mean curve over the given seeds, where any loss is finite.

    By the paper's rule for the paper's window, to the letter: every run within it counts, of any
    seed; for another by a parabola, which does not depend on the window (NaN where there is none).
    reach: by a parabola of so many octaves to either side, whatever the window; 0: as it is
        judged.
    """
    result = {}
    for width, whole in sweep.items():
        each = whole.of(seeds)
        if not np.isfinite(each.mean()).any():
            continue
        found = window_optimum(each.rates, each.mean(), window)
        if window == PAPER_WINDOW and not reach:
            log2 = grid_optimum(np.tile(each.rates, len(each.own)), each.own.ravel(), window)
        else:
            log2 = each.optimum("parabola", reach or REACHES[0], inside=False)
        result[width] = replace(found, log2=log2)
    return result


def slope_of(sweep: Sweeps, seeds: Sequence[int], window: float, reach: float = 0.0) -> float:
    """Slope of log2 of the optimal eta_E against log2 d. reach: as of `optima`."""
    found = optima(sweep, seeds, window, reach)
    return slope(np.log2(list(found)), [o.log2 for o in found.values()])


def last_slope(sweep: Sweeps, seeds: Sequence[int], window: float) -> float:
    """The same between the two largest widths."""
    found = list(optima(sweep, seeds, window).items())[-2:]
    return slope(np.log2([d for d, _ in found]), [o.log2 for _, o in found])


def centre_slope(sweep: Sweeps, seeds: Sequence[int], window: float) -> float:
    """The same by the centre of the window on the interpolated curve."""
    found = optima(sweep, seeds, window)
    return slope(np.log2(list(found)), [o.centre for o in found.values()])


def estimates(sweep: Sweeps, window: float) -> dict[str, Measurement]:
    """Estimator, in words -> the slope by it; the first is judged."""
    judged = {}
    if window == PAPER_WINDOW:
        judged["the rule of 20 %"] = measured(sweep, slope_of, window)
    parabolas = {
        f"a parabola {2 * reach:g} octaves wide": measured(
            sweep, lambda each, seeds, window, r=reach: slope_of(each, seeds, window, r), window
        )
        for reach in REACHES
    }
    centre = {f"the centre of a window of {window:.0%}": measured(sweep, centre_slope, window)}
    return judged | parabolas | centre


def slope_words(found: dict[float, Optimum]) -> str:
    """`slope -0.39` of optima by width."""
    if len(found) < 2:
        return "no slope"
    value = slope(np.log2(list(found)), [o.log2 for o in found.values()])
    return f"slope {value:z.2f}"


def measured(sweep: Sweeps, statistic, window: float, detail: str = "") -> Measurement:
    """Mean over seeds of a statistic, with its interval and edge warning.

    statistic: of (sweep, seeds, window).
    """
    hopeless = diverged_widths(sweep)
    if hopeless:
        nan = float("nan")
        words = f"a seed diverged at every learning rate at d = {', '.join(hopeless)}"
        return Measurement(nan, nan, nan, len(sweep.seeds), words)
    problem = edge_problem(optima(sweep, sweep.seeds, window))
    found = over_seeds(lambda seeds: statistic(sweep, seeds, window), sweep.seeds, problem, detail)
    if np.isnan(found.value):
        without = "a seed's curve has no minimum inside the grid"
        found = replace(found, problem=joined(problem, without))
    return found


def diverged_widths(sweep: Sweeps) -> list[str]:
    """Widths at which some seed has no finite loss."""
    return [str(width) for width, each in sweep.items() if not np.isfinite(each.own).any(1).all()]


def edge_problem(found: dict[float, Optimum]) -> str:
    """Why optima at a grid's edge are no optima; empty when all are inside."""
    edges = [str(width) for width, optimum in found.items() if optimum.at_edge]
    return f"the optimum's window meets the grid's edge at d = {', '.join(edges)}" if edges else ""


def slope_measurement(sweep: Sweeps, window: float) -> Measurement:
    """Slope of the optimum against width; beside it the optima, the slope by every estimator, of
    the last octave of width, and by the paper's 20 %.

    Estimators may differ by more than seeds do: then the interval spans those of all.
    """
    each = estimates(sweep, window)
    judged = next(iter(each.values()))
    if diverged_widths(sweep):
        return judged
    found = optima(sweep, sweep.seeds, window)
    places = ", ".join(f"d={d}: 2^{o.log2:.2f}" for d, o in found.items())
    by_each = ", ".join(f"by {name} {in_words(value)}" for name, value in each.items())
    in_paper_window = slope_words(optima(sweep, sweep.seeds, PAPER_WINDOW))
    detail = (
        f"optima {places}; slope {by_each}; of the last octave of width, {last_octave(sweep)}, "
        f"{in_words(measured(sweep, last_slope, window))}; {in_paper_window} with the paper's 20 % "
        "window on the grid"
    )
    return of_estimators(replace(judged, detail=detail), *list(each.values())[1:])


def last_octave(sweep: Sweeps) -> str:
    """The two largest widths in words."""
    return "d = " + " to ".join(str(width) for width in sorted(sweep)[-2:])


def draw_losses(axes, sweep: Sweeps, window: float, label) -> None:
    """Training loss against eta_E per width, thick within the window, diverged runs on top.

    The line is the best configuration of the mean over seeds, the band the range over seeds of
    each seed's own best. label: of a width.
    """
    from repro.judge.drawing import diverged, log2_axis, ramp

    found = optima(sweep, sweep.seeds, window)
    thick = {"lw": 4, "alpha": 0.5, "solid_capstyle": "round"}
    colors = ramp(sweep)
    for width, each in sweep.items():
        color = colors[width]
        lr, losses, curve = each.rates, each.own, each.mean()
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
        if width in found:
            near = np.linspace(found[width].low, found[width].high, 50)
            near_best = np.interp(near, np.log2(lr[finite]), curve[finite])
            axes.plot(2**near, near_best, color=color, zorder=1, **thick)
        diverged(axes, lr[~finite], color)
    axes.plot([], [], color="0.5", label=f"thick: within {window:.0%} of the best", **thick)
    axes.set_xscale("log")
    log2_axis(axes.xaxis)
    axes.set_xlabel(r"embedding learning rate $\eta_E$")
    axes.set_ylabel("training loss (nats per token)")
    axes.legend(ncols=3, **ABOVE)


def with_intervals(sweep: Sweeps, window: float, found: dict[float, Optimum]) -> np.ndarray:
    """Optima of the mean curve, as rates, and the ends of their 95 % intervals over seeds.

    Shape (widths, 3); NaN where there is no interval.
    """
    none = Optimum(math.nan, math.nan, math.nan, math.nan, at_edge=False)
    each = [optima(sweep, [seed], window) for seed in sweep.seeds]
    ends = [t_interval([some.get(width, none).log2 for some in each])[1:] for width in found]
    return 2.0 ** np.array([(o.log2, *e) for o, e in zip(found.values(), ends, strict=True)])


def judged_slope(sweep: Sweeps, window: float) -> str:
    """`slope -0.41 [-0.51, -0.31]`, as it is judged; `no slope` where there is none."""
    found = slope_measurement(sweep, window) if len(sweep) > 1 else None
    return "no slope" if found is None or math.isnan(found.value) else f"slope {in_words(found)}"


def draw_optima(
    axes, sweep: Sweeps, window: float, label: str, color, marker="o", paper: float | None = None
) -> None:
    """Optimal eta_E against width, with 95 % intervals and the slope that is judged.

    paper: the slope that the paper prints, in which case there are also lines of it, of muP's and
    of SP's slope, and the optimum by the paper's 20 % where that is another.
    """
    from repro.judge.drawing import bars, guides, log2_axis

    found = optima(sweep, sweep.seeds, window)
    if not found:
        return
    d = np.array(list(found))
    each = with_intervals(sweep, window, found)
    words = f"{label}: {judged_slope(sweep, window)}"
    bars(axes, d, each, fmt=marker + "-", ms=5, color=color, label=words)
    if paper is not None:
        if window != PAPER_WINDOW:
            by_rule = optima(sweep, sweep.seeds, PAPER_WINDOW)
            axes.plot(
                d,
                [2**o.log2 for o in by_rule.values()],
                "D",
                mfc="none",
                ms=4,
                color="0.4",
                label=f"by the paper's {PAPER_WINDOW:.0%} rule: {slope_words(by_rule)}",
            )
        name = f"paper: $d^{{{paper:g}}}$"
        laws = {name: paper, "muP: $d^0$": 0, "SP: $d^{-1}$": -1}
        guides(axes, d, each[0, 0], laws, name)
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
    axes.legend(**ABOVE)


def draw_estimates(axes, sweep: Sweeps, window: float, paper: float) -> None:
    """The slope by every estimator and of the last octave of width, a row each, with 95 % interval.

    Shaded: the interval that is judged. paper: the slope that the paper prints.
    """
    from repro.judge.drawing import PAPER, bars

    if len(sweep) < 2:
        axes.axis("off")
        return
    each = estimates(sweep, window)
    first = next(iter(each))
    each |= {f"last octave of width,\n{last_octave(sweep)}": measured(sweep, last_slope, window)}
    judged = slope_measurement(sweep, window)
    names = [name.replace(" of ", "\nof ", 1).replace("parabola ", "parabola\n") for name in each]
    for row, (name, found) in enumerate(each.items()):
        color = "black" if name == first else "0.45"
        bars(axes, [row], [(found.value, found.low, found.high)], across=True, color=color)
        if math.isnan(found.value):
            names[row] += ": none"
    if math.isfinite(judged.high - judged.low):
        axes.axvspan(judged.low, judged.high, color="0.9", lw=0, zorder=0, label="judged interval")
    axes.axvline(paper, ls="--", lw=1, color=PAPER, zorder=1, label=f"the paper's {paper:g}")
    axes.axvline(0, ls="--", lw=1, color="0.6", zorder=1, label="muP's 0")
    axes.set_yticks(range(len(each)), names, fontsize=7)
    axes.set_ylim(len(each) - 0.5, -0.5)
    axes.set_xlabel(r"slope of $\log \eta_E^*$ against $\log d$")
    axes.legend(ncols=3, **ABOVE)
