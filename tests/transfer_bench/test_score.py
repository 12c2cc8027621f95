"""The score against a frozen reference, on tables drawn from known laws."""

import math
from dataclasses import replace

import numpy as np
import pytest
from parameters import kept

from repro.transfer_bench import matrix
from repro.transfer_bench.score import (
    Chain,
    Estimate,
    Reference,
    chain,
    chosen_ratio,
    difference,
    estimate,
    holds_zero,
    median,
    of_mean,
    score,
    surety,
)
from widthwise.checks.sweep import Sweep

pytestmark = pytest.mark.long

RATES = 2.0 ** np.arange(-9, -3)
BEND, GAIN = 0.02, 0.25  # nats per octave squared; nats
FINE = 2.0 ** np.arange(-9, -3.4, 0.5)


def sweep(vertex, height, seeds, noise=None, rates=RATES, bend=BEND):
    """A parabola in log2 of the rate. noise: (level, vertex) by seed, shape (seeds, 2)."""
    noise = np.zeros((len(seeds), 2)) if noise is None else noise
    place = np.log2(rates)[None, :] - vertex - noise[:, 1:]
    return Sweep(rates, tuple(seeds), height + noise[:, :1] + bend * place**2)


def told(best):
    return ""


def chained(place=-6.2, vertex=-6.2, height=4.0, narrow=4.25, **changes):
    """The chain of an entry without noise."""
    tuning = {4.0: sweep(place, narrow, range(3), **changes)}
    return chain(tuning, {4.0: sweep(vertex, height, range(10, 13), **changes)}, told)


REFERENCE = Reference({10: 4.0, 11: 4.0, 12: 4.0}, 4.0 + GAIN, 0.001)


@pytest.mark.parametrize("rates", [RATES, FINE], ids=["octaves", "half octaves"])
@pytest.mark.parametrize("missed", [0.0, 0.3, -0.9, 1.7])
def test_the_regret_of_a_known_parabola_is_its_bend_times_the_octaves_missed(rates, missed):
    """Between the rates of the grid too, where a regret read off the grid is 0."""
    found = chained(place=-6.2 + missed, height=4.1, rates=rates)
    assert (found.problem, found.own) == ("", "")
    assert found.place == pytest.approx(-6.2 + missed)
    each = score(found, REFERENCE)
    assert each.regret.value == pytest.approx(BEND * missed**2, abs=1e-9)
    assert each.penalty.value == pytest.approx(0.1)
    assert each.lost.value == pytest.approx(100 * (BEND * missed**2 + 0.1) / GAIN)


def draws(rng, seeds, level, shift):
    return np.column_stack([rng.normal(0, level, len(seeds)), rng.normal(0, shift, len(seeds))])


def drawn(rng, missed, noise=(0.01, 0.25), seeds=5):
    """Chain of one draw, whose narrow optimum lies `missed` octaves from the wide one's."""
    tuned_on, judging = range(seeds), range(10, 10 + seeds)
    tuning = {4.0: sweep(-6.1 + missed, 4.25, tuned_on, draws(rng, tuned_on, *noise))}
    wide = {4.0: sweep(-6.1, 4.0, judging, draws(rng, judging, *noise))}
    return chain(tuning, wide, told)


@pytest.mark.parametrize("missed", kept([0.6, 1.0, -1.6], first=1))
def test_the_interval_of_a_regret_covers_the_truth_in_95_of_100_draws(missed):
    """Seeds move both optima: an interval of the judging seeds alone would miss half of that."""
    rng, truth, held, alone, draws_of_it = np.random.default_rng(1), BEND * missed**2, 0, 0, 600
    reference = replace(REFERENCE, losses=dict.fromkeys(range(10, 15), 4.0))
    for _ in range(draws_of_it):
        found = drawn(rng, missed)
        each = score(found, reference).regret
        held += each.low <= truth <= each.high
        one = estimate(each.value, of_mean(found.end - found.tuned))
        alone += one.low <= truth <= one.high
    assert 0.92 <= held / draws_of_it <= 0.99
    assert alone / draws_of_it < 0.9


def test_without_regret_the_interval_seldom_says_there_is_one():
    rng = np.random.default_rng(2)
    said = sum(score(drawn(rng, 0.0), REFERENCE).regret.low > 0 for _ in range(400))
    assert said / 400 <= 0.05


