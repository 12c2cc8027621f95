"""Sweeps of the embedding learning rate: optimum per width, slopes, panels of Figures 1 and 3."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from repro.core.study import SCALES
from repro.statistics import estimate, of_jackknife, slope, t_interval
from repro.verdicts.answers import Measurement, Prediction, over_seeds
from repro.verdicts.intervals import in_words, joined, of_estimators
from repro.verdicts.optimum import PAPER_WINDOW, Optimum, grid_optimum, window_optimum
from repro.verdicts.run_sweeps import sweep_of
from widthwise.checks.joint import WITHIN
from widthwise.checks.sweep import Sweeps

LR = "lr.embedding"
WIDTH = "model.width"
# At losses of 4 to 5 nats the paper's 20 % covers the whole grid; see the suite's notes.
WINDOW = dict.fromkeys(SCALES, 0.01) | {"paper": PAPER_WINDOW}
REACHES = (2.0, 1.0, 3.0)  # octaves around the best that a parabola takes
WIDE = 2 * WITHIN  # nats up to which the joint fit looks, in its other reading
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
    of_width = table.assign(setting=setting).groupby(WIDTH)  # which may have seeds of its own
    axes = LR, "train_loss", None, "setting"
    return Sweeps({int(width): sweep_of(rows, *axes) for width, rows in of_width})


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


def centre_slope(sweep: Sweeps, seeds: Sequence[int], window: float) -> float:
    """`slope_of` by the centre of the window on the interpolated curve."""
    found = optima(sweep, seeds, window)
    return slope(np.log2(list(found)), [o.centre for o in found.values()])


def estimates(sweep: Sweeps, window: float) -> dict[str, Measurement]:
    """Estimator, in words -> the slope by it; at paper scale the first is judged."""
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


@dataclass(frozen=True)
class Joint:
    """The best rates of all widths by one fit to their mean curves, and what each seed moves.

    places: width -> log2 of its best rate; NaN where its lowest loss is at an end of its rates.
    left: width -> shape (its seeds, widths), the places without each of its seeds. Seeds of two
    widths are taken as independent, also where they have the same number: on record the best rates
    of one seed at two widths correlate by -0.2 to 0.3.
    """

    places: dict[float, float]
    left: dict[float, np.ndarray]

    def measured(self, statistic: Callable[[np.ndarray], float], detail: str = "") -> Measurement:
        """A statistic of the places of all widths, with Welch's interval."""
        lost = [f"{d:g}" for d, place in self.places.items() if math.isnan(place)]
        lost = lost or [f"{d:g}" for d, rows in self.left.items() if np.isnan(rows).any()]
        problem = f"no lowest point inside the grid at d = {', '.join(lost)}" if lost else ""
        fewest = min(map(len, self.left.values()))
        value = statistic(np.array([*self.places.values()]))
        parts = (np.array([statistic(row) for row in rows]) for rows in self.left.values())
        found = estimate(value, *map(of_jackknife, parts))
        ends = found.low, found.high
        return Measurement(found.value, *ends, fewest, problem, detail, found.freedom)

    def slope(self, last: int = 0) -> Measurement:
        """The slope of the best rate against width. last: over so many of the largest, 0: all."""
        x = np.log2([*self.places])[-last:]
        return self.measured(lambda places: slope(x, places[-last:]))

    def bend(self) -> Measurement:
        """Twice the quadratic coefficient of the best rate in the width, both as log2."""
        x = np.log2([*self.places])
        return self.measured(lambda places: 2 * float(np.polyfit(x, places, 2)[0]))

    def place(self, width: float) -> Measurement:
        """The best rate of a width, log2."""
        at = [*self.places].index(width)
        return self.measured(lambda places: float(places[at]))


def joint(sweep: Sweeps, within: float = WITHIN) -> Joint:
    """The joint fit of a sweep whose widths may have seeds of their own. within: as of
    `Sweeps.optima`."""

    def places(widths: Sweeps) -> list[float]:
        return [*widths.optima("joint", within=within).values()]

    left = {
        width: np.array(
            [places(Sweeps({**sweep, width: each.without(k)})) for k in range(len(each.seeds))]
            if len(each.seeds) > 1
            else [[math.nan] * len(sweep)]
        )
        for width, each in sweep.items()
    }
    return Joint(dict(zip(sweep, places(sweep), strict=True)), left)


def shared(sweep: Sweeps) -> Sweeps:
    """The sweep on the seeds that all widths have: what is paired, and what is drawn."""
    common = [s for s in sweep.seeds if all(s in each.seeds for each in sweep.values())]
    return Sweeps({width: each.of(common) for width, each in sweep.items()})


LAWS = {"muP's 0": 0.0, "the paper's -1/2": -0.5, "SP's -1": -1.0}


