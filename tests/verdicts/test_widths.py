"""The power of the width, where widths have seeds of their own."""

import math

import numpy as np
import pytest

from repro.verdicts.widths import exponent, weights

NUMBERS = {32: 160, 64: 60, 128: 24, 256: 16}


def drawn(rng, power, numbers=NUMBERS, first=0):
    """Logarithms of a power of the width; a seed's noise falls about as d^-1/2."""
    return {
        d: dict(enumerate(power * math.log(d) + 2 / math.sqrt(d) * rng.standard_normal(n), first))
        for d, n in numbers.items()
    }


def test_without_noise_the_power_is_exact_by_any_weights():
    logs = {d: dict.fromkeys(range(n), 3 + 0.7 * math.log(d)) for d, n in NUMBERS.items()}
    found = exponent(logs)
    assert found.value == pytest.approx(0.7) and found.n == 16
    assert found.low == pytest.approx(found.high)


def test_weights_are_those_of_weighted_least_squares():
    of_mean = [n * d for d, n in NUMBERS.items()]
    y = np.array([0.3, -0.2, 0.5, 0.1])
    fitted = np.polyfit(np.log([*NUMBERS]), y, 1, w=np.sqrt(of_mean))[0]
    assert np.dot([*weights(NUMBERS).values()], y) == pytest.approx(fitted)


def test_the_interval_covers_the_truth_in_95_of_100_draws():
    rng, draws = np.random.default_rng(7), 300
    found = [exponent(drawn(rng, 0.5)) for _ in range(draws)]
    held = sum(each.low <= 0.5 <= each.high for each in found)
    assert 0.92 <= held / draws <= 0.98
    assert np.mean([each.value for each in found]) == pytest.approx(0.5, abs=0.01)


def test_widths_of_the_same_seeds_are_paired():
    """What all widths of a seed share falls out of its exponent."""
    rng = np.random.default_rng(1)
    shared = rng.normal(size=5)
    logs = {d: {s: 0.5 * math.log(d) + shared[s] for s in range(5)} for d in (32, 256)}
    found = exponent(logs)
    assert found.low == pytest.approx(0.5) == found.high
    apart = {d: dict(enumerate(each.values(), d)) for d, each in logs.items()}
    wide = exponent(apart)
    assert wide.value == pytest.approx(0.5) and wide.high - wide.low > 0.5


def test_one_width_has_no_power():
    found = exponent({32: {0: 1.0, 1: 2.0}})
    assert math.isnan(found.value) and found.problem == "there are no two widths"
