"""Sweeps over target widths: where the best learning rate or noise of each lies, how it goes with
the width, and what the narrowest's costs at the widest.

A sweep has one axis of values (`lr` or LEVEL) at several widths. A vertex is taken and not the best
value of the grid, which can move by whole steps only: a law's slope would be told from none at no
number of seeds. Every seed has its own: where the mean over seeds says which points a fit takes,
all vertices of a width move with it, which the scatter between seeds does not show.

Only estimators that see a slope are asked: of one put into curves of the recorded shape, on the
grid that they are used on, 0.85 to 1.15 comes back. Parabolas six octaves wide return as little as
a third of it, and of the noise, whose curve is steeper above, none returns it.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from repro.statistics import slope
from repro.verdicts.answers import exact, over_arms, over_seeds
from repro.verdicts.intervals import in_words, joined, of_estimators
from repro.verdicts.optimum import cubic
from repro.verdicts.run_sweeps import by_name, last_step, sweep_of
from widthwise.checks.sweep import SAME_PLACE, Sweeps, parabola_optimum

LEVEL, WIDTH = "start.level", "model.width"
APART = 1.0  # octaves above and below the best noise, for its profile
MOST_LOST = 0.25  # share of a width's seeds without a vertex from which there is no estimate


@dataclass(frozen=True)
class Fit:
    """An estimator of a best value: the lowest point of a polynomial through the points within
    `reach` octaves of the best, or, near an end of the grid, as many octaves on its other side."""

    degree: int
    reach: float

    def __str__(self):
        return f"by a {('parabola', 'cubic')[self.degree - 2]} {2 * self.reach:g} octaves wide"

    def vertex(self, rates, losses):
        """log2 of the lowest point of one curve; NaN where it has none among these points."""
        if self.degree == 2:
            return parabola_optimum(rates, losses, self.reach)
        x, y = np.log2(rates[rates > 0]), losses[rates > 0]
        best = x[np.argmin(y)]
        low = np.clip(best - self.reach, x[0], max(x[-1] - 2 * self.reach, x[0]))
        near = (x > low - SAME_PLACE) & (x < low + 2 * self.reach + SAME_PLACE) & np.isfinite(y)
        if near.sum() <= self.degree:
            return math.nan
        x, y = x[near] - best, y[near]
        cube, bend, tilt, _ = np.polyfit(x, y, self.degree)
        inside = bend**2 - 3 * cube * tilt
        # Of the two places that are level the lower one, in the form that holds of a parabola too.
        place = -tilt / (bend + math.sqrt(inside)) if bend > 0 and inside > 0 else math.nan
        return float(best + place) if x[0] <= place <= x[-1] else math.nan

    def vertices(self, curve):
        """Seed -> its vertex, of the seeds that have one."""
        pairs = zip(curve.seeds, curve.losses, strict=True)
        found = {seed: self.vertex(curve.rates, losses) for seed, losses in pairs}
        return {seed: place for seed, place in found.items() if math.isfinite(place)}

    def mean(self, curve):
        """Mean of the vertices; NaN where there is none."""
        found = [*self.vertices(curve).values()]
        return sum(found) / len(found) if found else math.nan


# Axis -> what is judged, and what its interval spans where they differ.
FITS = {"lr": (Fit(2, 2.0), Fit(2, 1.0)), LEVEL: (Fit(3, 2.5), Fit(3, 1.5))}


def log2_places(values):
    """Value -> its log2, of a grid; zero lies one step below the smallest other value."""
    values = sorted(values)
    positive = [math.log2(v) for v in values if v > 0]
    step = positive[1] - positive[0] if len(positive) > 1 else 1.0
    zeros = [positive[0] - step] * (len(values) - len(positive))
    return dict(zip(values, zeros + positive, strict=True))


def sweeps(rows, axis):
    """Width -> the sweep of final training losses, of its own seeds."""
    ended = last_step(rows)
    return Sweeps({int(n): sweep_of(each, axis, "train_loss") for n, each in ended.groupby(WIDTH)})


def nothing(words="these settings are run at paper scale"):
    """Of what is not run at a scale."""
    return exact(math.nan, 0, words)


def slope_of(rows, axis):
    """Slope of a sweep's best value against the target width by the fit that is judged, with those
    by the others and of the last step of width beside it."""
    if rows.empty:
        return nothing()
    curves = sweeps(rows, axis)
    if len(curves) < 2:
        return exact(math.nan, len(next(iter(curves.values())).seeds), "one width")
    problem = problem_of(curves)
    judged, *others = (measured_slope(curves, fit, problem) for fit in FITS[axis])
    first = FITS[axis][0]
    last = measured_slope(Sweeps([*curves.items()][-2:]), first, problem)
    places = ", ".join(f"2^{first.mean(curve):.2f} at width {n}" for n, curve in curves.items())
    by_fit = ", ".join(
        f"{in_words(found)} {fit}" for fit, found in zip(FITS[axis], (judged, *others), strict=True)
    )
    detail = joined(
        judged.detail,
        f"best: {places}; slope {by_fit}; {in_words(last)} between the two largest widths",
    )
    return of_estimators(replace(judged, detail=detail), *others)


def measured_slope(curves, fit, problem):
    """The slope by one fit, of the means over seeds of every width's vertices: by seed where all
    widths have the same, else with seeds of each width's own. A seed whose curve has no lowest
    point is missing, and the detail says so."""
    vertices = {width: fit.vertices(curve) for width, curve in curves.items()}
    lost = {w: len(curve.seeds) - len(vertices[w]) for w, curve in curves.items()}
    words = by_name(
        {
            f"width {w}": f"{lost[w]} of {len(curve.seeds)} seeds have no lowest point"
            for w, curve in curves.items()
            if lost[w]
        }
    )
    if any(lost[w] > MOST_LOST * len(curve.seeds) for w, curve in curves.items()):
        fewest = min(len(curve.seeds) for curve in curves.values())
        return exact(math.nan, fewest, joined(problem, words))
    x = np.log2([*curves])

    def of(seeds):
        return slope(x, [np.mean([vertices[w][s] for s in its]) for w, its in seeds.items()])

    if len({curve.seeds for curve in curves.values()}) > 1:
        return over_arms(of, vertices, problem, words)
    both = set.intersection(*map(set, vertices.values()))
    return over_seeds(lambda sample: of(dict.fromkeys(curves, sample)), both, problem, words)


def problem_of(curves):
    """Why optima along an axis are none: at the grid's edge, or a seed diverged everywhere."""
    outside, lost_at = [], []
    for width, curve in curves.items():
        if not np.isfinite(curve.mean()).any():
            lost_at.append(str(width))
        elif curve.at_edge:
            outside.append(str(width))
    problems = {"at the grid's edge": outside, "a seed diverged at every value": lost_at}
    return by_name({why: f"width {', '.join(which)}" for why, which in problems.items() if which})