def slope_measurement(sweep: Sweeps, window: float) -> Measurement:
    """Slope of the optimum against width, by one fit to all widths; at paper scale, whose curves
    are the paper's, by its rule. Beside it the optima, which law is nearest, whether one power
    fits, the slope over the largest widths, and by other estimators.

    Those judge nothing: of a slope that is put into recorded curves parabolas two and three octaves
    wide and the centre of a window return 0.45 to 1.2, by the grid. How far the fit looks up the
    curves is ours: two readings of it are spanned where they differ by more than an interval.
    """
    paired = shared(sweep)
    if diverged_widths(sweep) or len(sweep) < 2:
        return measured(paired, slope_of, window)
    others = estimates(paired, window)
    by_each = ", ".join(f"by {name} {in_words(value)}" for name, value in others.items())
    fit, wide = joint(sweep), joint(sweep, WIDE)
    found = fit.slope()
    by_rule = window == PAPER_WINDOW
    judged = next(iter(others.values())) if by_rule else found
    places = ", ".join(f"d={d:g}: 2^{place:.2f}" for d, place in fit.places.items())
    nearest = min(LAWS, key=lambda law: abs(LAWS[law] - judged.value))
    bend = f"; bend {in_words(fit.bend())}" if len(sweep) > 2 else ""
    in_paper_window = slope_words(optima(paired, paired.seeds, PAPER_WINDOW))
    detail = (
        f"nearest law: {nearest}; best {places}{bend}; slope over the two largest widths, "
        f"{largest_two(sweep)}, {in_words(fit.slope(2))}; by the joint fit {in_words(found)}, "
        f"{by_each}; {in_paper_window} with the paper's 20 % window on the grid"
    )
    edge = edge_problem(optima(paired, paired.seeds, window)) if by_rule else ""
    judged = replace(judged, problem=joined(judged.problem, edge), detail=detail)
    return judged if by_rule else of_estimators(judged, wide.slope())


def largest_two(sweep: Sweeps) -> str:
    """The two largest widths in words."""
    return "d = " + " to ".join(str(width) for width in sorted(sweep)[-2:])


def draw_losses(axes, sweep: Sweeps, window: float, label) -> None:
    """Training loss against eta_E per width, thick within the window, diverged runs on top.

    The line is the best configuration of the mean over seeds, the band the range over seeds of
    each seed's own best. label: of a width.
    """
    from repro.verdicts.drawing import diverged, log2_axis, ramp

    sweep = shared(sweep)
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
    axes.legend(ncols=2, **ABOVE)


def with_intervals(sweep: Sweeps, window: float, found: dict[float, Optimum]) -> np.ndarray:
    """Optima of the mean curve, as rates, and the ends of their 95 % intervals over seeds.

    Shape (widths, 3); NaN where there is no interval.
    """
    if window != PAPER_WINDOW:
        fit = joint(sweep)
        places = [fit.place(width) for width in found]
        return 2.0 ** np.array([(each.value, each.low, each.high) for each in places])
    none = Optimum(math.nan, math.nan, math.nan, at_edge=False)
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
    from repro.verdicts.drawing import bars, guides, log2_axis

    paired = shared(sweep)
    found = optima(paired, paired.seeds, window)
    if not found:
        return
    d = np.array(list(found))
    each = with_intervals(sweep, window, found)
    words = f"{label}: {judged_slope(sweep, window)}"
    bars(axes, d, each, fmt=marker + "-", ms=5, color=color, label=words)
    if paper is not None:
        if window != PAPER_WINDOW:
            by_rule = optima(paired, paired.seeds, PAPER_WINDOW)
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
        others = {"muP: $d^0$": 0, "SP: $d^{-1}$": -1}
        laws = {name: paper} | {law: power for law, power in others.items() if power != paper}
        guides(axes, d, each[0, 0], laws, name)
    for width, optimum in found.items():
        if optimum.at_edge:
            axes.annotate(
                "edge",
                (width, 2**optimum.log2),
                (0, -14),
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


def draw_estimates(axes, sweep: Sweeps, window: float, paper: float, predicted: Prediction) -> None:
    """The slope by every estimator and over the two largest widths, with 95 % intervals.

    Shaded: the interval that is judged, before rival laws widen it, and what the paper's formula
    allows at these sizes. paper: the slope that the paper prints.
    """
    from repro.verdicts.drawing import PAPER, bars

    if len(sweep) < 2:
        axes.axis("off")
        return
    each = {} if window == PAPER_WINDOW else {"one fit to all widths": joint(sweep).slope()}
    each |= estimates(shared(sweep), window)
    first = next(iter(each))
    each |= {f"the two largest widths,\n{largest_two(sweep)}": joint(sweep).slope(2)}
    judged = slope_measurement(sweep, window)
    names = [name.replace(" of ", "\nof ", 1).replace("parabola ", "parabola\n") for name in each]
    for row, (name, found) in enumerate(each.items()):
        color = "black" if name == first else "0.45"
        bars(axes, [row], [(found.value, found.low, found.high)], across=True, color=color)
        if math.isnan(found.value):
            names[row] += ": none"
    if math.isfinite(judged.high - judged.low):
        span = {"color": "0.9", "lw": 0, "zorder": 0, "label": "before it is widened"}
        axes.axvspan(judged.low, judged.high, **span)
    theorem = {"color": PAPER, "alpha": 0.12, "lw": 0, "zorder": 0}
    name = f"{predicted.formula.partition(' with')[0]} at these sizes"
    axes.axvspan(predicted.low, predicted.high, **theorem, label=name)
    axes.axvline(paper, ls="--", lw=1, color=PAPER, zorder=1, label=f"the paper's {paper:g}")
    axes.axvline(0, ls="--", lw=1, color="0.6", zorder=1, label="muP's 0")
    axes.set_yticks(range(len(each)), names, fontsize=7)
    axes.set_ylim(len(each) - 0.5, -0.5)
    axes.set_xlabel(r"slope of $\log \eta_E^*$ against $\log d$")
    axes.legend(ncols=2, **ABOVE)