def test_a_share_of_the_gain_covers_the_truth_paired_with_the_reference_and_not():
    """Seeds that the reference has move with it, and their common level falls out."""
    rng, truth, held, wider, draws_of_it = np.random.default_rng(3), 40.0, [0, 0], 0, 400
    for _ in range(draws_of_it):
        seeds = range(10, 15)
        common = draws(rng, seeds, 0.05, 0.0)
        tuned = {4.0: sweep(-6.1, 4.25, range(5), draws(rng, range(5), 0.01, 0.1))}
        wide = {4.0: sweep(-6.1, 4.1, seeds, common + draws(rng, seeds, 0.01, 0.0))}
        found = chain(tuned, wide, told)
        own = 4.0 + common[:, 0] + rng.normal(0, 0.01, 5)
        same = Reference(dict(zip(seeds, own, strict=True)), 4.25, 0.001)
        other = Reference(dict(enumerate(4.0 + rng.normal(0, 0.05, 5))), 4.25, 0.001)
        # The unit is the frozen gain, whatever it came out as.
        shares = [score(found, each).lost.times(each.gain / GAIN) for each in (same, other)]
        held = [n + (s.low <= truth <= s.high) for n, s in zip(held, shares, strict=True)]
        wider += shares[1].reach > shares[0].reach
    assert all(0.92 <= n / draws_of_it <= 1.0 for n in held)
    assert wider / draws_of_it > 0.95


@pytest.mark.slow
def test_of_equal_entries_a_paired_test_parts_one_in_twenty():
    rng, parted, draws_of_it = np.random.default_rng(4), 0, 400
    for _ in range(draws_of_it):
        seeds = range(10, 16)
        tuned = {4.0: sweep(-6.1, 4.25, range(6), draws(rng, range(6), 0.01, 0.2))}
        common = draws(rng, seeds, 0.05, 0.1)
        one, other = (
            chain(tuned, {4.0: sweep(-6.1, 4.0, seeds, common + draws(rng, seeds, 0.01, 0))}, told)
            for _ in range(2)
        )
        parted += not holds_zero(difference(one, other))
    assert 0.01 <= parted / draws_of_it <= 0.08


@pytest.mark.slow
def test_a_median_over_workloads_covers_the_median_of_the_truths():
    rng, truths, held, draws_of_it = np.random.default_rng(5), np.array([5.0, 20, 30]), 0, 400
    for _ in range(draws_of_it):
        samples = [truth + 4 * rng.normal(size=6) for truth in truths]
        found = median([estimate(float(s.mean()), of_mean(s)) for s in samples])
        held += found.low <= 20 <= found.high
    assert 0.93 <= held / draws_of_it <= 0.99
    assert math.isnan(median([Estimate(3.0)]).low) and median([Estimate(3.0)]).value == 3.0


def test_welch_s_degrees_of_freedom():
    found = estimate(1.0, (0.04, 4), (0.01, 2))
    assert found.error == pytest.approx(math.sqrt(0.05))
    assert found.freedom == pytest.approx(0.05**2 / (0.04**2 / 4 + 0.01**2 / 2))
    assert math.isnan(estimate(1.0, (0.04, 0)).low), "one seed has no interval"
    exact = estimate(1.0, (0.0, 4), (0.0, 2))
    assert (exact.low, exact.high) == (1.0, 1.0)


# What is undefined, and why.


@pytest.mark.parametrize(
    ("found", "problem", "own"),
    [
        (chained(place=-9.4), "the narrow model's best rate is at its grid's edge", ""),
        (chained(vertex=-9.4), "", "its own best rate is at its grid's edge"),
        (chained(place=-2.0), "the narrow model's best rate is at its grid's edge", ""),
    ],
)
def test_a_score_that_is_undefined_says_why_and_has_no_number(found, problem, own):
    each = score(found, REFERENCE)
    assert (each.problem, each.own) == (problem, own)
    assert math.isnan(each.lost.value) == bool(problem)
    assert math.isnan(each.regret.value), "either optimum outside leaves no regret"
    assert math.isnan(each.penalty.value) == bool(own)


def test_a_narrow_model_that_learned_nothing_and_a_ratio_at_the_edge_are_said():
    ratios = {r: sweep(-6.2, 4.25 + r / 100, range(3)) for r in (1.0, 4.0, 16.0)}
    wide = {1.0: sweep(-6.2, 4.0, range(10, 13))}
    assert chain(ratios, wide, told).problem == "the best ratio, 1, is at its grid's edge"
    assert chain(ratios, wide, lambda best: f"learned {best:.1f}").problem == "learned 4.3"
    inside = {r: ratios[q] for r, q in ((1.0, 4.0), (4.0, 1.0), (16.0, 16.0))}
    said = chain(inside, wide, told).problem
    assert said == "the wide model was not trained at the best ratio, 4"
    assert not chain(inside, {4.0: wide[1.0]}, told).problem


