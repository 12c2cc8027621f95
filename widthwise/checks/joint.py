"""The lowest points of several curves of one shape, fitted together. No torch.

A parabola's vertex hangs on how many octaves it takes where a curve is steeper on one side. Here
curves are of one form: place, height and curvature of each are its own, and one cubic term, in
units of the curvature, is shared. A point counts the less the higher it lies. With a limit up to
which points count, they come and go as a curve is shifted: of a slope put into recorded curves,
0.15 to 0.5 octaves a doubling, 0.71 to 1.25 came back within 0.08 nats, and this way 0.92 to 1.04.
The weighting was chosen on the same curves, so that this is no test of it.
"""

import math
from collections.abc import Sequence

import numpy as np

WITHIN = 0.02  # nats above the lowest at which a point counts 1/e
ROUNDS = 200
CLOSE = 1e-12  # of the sum of squares: a step that gains less is the last


def joint_optima(
    curves: Sequence[tuple[np.ndarray, np.ndarray]], within: float = WITHIN
) -> list[float]:
    """The places of the minima of curves y = a + k (v^2 + s v^3), v = x - c: c, a and k > 0 of each
    curve, s of all. Least squares, a point weighted by exp(-height above the lowest / within).

    curves: (x, y) each, shape (n,), x increasing, y infinite where there is no value. within: in
    y's unit. NaN where the lowest is at an end, or beside no value: it has no minimum inside, and
    is in no fit.
    """
    told = [has_minimum(y) for _, y in curves]
    taken = [(x[np.isfinite(y)], y[np.isfinite(y)]) for x, y in curves]
    found = iter(_fitted([each for each, ok in zip(taken, told, strict=True) if ok], within))
    return [next(found) if ok else math.nan for ok in told]


def has_minimum(y: np.ndarray) -> bool:
    """Whether the lowest of some points has finite ones to either side."""
    best = int(np.argmin(y))
    return 0 < best < len(y) - 1 and bool(np.isfinite(y[best - 1 : best + 2]).all())


def _fitted(curves: Sequence[tuple[np.ndarray, np.ndarray]], within: float) -> list[float]:
    """By steps of Gauss and Newton, damped (Levenberg, Marquardt): there is no scipy here."""
    if not curves:
        return []
    n, sizes = len(curves), [len(x) for x, _ in curves]
    x, y = (np.concatenate(each) for each in zip(*curves, strict=True))
    of, row = np.repeat(np.arange(n), sizes), np.arange(sum(sizes))
    best = [int(np.argmin(v)) for _, v in curves]
    lowest = np.array([v[k] for k, (_, v) in zip(best, curves, strict=True)])
    centres = np.array([u[k] for k, (u, _) in zip(best, curves, strict=True)])
    weight = np.exp(-(y - lowest[of]) / (2 * within))  # of a residual, before it is squared
    guess = np.concatenate([centres, lowest, np.full(n, math.log(within / 2)), [0.0]])

    def residuals(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        centre, height, log_bend = values[:-1].reshape(3, n)
        v, k, skew = x - centre[of], np.exp(log_bend[of]), values[-1]
        shape = v**2 + skew * v**3
        slopes = np.zeros((len(x), len(values)))  # of the residuals
        slopes[row, of] = k * (2 * v + 3 * skew * v**2)
        slopes[row, n + of] = -1
        slopes[row, 2 * n + of] = -k * shape
        slopes[:, -1] = -k * v**3
        return weight * (y - height[of] - k * shape), weight[:, None] * slopes

    damping = 1e-3
    left, slopes = residuals(guess)
    for _ in range(ROUNDS):
        normal = slopes.T @ slopes
        size = np.diag(np.maximum(np.diag(normal), 1e-12 * np.diag(normal).max()))
        tried = guess - np.linalg.solve(normal + damping * size, slopes.T @ left)
        with np.errstate(over="ignore", invalid="ignore"):
            then, its_slopes = residuals(tried)
        gained = left @ left - then @ then
        if not gained > 0:
            damping *= 10
            if damping > 1e12:
                break
            continue
        done = gained <= CLOSE * (left @ left) or then @ then < (1e-9 * within) ** 2
        guess, left, slopes, damping = tried, then, its_slopes, damping / 10
        if done:
            break
    ends = ((u[0], u[-1]) for u, _ in curves)
    return [
        float(c) if low <= c <= high else math.nan
        for c, (low, high) in zip(guess[:n], ends, strict=True)
    ]
