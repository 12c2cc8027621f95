"""Losses over learning rates, drawn from known curves: best rates, what is lost, intervals."""

import math

import numpy as np
import pytest
from refusals import refused

from widthwise.checks.sweep import NEAR, Sweep, Sweeps, parabola_optimum

RATES = 2.0 ** np.arange(-9, -3)
FINE = 2.0 ** np.arange(-9, -3.4, 0.5)
LR = 2.0 ** np.arange(-8, 1)
BEND = 0.02  # nats per octave squared
BYS = ("parabola", "grid")


def sweep(vertex=-6.0, height=4.0, seeds=range(3), rates=RATES, apart=0.0, spread=0.0):
    """Parabolas in log2 of the rate. apart, spread: levels and vertices of seeds, side by side."""
    side = np.arange(len(seeds)) - (len(seeds) - 1) / 2
    place = np.log2(rates) - vertex - spread * side[:, None]
    return Sweep(rates, tuple(seeds), height + apart * side[:, None] + BEND * place**2)


def parabola(centre, curvature=0.01):
    return 4 * (1 + curvature * (np.log2(LR) - centre) ** 2)


@pytest.mark.parametrize("centre", [-7.5, -5.0, -4.3, -0.5])
def test_a_parabola_s_vertex_is_found_anywhere_inside_the_grid(centre):
    assert parabola_optimum(LR, parabola(centre)) == pytest.approx(centre)
    shuffled = np.random.default_rng(0).permutation(len(LR))
    found = parabola_optimum(LR[shuffled], parabola(centre)[shuffled])
    assert found == pytest.approx(centre)


def test_without_a_minimum_inside_the_grid_there_is_no_vertex():
    assert math.isnan(parabola_optimum(LR, parabola(3)))
    assert math.isnan(parabola_optimum(LR, parabola(-4, -0.01)))
    assert math.isnan(parabola_optimum(LR[:2], parabola(-7)[:2]))


def test_diverged_rates_and_a_rate_of_zero_are_no_points_of_the_parabola():
    loss = parabola(-3)
    loss[-2:] = math.inf
    assert parabola_optimum(LR, loss) == pytest.approx(-3)
    assert parabola_optimum([0, *LR], [0, *loss]) == pytest.approx(-3)


@pytest.mark.parametrize("rates", [RATES, FINE], ids=["octaves", "half octaves"])
@pytest.mark.parametrize("missed", [0.0, 0.3, -0.9, 1.7])
def test_regret_and_penalty_by_parabola_are_those_of_a_known_one(rates, missed):
    """Between the rates of the grid too, where by the grid there is none."""
    found = sweep(-6.2, rates=rates, apart=0.01)
    assert found.optimum() == pytest.approx(-6.2)
    assert found.regret(-6.2 + missed) == pytest.approx(BEND * missed**2, abs=1e-9)
    assert found.penalty(sweep(-5.7, 3.9, rates=rates, apart=0.01)) == pytest.approx(0.1)


def test_by_the_grid_a_loss_is_known_where_it_was_tried_and_the_best_may_be_an_end():
    found = sweep(-6.2)
    assert found.optimum("grid") == -6 and found.best_rate == 2.0**-6
    assert found.at(-5, "grid") == pytest.approx(4 + BEND * 1.2**2)
    assert np.isnan(found.at(-5.5, "grid")).all()
    assert found.regret(-6, "grid") == pytest.approx(0)
    assert found.regret(-4, "grid") == pytest.approx(BEND * (2.2**2 - 0.2**2))
    outside = sweep(-9.4)
    assert outside.at_edge and outside.optimum("grid") == -9 and math.isnan(outside.optimum())
    assert outside.tuned("grid") == pytest.approx(4 + BEND * 0.4**2)
    assert np.isnan(outside.tuned()).all()


def test_an_optimum_at_the_end_has_a_vertex_only_where_that_is_asked_for():
    near = sweep(-8.9)
    assert near.at_edge and math.isnan(near.optimum())
    assert near.optimum(inside=False) == pytest.approx(-8.9)
    assert near.vertices() == pytest.approx([-8.9] * 3)


def test_a_tuned_loss_is_read_where_the_other_seeds_are_best():
    """Of seeds whose best rates lie apart, not at each one's own lowest."""
    found = sweep(-6.0, spread=0.8)
    for by in BYS:
        assert (found.tuned(by) >= found.own.min(1) - 1e-12).all()
    others = [-6.0 - 0.8 * side / 2 for side in (-1, 0, 1)]
    expected = [
        4 + BEND * (place + 6 - 0.8 * s) ** 2 for place, s in zip(others, (-1, 0, 1), strict=True)
    ]
    assert found.tuned() == pytest.approx(expected)
    assert all(np.isnan(found.of([1]).tuned(by)).all() for by in BYS), "one seed has no others"


