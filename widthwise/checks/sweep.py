"""Final losses over learning rates: where the best rate is, and what another one loses. No torch.

Regret is what retuning would win back, penalty what a tuned model loses against another. Both are
read by one of two estimators, which give two numbers where the best rate lies between those tried:

"parabola"  the best rate is the vertex of a parabola through the points around the lowest mean,
            and the loss at a rate that of a parabola through the points around it
"grid"      the best rate is the one of the lowest mean, and a loss is known where it was tried

Best rates alone, of several widths, have a third, which hangs less on how many points it takes:

"joint"     the mean curves of all widths are fitted together (`widthwise.checks.joint`)
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from widthwise.checks.joint import WITHIN, joint_optima
from widthwise.errors import UserError, did_you_mean
from widthwise.statistics import estimate, jackknife, of_jackknife, slope

By = Literal["parabola", "grid"]
OfWidths = Literal["parabola", "grid", "joint"]
NEAR = 1.0  # octaves to either side of the best rate that a parabola takes
SAME_PLACE = 1e-6  # octaves: rates closer than that are one point of a grid


def parabola_optimum(lr: ArrayLike, loss: ArrayLike, reach: float = 2.0) -> float:
    """log2 of the vertex of a parabola through the points around the best, in log2 lr.

    reach: octaves to either side within which points are taken, so that a finer grid has more of
    them and not a narrower parabola; where the best is near an end of the grid, the octaves that
    it lacks are taken on the other side. A rate of 0 has no log2 and is no point.
    NaN where the curve has no minimum there: the parabola opens downwards, its vertex lies beyond
    these points, or fewer than three losses are finite.
    """
    x, y = _log2(lr), np.asarray(loss, dtype=float)
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    if len(x) < 3:
        return math.nan
    low = np.clip(x[np.argmin(y)] - reach, x.min(), max(x.max() - 2 * reach, x.min()))
    near = (x > low - SAME_PLACE) & (x < low + 2 * reach + SAME_PLACE)
    if near.sum() < 3:
        return math.nan
    x, y = x[near], y[near]
    bend, tilt, _ = np.polyfit(x - x.mean(), y, 2)
    vertex = float(x.mean() - tilt / (2 * bend)) if bend > 0 else math.nan
    return vertex if x.min() <= vertex <= x.max() else math.nan


def _log2(rates: ArrayLike) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log2(np.asarray(rates, dtype=float))


@dataclass(frozen=True, eq=False)
class Sweep:
    """Final losses over learning rates, or over another setting of which octaves matter.

    rates: increasing, shape (n,); 0, of a noise, is no end of the grid and no point of a parabola.
    seeds: of the rows of `losses`. losses: shape (seeds, n), in any unit; infinite where a run
    diverged, or is not there. Where other settings were tried at every rate, (seeds, settings, n):
    the mean over seeds is then that of the best setting.
    Raises UserError where shapes do not fit, rates do not increase, or a loss is NaN.
    """

    rates: np.ndarray
    seeds: tuple[int, ...]
    losses: np.ndarray

    def __post_init__(self) -> None:
        shape = self.losses.shape
        if (shape[0], shape[-1]) != (len(self.seeds), len(self.rates)) or len(shape) > 3:
            raise UserError(
                f"Sweep: losses of shape {shape} for {len(self.seeds)} seeds at {len(self.rates)} "
                "rates: give a row a seed, a column a rate"
            )
        if self.rates[0] < 0 or (self.rates[1:] <= self.rates[:-1]).any():
            raise UserError(f"Sweep: rates {[*self.rates]}: give them increasing, none below 0")
        if np.isnan(self.losses).any():
            raise UserError("Sweep: a loss is NaN: give infinity where a run diverged")

    @cached_property
    def log2(self) -> np.ndarray:
        """log2 of the rates; minus infinity of 0."""
        return _log2(self.rates)

    @property
    def own(self) -> np.ndarray:
        """Losses by seed, shape (seeds, n), each at its own best of the other settings."""
        return self.losses if self.losses.ndim == 2 else self.losses.min(1)

    @property
    def whole(self) -> "Sweep":
        """The same, infinite at every rate at which one of the seeds diverged."""
        diverged = ~np.isfinite(self.own).all(0)
        return Sweep(self.rates, self.seeds, np.where(diverged, np.inf, self.losses))

    def of(self, seeds: Iterable[int]) -> "Sweep":
        """The sweep of some of its seeds; a repeated one counts as often as it occurs."""
        return self._at([self.seeds.index(seed) for seed in seeds])

    def without(self, place: int) -> "Sweep":
        """The sweep without one of its seeds, by its place among them."""
        return self._at([k for k in range(len(self.seeds)) if k != place])

    def _at(self, places: Sequence[int]) -> "Sweep":
        seeds = tuple(self.seeds[k] for k in places)
        return Sweep(self.rates, seeds, self.losses[[*places]])

    def mean(self, seeds: Sequence[int] | None = None) -> np.ndarray:
        """Mean over some seeds, all by default, at every rate; infinite where one diverged."""
        if seeds is not None:
            return self.of(seeds).mean()
        mean = self.losses.mean(0)
        return mean if mean.ndim == 1 else mean.min(0)

    @property
    def best_rate(self) -> float:
        """The rate of the lowest mean among those tried."""
        return float(self.rates[self.mean().argmin()])

    @property
    def at_edge(self) -> bool:
        """Whether that is at an end of those tried, so that the best may lie beyond."""
        best = self.best_rate
        return best > 0 and best in (self.rates[0], self.rates[-1])

    def optimum(self, by: By = "parabola", reach: float = NEAR, inside: bool = True) -> float:
        """log2 of the best rate by the mean over seeds; NaN where none is finite.

        By "grid" it may be an end of the grid, which `at_edge` says. By "parabola" it is then NaN;
        with inside=False, as long as the parabola has no minimum among its points.
        reach: of the parabola, in octaves to either side.
        """
        if _known(by) == "grid":
            mean = self.mean()
            return float(self.log2[mean.argmin()]) if np.isfinite(mean).any() else math.nan
        if inside and self.at_edge:
            return math.nan
        return parabola_optimum(self.rates, self.mean(), reach)

    def vertices(self, reach: float = NEAR) -> np.ndarray:
        """log2 of the best rate by seed, each by a parabola of its own; NaN where one has none."""
        return np.array([parabola_optimum(self.rates, each, reach) for each in self.own])

    def at(self, place: float, by: By = "parabola") -> np.ndarray:
        """Losses by seed at a rate, log2.

        By "grid" NaN unless it was tried. By "parabola" of the one through the rates within an
        octave of the nearest whose neighbours all have a loss and that has the rate among them;
        where there is none, as beside runs that diverged, on a line between the two rates around
        it; NaN beyond what was tried.
        """
        x, losses = self.log2, self.own
        nothing = np.full(len(losses), math.nan)
        if _known(by) == "grid":
            with np.errstate(invalid="ignore"):  # of a rate of 0 there is no distance
                found = np.flatnonzero((x == place) | (np.abs(x - place) < SAME_PLACE))
            return losses[:, found[0]] if len(found) else nothing
        x, losses = x[self.rates > 0], losses[:, self.rates > 0]
        finite = np.isfinite(losses).all(0)
        if not x[0] - SAME_PLACE <= place <= x[-1] + SAME_PLACE:
            return nothing
        for centre in sorted(x, key=lambda each: abs(each - place)):
            near = np.abs(x - centre) < NEAR + SAME_PLACE
            within = x[near].min() - SAME_PLACE <= place <= x[near].max() + SAME_PLACE
            whole = x[0] < centre - NEAR + SAME_PLACE and centre + NEAR < x[-1] + SAME_PLACE
            if within and whole and near.sum() >= 3 and finite[near].all():
                return np.polyfit(x[near] - place, losses[:, near].T, 2)[-1]
        right = int(np.clip(np.searchsorted(x, place - SAME_PLACE), 1, len(x) - 1))
        share = (place - x[right - 1]) / (x[right] - x[right - 1])
        share = 0.0 if share < SAME_PLACE else 1.0 if share > 1 - SAME_PLACE else share
        ends = losses[:, right - 1], losses[:, right]
        if share in (0.0, 1.0):  # on a rate of the grid: the other may have diverged
            return ends[int(share)]
        return (1 - share) * ends[0] + share * ends[1]

    def tuned(self, by: By = "parabola") -> np.ndarray:
        """Losses by seed, each at the rate that is best for the other seeds: at its own best it
        would be too low by chance, and every regret above zero. NaN where they have none."""
        places = [
            self.without(k).optimum(by) for k in range(len(self.seeds)) if k or self.seeds[1:]
        ]
        each = [self.at(place, by)[k] for k, place in enumerate(places)]
        return np.array(each or [math.nan] * len(self.seeds))

    def regret(self, place: float, by: By = "parabola") -> np.ndarray:
        """By seed: how much lower the loss would be than at a rate, log2, had this been tuned."""
        return self.at(place, by) - self.tuned(by)

    def penalty(self, reference: "Sweep", by: By = "parabola") -> np.ndarray:
        """By seed: the tuned loss above that of another sweep of as many seeds, in their order."""
        return self.tuned(by) - reference.tuned(by)

    def interval(self, statistic: Callable[["Sweep"], float]) -> tuple[float, float, float]:
        """A statistic of the sweep with its 95 % interval, by the jackknife over seeds; of one seed
        the ends are NaN."""
        return jackknife(lambda places: statistic(self._at(places)), range(len(self.seeds)))

    def half_step(self) -> float:
        """What half a step of the grid costs at its best rate: by the parabola through that and its
        two neighbours; infinite where neither is finite.

        So far the tuned loss of a finer grid may lie below that of this one, and a regret by "grid"
        is known no better. The points are taken as evenly spaced; at an end of the grid, and
        beside a run that diverged, the parabola is the one that is lowest at the best.
        """
        mean = self.mean()
        best = int(mean.argmin())
        rises = [mean[i] - mean[best] for i in (best - 1, best + 1) if 0 <= i < len(mean)]
        finite = [rise for rise in rises if np.isfinite(rise)]
        return float(np.mean(finite)) / 4 if finite else np.inf


class Sweeps(dict[float, Sweep]):
    """Width -> the sweep of a model."""

    @property
    def seeds(self) -> tuple[int, ...]:
        """Those of the first width."""
        return next(iter(self.values())).seeds

    def optima(
        self, by: OfWidths = "parabola", reach: float = NEAR, within: float = WITHIN
    ) -> dict[float, float]:
        """Width -> log2 of the best rate by the mean over seeds.

        By "parabola" or "grid" as `Sweep.optimum` has it; reach is the parabola's. By "joint" one
        fit to all widths: place, height and curvature of each, one cubic term for all; a point
        counts 1/e so far as `within` above its width's lowest, in the unit of the losses (0.02, of
        nats per token). NaN of a width whose lowest is at an end of its rates, or beside a rate at
        which a run diverged.
        """
        if by != "joint":
            return {width: sweep.optimum(by, reach) for width, sweep in self.items()}
        points = [(each.log2, each.mean(), each.rates > 0) for each in self.values()]
        curves = [(x[shown], y[shown]) for x, y, shown in points]
        return dict(zip(self, joint_optima(curves, within), strict=True))

    def slope(
        self, by: OfWidths = "parabola", reach: float = NEAR, within: float = WITHIN
    ) -> float:
        """Slope of log2 of the best rate against log2 of the width; NaN where one has none."""
        return slope(np.log2([*self]), [*self.optima(by, reach, within).values()])

    def slopes(self, reach: float = NEAR) -> np.ndarray:
        """The same by seed, by `Sweep.vertices`: of widths of as many seeds, the k-th of each."""
        vertices = np.array([sweep.vertices(reach) for sweep in self.values()])
        return np.array([slope(np.log2([*self]), each) for each in vertices.T])

    def interval(
        self, by: OfWidths = "parabola", reach: float = NEAR, within: float = WITHIN
    ) -> tuple[float, float, float]:
        """The slope with its 95 % interval, by the jackknife over seeds. Widths that have the same
        seeds lose one together; those of other seeds are independent, and variances add (Welch).
        The ends are NaN where a width has one seed, or without one of them no best rate."""
        parts = []
        for seeds in dict.fromkeys(sweep.seeds for sweep in self.values()):
            without = [
                Sweeps({w: s.without(k) if s.seeds == seeds else s for w, s in self.items()})
                for k in range(len(seeds) if len(seeds) > 1 else 0)
            ]
            parts.append(of_jackknife(np.array([e.slope(by, reach, within) for e in without])))
        found = estimate(self.slope(by, reach, within), *parts)
        return found.value, found.low, found.high


def _known(by: str) -> str:
    if by == "joint":
        raise UserError("Sweep: by 'joint' is of the best rates of several widths: Sweeps.optima")
    if by not in get_args(By):
        raise UserError(f"Sweep: by {by!r}: {did_you_mean(by, get_args(By))}")
    return by