def lost(rows, axis):
    """Loss of the widest at the narrowest's best value above that at its own (`lost_by_seed`)."""
    if rows.empty:
        return nothing()
    curves = sweeps(rows, axis)
    found = lost_by_seed(curves)
    if not found:
        return exact(math.nan, 1, "one seed: none is left to choose on")
    return over_seeds(lambda sample: found[sample[0]], [*found], problem_of(curves))


def lost_by_seed(curves):
    """Seed of the widest -> its loss there at the narrowest's best value, above that at the
    widest's own. Both are what other seeds choose, the half of the widest's and those of the
    narrowest's that do not judge; nothing where there is one seed."""
    narrow, wide = curves[min(curves)], curves[max(curves)]
    found: dict[int, float] = {}
    for half in (0, 1):
        choosing, judging = wide.seeds[1 - half :: 2], wide.seeds[half::2]
        others = [seed for seed in narrow.seeds if seed not in judging]
        if choosing and others:
            carried, own = narrow.of(others).optimum("grid"), wide.of(choosing).optimum("grid")
            judged = wide.of(judging)
            lost = judged.at(carried, "grid") - judged.at(own, "grid")
            found |= dict(zip(judging, lost.tolist(), strict=True))
    return found


def asymmetry(rows):
    """Mean over widths of how much more noise above the best costs than noise below it."""
    if rows.empty:
        return nothing()
    curves = sweeps(rows, LEVEL)
    costs = np.mean([profile(curve) for curve in curves.values()], axis=0)
    by_seed = dict(zip(curves.seeds, costs, strict=True))
    problem = problem_of(curves)
    if np.isnan(costs).any():
        problem = joined(problem, "the best noise is too near an end of the grid, or of one seed")
    return over_seeds(lambda sample: by_seed[sample[0]], [*by_seed], problem)


def profile(curve):
    """Loss APART above the best minus APART below it, by seed; between points of the grid a cubic,
    NaN where there is no best so far inside of it.

    The best is that of the other seeds' mean, by a cubic: a seed's own lowest point is low by its
    noise, which makes both sides look dear, and a parabola's vertex lies below the lowest point
    where the curve rises faster above, which is the question here.
    """
    x, costs = curve.log2[curve.rates > 0], np.full(len(curve.seeds), math.nan)
    for place, losses in enumerate(curve.losses[:, curve.rates > 0]):
        if len(curve.seeds) < 2:
            break
        best = FITS[LEVEL][0].vertex(curve.rates, curve.without(place).mean())
        if x[0] <= best - APART and best + APART <= x[-1]:
            with np.errstate(invalid="ignore"):  # of runs that diverged
                below, above = cubic(x, losses, best + np.array([-APART, APART]))
            costs[place] = above - below
    return costs
