"""Fits of token frequencies by rank: Zipf's law i^-a and Zipf-Mandelbrot's (i + q)^-a."""

from dataclasses import dataclass

import numpy as np

SHIFTS = np.concatenate([[0.0], np.geomspace(0.1, 100.0, 61)])


@dataclass(frozen=True)
class Fit:
    """log frequency = intercept - exponent * log(rank + shift), by least squares."""

    exponent: float
    shift: float
    intercept: float
    r2: float


def fit(rank: np.ndarray, frequency: np.ndarray, shift: float = 0.0) -> Fit:
    """Least squares in log-log coordinates; equal weight to every point given."""
    x, y = np.log(rank + shift), np.log(frequency)
    slope, intercept = np.polyfit(x, y, 1)
    residual = y - (slope * x + intercept)
    return Fit(-slope, shift, intercept, 1 - residual.var() / y.var())


def fit_mandelbrot(rank: np.ndarray, frequency: np.ndarray) -> Fit:
    """The best of `fit` over a grid of shifts q."""
    return max((fit(rank, frequency, q) for q in SHIFTS), key=lambda f: f.r2)
