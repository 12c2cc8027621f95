import math

import numpy as np
import pytest
from refusals import refused

from repro.verdicts.answers import (
    OURS,
    STATED,
    TOLERANCE,
    Measurement,
    Test,
    above,
    at_most,
    below,
    between,
    exact,
    of_one_run,
    over_arms,
    over_batches,
    over_both,
    over_seeds,
    within,
)
from repro.verdicts.verdict import by_bound, p_value, too_few
from repro.verdicts.words import DOUBTS, interval


def judged(expected, low, high, *, problem=""):
    return by_bound(expected, Measurement((low + high) / 2, low, high, 3, problem))


def verdict(*words, **changes):
    """Status and doubt, in words."""
    found = judged(*words, **changes)
    doubts = [DOUBTS[each["code"]].format(each["of"]) for each in found.doubts]
    return found.status, "; ".join(doubts)


@pytest.mark.parametrize(
    ("expected", "low", "high", "wanted"),
    [
        (below(-0.2), -0.5, -0.3, "reproduced"),
        (below(-0.2), -0.1, 0.1, "not reproduced"),
        (below(-0.2), -0.3, -0.1, "inconclusive"),
        (below(0), 0.0, 0.0, "not reproduced"),
        (at_most(0), 0.0, 0.0, "reproduced"),
        (above(0), 0.0, 0.0, "not reproduced"),
        (above(0), 1.0, 2.0, "reproduced"),
        (within(-0.5, 0.25), -0.7, -0.3, "reproduced"),
        (within(-0.5, 0.25), -0.2, -0.1, "not reproduced"),
        (within(-0.5, 0.25), -0.3, -0.2, "inconclusive"),
        (between(0.7, 1.3), 0.5, 1.5, "inconclusive"),
    ],
)
def test_the_whole_interval_decides(expected, low, high, wanted):
    found, reason = verdict(expected, low, high)
    assert found == wanted
    assert reason.startswith("noise") == (wanted == "inconclusive")


def test_nothing_is_told_from_one_run_or_with_a_problem_and_an_exact_number_is():
    assert verdict(below(0), -0.5, -0.4, problem="edge") == ("inconclusive", "edge")
    for one in (of_one_run(-1.0), over_seeds(lambda s: -1.0, [0])):
        found = by_bound(below(0), one)
        assert (found.status, found.doubts[0]["code"]) == ("inconclusive", "one run")
    assert by_bound(below(0), exact(-1.0)).status == "reproduced"


def of_values(values):
    return over_seeds(lambda seeds: values[seeds[0]], range(len(values)))


def test_the_p_value_of_a_sign_is_student_s():
    stats = pytest.importorskip("scipy.stats")
    values = [0.3, -0.1, 0.4, 0.2, 0.5]
    for shift, alternative in ((0.0, "greater"), (-0.9, "less")):
        found = of_values([v + shift for v in values])
        wanted = stats.ttest_1samp([v + shift for v in values], 0, alternative=alternative).pvalue
        assert p_value(above(0), found) == pytest.approx(wanted, rel=1e-3)


def test_inside_a_bound_with_two_ends_the_larger_of_two_tests_counts_and_outside_the_nearest():
    stats = pytest.importorskip("scipy.stats")
    values = [-0.3, -0.4, -0.35, -0.31]
    inside, outside = of_values(values), of_values([v + 0.3 for v in values])
    ends = [
        stats.ttest_1samp(values, -0.75, alternative="greater").pvalue,
        stats.ttest_1samp(values, -0.25, alternative="less").pvalue,
    ]
    assert p_value(within(-0.5, 0.25), inside) == pytest.approx(max(ends), rel=1e-3)
    beyond = stats.ttest_1samp([v + 0.3 for v in values], -0.25, alternative="greater").pvalue
    assert p_value(within(-0.5, 0.25), outside) == pytest.approx(beyond, rel=1e-3)


def test_an_interval_that_ends_at_its_value_is_as_wide_on_that_side_as_on_the_other():
    """Found on record: half a step of a grid on one side alone gave p = 0."""
    one_sided, both = Measurement(0.2, 0.1, 0.2, 5), Measurement(0.2, 0.1, 0.3, 5)
    assert p_value(below(1, STATED), one_sided) == p_value(below(1, STATED), both) > 0


def test_what_is_not_random_or_has_a_problem_has_no_p_value():
    assert p_value(above(0), exact(1.0)) is None
    assert p_value(above(0), of_one_run(1.0)) is None
    assert p_value(above(0), Measurement(1, 0.5, 1.5, 3, "edge")) is None
    assert judged(above(0), 1.0, 2.0).p < 0.025


@pytest.mark.parametrize("truth", [-0.25, 0.0])
def test_p_values_below_one_in_forty_are_the_verdicts(truth):
    """Of tables with the truth anywhere, what is told and what has p below 0.025 are the same."""
    rng, bound = np.random.default_rng(1), within(-0.5, 0.25)
    for _ in range(300):
        found = of_values(list(rng.normal(truth, 0.1, 5)))
        told = by_bound(bound, found)
        assert (p_value(bound, found) <= 0.025) == (told.seen in ("agrees", "differs"))