def test_a_wide_model_that_diverges_or_was_not_tried_at_the_transferred_rate_is_said():
    tuning = {4.0: sweep(-6.0, 4.25, range(3))}
    wide = sweep(-8.0, 4.0, range(10, 13))
    wide.losses[0, 3:] = math.inf
    assert "diverges at the narrow one's" in chain(tuning, {4.0: wide}, told).problem
    short = Sweep(RATES[:3], wide.seeds, wide.losses[:, :3])
    assert "not trained at the narrow one's" in chain(tuning, {4.0: short}, told).problem


def test_a_gain_that_is_not_known_leaves_the_share_undefined_and_not_the_penalty():
    unknown = replace(REFERENCE, error=GAIN / 4)
    each = score(chained(height=4.1), unknown)
    assert "below 5 standard errors" in each.problem and math.isnan(each.lost.value)
    assert each.penalty.value == pytest.approx(0.1)
    without = score(chained(), None, "no reference of these data")
    assert without.problem == "no reference of these data" and without.regret.value < 1e-9


def test_a_ratio_in_doubt_is_in_the_interval_where_the_wide_model_was_trained_at_it_else_said():
    """Two ratios that seeds turn between; the wide model is 0.2 nats worse at the other."""
    turns = np.array([[0.02, 0.0], [-0.02, 0.0], [0.001, 0.0], [0.001, 0.0]])
    narrow = {
        1.0: sweep(-6.2, 4.4, range(4)),
        4.0: sweep(-6.2, 4.25, range(4)),
        16.0: sweep(-6.2, 4.251, range(4), turns),
        64.0: sweep(-6.2, 4.4, range(4)),
    }
    assert chosen_ratio(narrow) == 4.0 and 0.3 < surety(narrow, 4.0) < 0.7
    own = {4.0: sweep(-6.2, 4.0, range(10, 13))}
    other = own | {16.0: sweep(-6.2, 4.2, range(10, 13))}
    alone, both = (score(chain(narrow, wide, told), REFERENCE) for wide in (own, other))
    assert alone.note.startswith("of ratio 4 alone, which is best in ") and alone.lost.reach < 1
    assert both.lost.reach > 40, "what the other ratio would have cost is in it"
    assert both.lost.value == alone.lost.value == pytest.approx(0)


# The matrix.


def row(name, lost, spread=0.5, seeds=range(10, 16)):
    """An entry that loses so many % of the gain on each of some workloads, known to a spread."""
    rng = np.random.default_rng(sum(map(ord, name)))
    chains = {}
    for column, share in lost.items():
        noise = rng.normal(0, spread / 100 * GAIN, len(seeds))
        noise -= noise.mean()
        end = 4.0 + share / 100 * GAIN + noise
        chains[column] = Chain(
            tuple(seeds), end, end, (0, 1), np.full(2, end.mean()), np.full(2, 4.25), -6, -6, 4, 1.0
        )  # fmt: skip
    return matrix.board_row(name, "AdamW", chains, REFERENCES, {})


COLUMNS = {"a": "A", "b": "B", "c": "C"}
REFERENCES = {c: Reference(dict.fromkeys(range(10, 16), 4.0), 4.25, 0.001) for c in COLUMNS}


def test_rows_are_sorted_by_their_median_and_ties_are_those_a_paired_test_does_not_part():
    rows = [
        row("late", {"a": 60, "b": 55, "c": 70}),
        row("first", {"a": 5, "b": 5.1, "c": 40}),
        row("beside", {"a": 5.2, "b": 5, "c": 41}),
        row("few", {"a": 0, "b": 1}),
    ]
    board = matrix.board("v0", COLUMNS, REFERENCES, rows)
    assert [each.parametrization for each in board.rows] == ["first", "beside", "late", "few"]
    assert board.group == {"first, AdamW": 1, "beside, AdamW": 1, "late, AdamW": 2}
    assert math.isnan(board.rows[-1].median.value), "two columns have no median"
    assert board.best["a"] == ["few, AdamW"] and board.best["c"] == ["first, AdamW"]
    assert board.rows[0].median.value == pytest.approx(5.1)


def test_a_new_entry_changes_no_other_s_score():
    """Better than all, and worse: the reference is fixed, so only marks and ranks can move."""
    rows = [row("one", {"a": 5, "b": 5, "c": 40}), row("two", {"a": 20, "b": 30, "c": 10})]
    before = {each.name: each.scores for each in matrix.board("v0", COLUMNS, REFERENCES, rows).rows}
    more = [*rows, row("best", {"a": -30, "b": -30, "c": -30}), row("worst", {"a": 900})]
    after = {each.name: each.scores for each in matrix.board("v0", COLUMNS, REFERENCES, more).rows}
    assert {name: after[name] for name in before} == before
    assert after["best, AdamW"]["a"].lost.value == pytest.approx(-30), "below the reference"
