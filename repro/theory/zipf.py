"""Fits of token frequencies by rank: Zipf's law i^-a, Zipf-Mandelbrot's (i + q)^-a, log-normal."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

SHIFTS = np.concatenate([[0.0], np.geomspace(0.1, 100.0, 61)])


@dataclass(frozen=True)
class Fit:
    """log frequency = intercept - exponent * log(rank + shift), by least squares."""

    exponent: float
    shift: float
    intercept: float
    r2: float
    rms: float  # root mean square residual of log frequency


def fit(rank: np.ndarray, frequency: np.ndarray, shift: float = 0.0) -> Fit:
    """Least squares in log-log coordinates; equal weight to every point given."""
    x, y = np.log(rank + shift), np.log(frequency)
    slope, intercept = np.polyfit(x, y, 1)
    residual = y - (slope * x + intercept)
    return Fit(-slope, shift, intercept, 1 - residual.var() / y.var(), float(residual.std()))


def fit_mandelbrot(rank: np.ndarray, frequency: np.ndarray) -> Fit:
    """The best of `fit` over a grid of shifts q."""
    return max((fit(rank, frequency, q) for q in SHIFTS), key=lambda f: f.r2)


def fit_lognormal(rank: np.ndarray, frequency: np.ndarray, types: int) -> np.ndarray:
    """Log frequency at these ranks if frequencies are log-normal, by least squares.

    Two parameters, as Zipf's law has. Of `types` draws the i-th largest lies near the quantile
    (i - 1/2) / types of the distribution from above.
    """
    normal = NormalDist()
    z = np.array([normal.inv_cdf(1 - (i - 0.5) / types) for i in rank])
    return np.polyval(np.polyfit(z, np.log(frequency), 1), z)


def lognormal_rms(rank: np.ndarray, frequency: np.ndarray, types: int) -> float:
    """Root mean square residual of log frequency from `fit_lognormal`."""
    return float((np.log(frequency) - fit_lognormal(rank, frequency, types)).std())
