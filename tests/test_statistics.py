"""Intervals cover what they say: by the textbook's values, and by simulation."""

import math

import numpy as np
import pytest

from repro.statistics import (
    holm,
    jackknife,
    left_out_interval,
    slope,
    student,
    student_tail,
    t_interval,
)

DRAWS = 20_000
SEEDS = (3, 5, 8)


def leaning(rng, shape):
    """Mean 0, standard deviation 1, skewness 0.95. (With an exponential's, which is 2, Student's
    interval of 3 to 8 seeds covers 88 to 90 %.)"""
    sigma = 0.3
    mean, variance = math.exp(sigma**2 / 2), (math.exp(sigma**2) - 1) * math.exp(sigma**2)
    return (rng.lognormal(0, sigma, shape) - mean) / math.sqrt(variance)


NOISE = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "leaning right": leaning,
    "leaning left": lambda rng, shape: -leaning(rng, shape),
}


@pytest.mark.parametrize(
    ("n", "quantile"), [(2, 12.706), (3, 4.303), (5, 2.776), (8, 2.365), (31, 2.042), (41, 2.021)]
)
def test_student_s_quantiles_are_the_textbook_s(n, quantile):
    assert student(n) == pytest.approx(quantile, abs=6e-4)


@pytest.mark.parametrize("t", [-3.0, -0.4, 0.0, 0.7, 2.0, 9.0, 40.0])
def test_student_s_tails_are_scipy_s(t):
    stats = pytest.importorskip("scipy.stats")  # comes with scikit-learn
    for freedom in (1, 2, 3, 4, 7, 8, 30, 99):
        assert student_tail(t, freedom) == pytest.approx(stats.t.sf(t, freedom), abs=1e-14)


def test_a_family_of_tests_is_held_to_one_error_in_twenty():
    # By hand: 0.01 <= 0.05 / 4 < 0.015 <= 0.05 / 3, then 0.03 > 0.05 / 2 ends it.
    assert holm([0.03, 0.01, 0.04, 0.015]) == [False, True, False, True]
    assert holm([]) == []
    rng = np.random.default_rng(0)
    false = [any(holm(list(rng.uniform(size=20)))) for _ in range(4000)]
    assert np.mean(false) == pytest.approx(0.05, abs=0.015)


def test_one_value_has_no_interval():
    mean, low, high = t_interval([2.0])
    assert mean == 2.0 and math.isnan(low) and math.isnan(high)
    mean, low, high = jackknife(lambda seeds: 2.0, [0])
    assert mean == 2.0 and math.isnan(low) and math.isnan(high)
    with pytest.raises(ValueError, match="needs two values"):
        student(1)


def test_a_value_that_is_not_finite_leaves_no_interval():
    mean, low, high = t_interval([1.0, math.inf])
    assert mean == math.inf and math.isnan(low) and math.isnan(high)
    assert all(map(math.isnan, left_out_interval(1.0, [1.0, math.inf])))


def test_the_jackknife_of_a_mean_is_student_s_interval():
    values = np.random.default_rng(0).normal(size=6)
    found = jackknife(lambda seeds: float(values[list(seeds)].mean()), range(6))
    assert found == pytest.approx(t_interval(values))


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("n", SEEDS)
def test_the_interval_of_a_mean_covers_it(n, noise):
    """Paired differences and slopes of one seed are such values too."""
    values = NOISE[noise](np.random.default_rng(n), (DRAWS, n))
    reach = student(n) * values.std(axis=1, ddof=1) / math.sqrt(n)
    assert 0.93 <= np.mean(np.abs(values.mean(axis=1)) <= reach) <= 0.97
    assert t_interval(values[0])[1:] == pytest.approx(
        (values[0].mean() - reach[0], values[0].mean() + reach[0])
    )


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("n", SEEDS)
def test_the_jackknife_s_interval_of_a_fit_to_means_covers_it(n, noise):
    """An exponent fitted to the mean over seeds of sizes that scatter by a tenth."""
    widths = np.array([1.0, 2.0, 4.0, 8.0])
    rng, inside, draws = np.random.default_rng(n), 0, 1_500
    for _ in range(draws):
        sizes = widths**-0.5 * (1 + 0.1 * NOISE[noise](rng, (n, 4)))
        log = np.log(widths)
        _, low, high = jackknife(
            lambda seeds, sizes=sizes, log=log: slope(log, np.log(sizes[list(seeds)].mean(axis=0))),
            range(n),
        )
        inside += low <= -0.5 <= high
    assert 0.92 <= inside / draws <= 0.98
