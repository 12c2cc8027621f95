"""Tables like a recorded one, from other seeds and under another law. For `simulate` of a figure.

A recorded table has a row for each point of a design (a width and a learning rate, a stage and a
step) and seed. The mean over seeds of a point is what a law says; how far the seeds lie from it is
noise, which a new draw has in the same size. Seeds shift whole curves: the deviations of new seeds
are random mixtures of the recorded seeds', so that points of a curve, and arms that share a seed,
move together as they did.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from repro.verdicts.optimum import cubic, through


class Design:
    """A recorded table taken apart: change `mean` to what a law says, then `draw`.

    values: columns that are random, positive where `log`, which then are taken in logarithms; a
    value that is not finite stays as it is. axes: the columns that make a point. mean: array
    (rows, values) of the means over seeds. A point with one seed has no noise to draw.
    """

    def __init__(self, recorded, values: Sequence[str], axes: Sequence[str], log: bool = True):
        self.recorded, self.values, self.log = recorded, list(values), log
        self._point = recorded.groupby(list(axes), dropna=False, sort=False).ngroup().to_numpy()
        seeds, self._seed = np.unique(recorded["seed"], return_inverse=True)
        self._found = recorded[self.values].to_numpy(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.log(self._found) if log else self._found
        count = np.bincount(self._point)
        sums = np.zeros((len(count), len(self.values)))
        np.add.at(sums, self._point, found)
        self.mean = (sums / count[:, None])[self._point]
        self._fixed = ~np.isfinite(self.mean)
        deviation = np.where(self._fixed, 0.0, found - np.where(self._fixed, 0.0, self.mean))
        # Divided so that a mixture with standard normal weights has the unbiased variance.
        scale = np.sqrt(np.maximum(count - 1, 1))[self._point]
        self._deviations = np.zeros((len(seeds), len(count), len(self.values)))
        self._deviations[self._seed, self._point] = deviation / scale[:, None]

    def rows(self, **wanted) -> np.ndarray:
        """Positions of the rows that have these values, by column."""
        chosen = np.ones(len(self.recorded), bool)
        for column, value in wanted.items():
            chosen &= (self.recorded[column] == value).to_numpy()
        return np.flatnonzero(chosen)

    def move(self, rows: np.ndarray, x: np.ndarray, by: float) -> None:
        """Move one curve, the means of these rows, along x: `moved`.

        rows: their positions, each place once a seed. x: place of every row of the table.
        """
        places, first = np.unique(x[rows], return_index=True)
        back = np.searchsorted(places, x[rows])
        for value in range(len(self.values)):
            self.mean[rows, value] = moved(places, self.mean[rows[first], value], by)[back]

    def set_apart(self, ours: np.ndarray, other: np.ndarray, side: int | np.ndarray) -> None:
        """Put one curve below another (side 1), upon it (0) or above it (-1), by the recorded
        difference at each step; how they lie at the last step says which way that counts.

        ours, other: positions of their rows; they have the same steps. side: or one a value. A
        curve of which a run diverged stays where it is.
        """
        step = self.recorded["step"].to_numpy()
        steps, first = np.unique(step[other], return_index=True)
        beside = self.mean[other[first]][np.searchsorted(steps, step[ours])]
        with np.errstate(invalid="ignore"):
            gain = beside - self.mean[ours]
            last = gain[step[ours] == steps[-1]][0]
            self.mean[ours] = beside - side * np.sign(last) * gain

    def draw(self, rng: np.random.Generator, curve: str = ""):
        """A table of the same rows, with new seeds' values.

        curve: a column of the axes. At each of its values a new seed then takes the deviations of
        one recorded seed, as they are, and each value's by itself: for a statistic of a curve's
        shape, such as its optimum. Seeds whose runs hardly learned at some settings lie far off on
        one side there; mixtures put them on the other as often, and curves lose their minimum.
        """
        seeds = len(self._deviations)
        if curve:
            values, value = np.unique(self.recorded[curve], return_inverse=True)
            drawn = rng.integers(seeds, size=(seeds, len(values)))
            size = np.ones(len(values))
            for place in range(len(values)):  # widths may have seeds of their own
                having = np.unique(self._seed[value == place])
                drawn[:, place] = having[drawn[:, place] * len(having) // seeds]
                size[place] = len(having)
            # In place of the n - 1 that mixtures are divided by: the variance is n / (n - 1) times
            # that of a draw from n deviations.
            taken = drawn[self._seed, value]
            noise = np.sqrt(size)[value][:, None] * self._deviations[taken, self._point]
        else:
            weights = rng.standard_normal((seeds, seeds))
            noise = np.einsum("ij,jpv->ipv", weights, self._deviations)[self._seed, self._point]
        new = np.where(self._fixed, 0.0, self.mean) + noise
        new = np.where(self._fixed, self._found, np.exp(new) if self.log else new)
        return self.recorded.assign(**dict(zip(self.values, new.T, strict=True)))


def moved(x: ArrayLike, y: ArrayLike, by: float) -> np.ndarray:
    """A curve moved along x, read at the same x: y(x - by).

    Between points a cubic through the nearest four, beyond the ends a line through the outer two;
    points that are not finite are left as they are and out of this.
    """
    places, new = np.asarray(x, float), np.array(y, float)
    order = np.argsort(places)
    order = order[np.isfinite(new[order])]
    knots, heights = places[order], new[order]
    if len(order) < 2 or by == 0:
        return new
    at = places[order] - by
    between = (knots[0] < at) & (at < knots[-1])
    new[order[between]] = cubic(knots, heights, at[between])
    for beyond, ends in ((at <= knots[0], slice(0, 2)), (at >= knots[-1], slice(-2, None))):
        line = np.broadcast_to(knots[ends], (beyond.sum(), 2))
        new[order[beyond]] = through(line, np.broadcast_to(heights[ends], line.shape), at[beyond])
    return new