def test_two_seeds_tell_nothing_at_reduced_scale():
    test = Test("f.c", "training", "s", "p", "q", {"reduced": above(0), "paper": above(0)})
    two, three = (over_seeds(lambda s: 1.0 + s[0] / 99, range(n)) for n in (2, 3))
    assert too_few(test, two, "reduced") == [{"code": "few seeds", "of": "3"}]
    assert too_few(test, three, "reduced") == too_few(test, two, "paper") == []
    theory = Test("f.c", "theory", "s", "p", "q", {"reduced": above(0)})
    assert too_few(theory, two, "reduced") == []


def test_an_expected_count_is_worded_in_full():
    assert str(within(86_444_008, 0)) == "86,444,008 within 0"
    assert str(at_most(0.05)) == "at most 0.05"


def test_what_was_not_measured_is_no_verdict():
    """A column that old runs lack once became "not reproduced"."""
    for bound in (above(0), below(0), within(0, 1)):
        found = verdict(bound, float("nan"), float("nan"))
        assert found == ("inconclusive", "nothing was measured: the value is no number")


def test_a_value_that_is_not_finite_is_not_reproduced():
    assert verdict(below(0), float("-inf"), float("-inf"))[0] == "not reproduced"


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
    row = {"measured": measured, "low": low, "high": high, "n": 3}
    assert interval(row) == words


def test_a_statistic_of_arrays_by_seed_has_the_interval_of_its_mean_over_seeds():
    values = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 8.0]])
    found = over_batches(values, lambda mean: float(mean[1] - mean[0]), "why")
    differences = values[:, 1] - values[:, 0]
    same = over_seeds(lambda seeds: float(differences[list(seeds)].mean()), range(3), detail="why")
    assert (found.value, found.n, found.detail) == (pytest.approx(same.value), 3, "why")
    assert (found.low, found.high) == pytest.approx((same.low, same.high))


def test_an_unknown_kind_is_named():
    with refused("unknown kind 'trainning': did you mean 'training'"):
        Test("f.c", "trainning", "s", "p", "q", {"reduced": below(0)})
    with refused("expected is empty"):
        Test("f.c", "training", "s", "p", "q", {"overnight": None})


def test_a_bound_says_where_it_comes_from():
    assert above(0).basis == below(0).basis == STATED  # a sign
    assert above(1).basis == below(1).basis == within(0, 0.1).basis == ""
    assert below(0, OURS, "a control").basis == OURS
    with refused("bound 'at most 1': unknown basis 'mine'"):
        at_most(1, "mine")
    for basis in (TOLERANCE, OURS):
        with refused("bound '0 within 0.1': say in one sentence why"):
            within(0, 0.1, basis)
    assert within(0, 0.1, STATED).why == ""


WIDE, NARROW = below(-0.2), below(-1)


@pytest.mark.parametrize(
    ("expected", "marks", "at"),
    [
        ({"reduced": WIDE, "paper": NARROW}, {}, {"overnight": WIDE, "workstation": NARROW}),
        ({"reduced": WIDE, "paper": NARROW}, {}, {"smoke": None, "reduced": WIDE}),
        ({"reduced": WIDE, "overnight": None}, {}, {"overnight": None, "workstation": None}),
        ({"workstation": WIDE, "paper": NARROW}, {}, {"workstation": WIDE, "reduced": None}),
        ({"paper": NARROW}, {"published": True}, {"workstation": None, "paper": NARROW}),
    ],
)
def test_a_bound_binds_at_its_scale_and_at_the_longer_form_of_it(expected, marks, at):
    test = Test("f.c", "training", "s", "p", "q", expected, **marks)
    assert {scale: test.at(scale) for scale in at} == at
    assert all(test.binds(scale, True) == (bound is not None) for scale, bound in at.items())


def test_a_bound_of_real_data_does_not_bind_on_generated_ones():
    test = Test("f.c", "theory", "s", "p", "q", {"paper": NARROW}, real_data=True)
    assert [test.binds("paper", embedded) for embedded in (True, False)] == [False, True]
    assert test.place == "scale paper, real data"


def test_what_other_seeds_chose_has_their_scatter_in_its_interval():
    rng = np.random.default_rng(0)
    covered, draws, n = 0, 600, 8
    for _ in range(draws):
        judges, choosers = rng.normal(size=n), rng.normal(size=n)
        found = over_both(
            lambda seed, chosen, a=judges, b=choosers: a[seed] + b[list(chosen)].mean(),
            range(n),
            range(n),
        )
        covered += found.low <= 0 <= found.high
    assert covered / draws == pytest.approx(0.95, abs=0.035)  # 4 standard errors of 600 draws
    alone = over_seeds(lambda sample: judges[sample[0]], range(n))
    assert found.high - found.low > alone.high - alone.low
    lost = over_both(lambda seed, chosen: math.inf, range(n), range(n))
    assert math.isnan(lost.low) and lost.value == math.inf


def test_arms_with_seeds_of_their_own_cover_their_mean_difference():
    """Welch's interval of unequal arms, on fresh draws: noisy and many beside quiet and few."""
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(400):
        noisy, quiet = rng.normal(0, 1, 24), rng.normal(0, 0.2, 6)
        arms = {"noisy": range(24), "quiet": range(6)}
        found = over_arms(
            lambda of, a=noisy, b=quiet: a[of["noisy"]].mean() - b[of["quiet"]].mean(), arms
        )
        covered += found.low <= 0 <= found.high
    assert found.n == 6
    assert 5 < found.freedom < 29
    assert 0.92 <= covered / 400 <= 0.98