def test_a_loss_between_two_rates_is_the_parabola_s_also_beside_a_run_that_diverged():
    found = sweep(-6.0, seeds=range(2))
    assert found.at(-8.5) == pytest.approx(4.0 + BEND * 2.5**2), "at the grid's end"
    assert np.isnan(found.at(-9.5)).all() and np.isnan(found.at(-3.5)).all()
    found.losses[1, 4] = math.inf
    assert found.at(-6.3) == pytest.approx(4.0 + BEND * 0.09), "through the rates below"
    assert found.at(-6.0) == pytest.approx(4.0), "on a rate of the grid"
    np.testing.assert_allclose(found.at(-5.5), [4.0 + BEND / 2, math.inf])
    found.losses[:, 2] = math.inf
    assert found.at(-6.0) == pytest.approx(4.0)


def test_a_mean_counts_seeds_as_often_as_they_come_and_has_other_settings_at_their_best():
    found = sweep(apart=0.3)
    level = found.mean()
    assert found.mean([0, 0, 2]) == pytest.approx(level - 0.1)
    assert found.without(0).seeds == (1, 2) and found.without(0).mean() == pytest.approx(
        level + 0.15
    )
    settings = Sweep(RATES, (0, 1), np.array([[[1.0, 5], [4, 2]], [[2, 7], [4, 2]]]).repeat(3, 2))
    assert settings.mean().tolist() == [1.5] * 3 + [2] * 3
    assert settings.own.tolist() == [[1] * 3 + [2] * 3, [2] * 5 + [2]]


def test_a_run_that_diverged_is_never_averaged_away_and_no_rate_is_best_where_all_did():
    found = sweep()
    found.losses[1, 3] = math.inf
    assert found.mean()[3] == math.inf and found.optimum("grid") in (-7, -5)
    found.losses[:] = math.inf
    assert all(math.isnan(found.optimum(by)) for by in BYS)
    assert np.isnan(found.tuned()).all()


def test_noise_of_zero_is_no_end_of_its_grid():
    levels = np.array([0, *RATES])
    found = Sweep(levels, (0,), np.concatenate([[[3.0]], sweep(seeds=[0]).losses], axis=1))
    assert not found.at_edge and found.best_rate == 0
    assert found.at(found.optimum("grid"), "grid") == [3.0]
    assert found.vertices() == pytest.approx([-6.0]) and found.at(-6.0) == pytest.approx([4.0])


def test_the_interval_of_an_optimum_is_the_jackknife_s():
    found = sweep(-6.0, spread=0.4)
    value, low, high = found.interval(lambda each: each.optimum())
    # Parabolas of one bend: the vertex of the mean is the mean of the vertices, so that it is t's.
    reach = 4.3027 * 0.4 / math.sqrt(3)
    assert (value, low, high) == pytest.approx((-6.0, -6.0 - reach, -6.0 + reach), abs=1e-3)
    assert math.isnan(sweep(seeds=[0]).interval(lambda each: each.optimum())[1])


def test_half_a_step_costs_what_the_parabola_through_the_best_and_its_neighbours_says():
    def half_step(*losses):
        return Sweep(RATES[: len(losses)], (0,), np.array([losses])).half_step()

    assert half_step(*(BEND * np.array([4.0, 1.0, 0.0, 1.0]))) == pytest.approx(BEND / 4)
    assert half_step(3.0, 0.0, 1.0) == 4 / 8  # an eighth of the second difference
    assert half_step(0.0, 1.0) == half_step(math.inf, 0.0, 1.0) == 1 / 4
    assert half_step(math.inf, 0.0, math.inf) == math.inf


def test_the_slope_over_widths_is_that_of_a_known_law_of_the_mean_and_of_each_seed():
    found = Sweeps({w: sweep(-5 - 0.5 * math.log2(w / 16), spread=0.2) for w in (16, 64, 256)})
    assert found.slope() == pytest.approx(-0.5) and found.slopes(NEAR) == pytest.approx([-0.5] * 3)
    assert found.slope("grid") == pytest.approx(-0.5)
    assert found.optima()[64] == pytest.approx(-6)
    found[256] = sweep(-9.4)
    assert math.isnan(found.slope())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"losses": np.zeros((2, 6))}, "shape (2, 6) for 3 seeds at 6 rates"),
        ({"losses": np.zeros((3, 5))}, "shape (3, 5) for 3 seeds at 6 rates"),
        ({"rates": RATES[::-1]}, "give them increasing, none below 0"),
        ({"losses": np.full((3, 6), math.nan)}, "a loss is NaN: give infinity where a run"),
    ],
)
def test_what_is_no_sweep_is_refused_in_a_line(change, said):
    with refused() as error:
        Sweep(**({"rates": RATES, "seeds": (0, 1, 2), "losses": sweep().losses} | change))
    assert said in str(error.value)


def test_an_unknown_estimator_is_named():
    with refused("by 'parabol': did you mean 'parabola'"):
        sweep().optimum("parabol")
