"""Slopes, and intervals over seeds. No torch."""

import itertools
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike


def slope(x: ArrayLike, y: ArrayLike) -> float:
    """Least-squares slope of y against x."""
    return float(np.polyfit(np.asarray(x, float), np.asarray(y, float), 1)[0])


def bootstrap(
    seeds: Sequence[int],
    statistic: Callable[[Sequence[int]], float],
    draws: int = 2_000,
) -> tuple[float, float]:
    """95 % percentile interval of a statistic over resampled seeds.

    Every resample is enumerated while there are at most `draws` of them (up to 4 seeds), else
    `draws` are drawn with a fixed generator. With 2 or 3 seeds it is the range over resamples,
    and covers the mean of a normal law in about half and three quarters of the cases.
    """
    seeds = list(seeds)
    if len(seeds) ** len(seeds) <= draws:
        samples: Iterable[Iterable[int]] = itertools.product(seeds, repeat=len(seeds))
    else:
        rng = np.random.default_rng(0)
        samples = rng.choice(seeds, size=(draws, len(seeds)))
    cache: dict[tuple, float] = {}
    values = []
    for sample in samples:
        key = tuple(sorted(int(s) for s in sample))
        if key not in cache:
            cache[key] = statistic(key)
        values.append(cache[key])
    low, high = np.percentile(values, [2.5, 97.5], method="inverted_cdf")
    return float(low), float(high)
