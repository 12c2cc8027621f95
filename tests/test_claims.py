import numpy as np
import pytest

from repro.judge.claims import (
    Claim,
    Measurement,
    above,
    at_most,
    below,
    between,
    interval,
    judge,
    over_batches,
    over_seeds,
    reported,
    within,
)


def verdict(expected, low, high, *, problem="", scale="reduced", embedded=False, real=False):
    claim = Claim("f.c", "s", "p", "q", {"reduced": expected}, real_data=real)
    found = Measurement((low + high) / 2, low, high, 3, problem)
    result = judge(claim, found, scale, embedded)
    return result.verdict, result.reason


@pytest.mark.parametrize(
    ("expected", "low", "high", "wanted"),
    [
        (below(-0.2), -0.5, -0.3, "reproduced"),
        (below(-0.2), -0.1, 0.1, "not reproduced"),
        (below(-0.2), -0.3, -0.1, "not judged"),
        (below(0), 0.0, 0.0, "not reproduced"),
        (at_most(0), 0.0, 0.0, "reproduced"),
        (above(0), 0.0, 0.0, "not reproduced"),
        (above(0), 1.0, 2.0, "reproduced"),
        (within(-0.5, 0.25), -0.7, -0.3, "reproduced"),
        (within(-0.5, 0.25), -0.2, -0.1, "not reproduced"),
        (within(-0.5, 0.25), -0.3, -0.2, "not judged"),
        (between(0.7, 1.3), 0.5, 1.5, "not judged"),
    ],
)
def test_the_whole_interval_decides(expected, low, high, wanted):
    found, reason = verdict(expected, low, high)
    assert found == wanted
    assert reason.startswith("noise") == (wanted == "not judged")


def test_what_may_not_be_judged_is_not_whatever_was_measured():
    for low, high in ((-0.5, -0.4), (0.4, 0.5)):
        assert verdict(below(0), low, high, scale="smoke")[1] == "scale: judged at reduced"
        assert verdict(below(0), low, high, problem="edge")[1] == "edge"
        assert verdict(below(0), low, high, embedded=True, real=True)[1].startswith("data")
        assert verdict(reported("text"), low, high)[1] == "reported only"


def test_an_expected_count_is_worded_in_full():
    assert str(within(86_444_008, 0)) == "86,444,008 within 0"
    assert str(at_most(0.05)) == "at most 0.05"


def test_data_of_a_user_are_judged():
    assert verdict(below(0), -1, -1, embedded=False, real=True)[0] == "reproduced"


def test_a_value_that_is_not_finite_is_not_reproduced():
    assert verdict(below(0), float("-inf"), float("-inf"))[0] == "not reproduced"
    assert verdict(above(0), float("nan"), float("nan"))[0] == "not reproduced"


@pytest.mark.parametrize(
    ("measured", "low", "high", "words"),
    [
        (2.0, 1.0, 3.0, "2 [1, 3]"),
        (2.0, 2.0, 2.0, "2"),
        (2.0, 1.0, None, "2 [1, not finite]"),
        (None, None, None, "nothing finite"),
        (1_842_810_880.0, 1_842_810_880.0, 1_842_810_880.0, "1,842,810,880"),
        (-2_000.0, -2_000.5, 999.0, "-2,000 [-2e+03, 999]"),
        (1e20, 1e20, 1e20, "1e+20"),
    ],
)
def test_an_interval_in_words(measured, low, high, words):
    assert interval({"measured": measured, "low": low, "high": high}) == words


def test_a_statistic_of_arrays_by_seed_has_the_interval_of_its_mean_over_seeds():
    values = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 8.0]])
    found = over_batches(values, lambda mean: float(mean[1] - mean[0]), "why")
    differences = values[:, 1] - values[:, 0]
    same = over_seeds(lambda seeds: float(differences[list(seeds)].mean()), range(3), detail="why")
    assert (found.value, found.n, found.detail) == (pytest.approx(same.value), 3, "why")
    assert (found.low, found.high) == pytest.approx((same.low, same.high))
