"""Sweeps over target widths: where the best learning rate or noise of each lies, how it goes with
the width, and what the narrowest's costs at the widest.

A sweep has one axis of values (`lr` or LEVEL) at several widths. A vertex is taken and not the best
value of the grid, which can move by whole steps only: a law's slope would be told from none at no
number of seeds. Every seed has its own: where the mean over seeds says which points a parabola
takes, all vertices of a width move with it, which the scatter between seeds does not show.
"""

import math
from dataclasses import replace

import numpy as np

from repro.judge.claims import exact, over_seeds
from repro.judge.intervals import in_words, joined, of_estimators
from repro.judge.optimum import cubic
from repro.judge.sweep import by_name, by_width, last_step, slope_over_seeds
from widthwise.checks.sweep import Sweeps

LEVEL, WIDTH = "start.level", "model.width"
REACHES = (2.0, 1.0, 3.0)  # octaves around the best that a parabola takes; the first is judged
APART = 1.0  # octaves above and below the best noise, for its profile


def log2_places(values):
    """Value -> its log2, of a grid; zero lies one step below the smallest other value."""
    values = sorted(values)
    positive = [math.log2(v) for v in values if v > 0]
    step = positive[1] - positive[0] if len(positive) > 1 else 1.0
    zeros = [positive[0] - step] * (len(values) - len(positive))
    return dict(zip(values, zeros + positive, strict=True))


def sweeps(rows, axis):
    """Width -> the sweep of final training losses."""
    return by_width(last_step(rows), WIDTH, axis, "train_loss")


def nothing():
    """Of settings that are run at paper scale only."""
    return exact(math.nan, 0, "these settings are run at paper scale")


def slope_of(rows, axis):
    """Slope of a sweep's best value against the target width, with that by parabolas of other
    reach and of the last octave of width beside it."""
    if rows.empty:
        return nothing()
    curves = sweeps(rows, axis)
    problem = problem_of(curves)
    judged, *others = (measured_slope(curves, reach, problem) for reach in REACHES)
    if len(curves) < 2:
        return judged
    last = measured_slope(Sweeps([*curves.items()][-2:]), REACHES[0], problem)
    places = ", ".join(
        f"2^{curve.vertices(REACHES[0]).mean():.2f} at width {n}" for n, curve in curves.items()
    )
    by_reach = ", ".join(
        f"{in_words(found)} by a parabola {2 * reach:g} octaves wide"
        for reach, found in zip(REACHES, (judged, *others), strict=True)
    )
    detail = f"best: {places}; slope {by_reach}; {in_words(last)} in the last octave of width"
    return of_estimators(replace(judged, detail=detail), *others)


def measured_slope(curves, reach, problem):
    """Mean over seeds of the slope by parabolas of one reach."""
    if len(curves) < 2:
        return exact(math.nan, len(curves.seeds), joined(problem, "one width"))
    return slope_over_seeds(curves, reach, problem)


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
    """Seed -> its loss at the widest at the narrowest's best value, above that at the widest's own.
    Both are what the other half of the seeds choose, so that nothing is chosen on a seed that
    judges; nothing where there is one seed."""
    narrow, wide = curves[min(curves)], curves[max(curves)]
    found = {}
    for half in (0, 1):
        choosing, judging = curves.seeds[1 - half :: 2], curves.seeds[half::2]
        if choosing:
            carried, own = (curve.of(choosing).optimum("grid") for curve in (narrow, wide))
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
        problem = joined(problem, "a seed's best noise is too near an end of the grid")
    return over_seeds(lambda sample: by_seed[sample[0]], [*by_seed], problem)


def profile(curve):
    """Loss APART above the best minus APART below it, by seed; between points of the grid a cubic,
    NaN where a seed has no best so far inside of it.

    The best is the seed's own lowest point: a parabola's vertex lies below it where the curve rises
    faster above, which is the question here.
    """
    x, curves = curve.log2[curve.rates > 0], curve.losses[:, curve.rates > 0]
    costs = np.full(len(curves), math.nan)
    for seed, losses in enumerate(curves):
        best = x[np.argmin(losses)]
        if x[0] <= best - APART and best + APART <= x[-1]:
            below, above = cubic(x, losses, best + np.array([-APART, APART]))
            costs[seed] = above - below
    return costs
