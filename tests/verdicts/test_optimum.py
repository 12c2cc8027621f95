import math

import numpy as np
import pytest

from repro.statistics import slope
from repro.verdicts.optimum import grid_optimum, search_optimum, window_optimum

LR = 2.0 ** np.arange(-8, 1)


def parabola(centre, curvature=0.01):
    return 4 * (1 + curvature * (np.log2(LR) - centre) ** 2)


@pytest.mark.parametrize("centre", [-5.0, -4.3, -3.75])
def test_the_centre_of_a_symmetric_curve_is_found(centre):
    found = window_optimum(LR, parabola(centre), 0.03)
    assert found.log2 == pytest.approx(centre, abs=0.05)
    assert found.low < centre < found.high
    assert not found.at_edge


def test_a_curve_still_falling_at_the_end_is_at_the_edge():
    assert window_optimum(LR, parabola(-9), 0.01).at_edge
    assert window_optimum(LR, parabola(1), 0.01).at_edge


def test_a_window_over_the_whole_grid_is_at_the_edge():
    """The paper's 20 % at a loss of 4: the centre of the grid, whatever the curve."""
    found = window_optimum(LR, parabola(-6, 0.001), 0.2)
    assert found.at_edge
    assert found.log2 == pytest.approx(np.log2(LR).mean())


def test_diverged_rates_are_outside_the_window_and_never_interpolated():
    loss = parabola(-2)
    loss[-2:] = math.inf
    found = window_optimum(LR, loss, 0.01)
    assert found.high == -2
    with pytest.raises(ValueError, match="no learning rate gave a finite loss"):
        window_optimum(LR, np.full(len(LR), math.inf), 0.01)


def test_the_paper_s_rule_is_the_geometric_mean_over_the_grid():
    loss = [1.3, 1.1, 1.0, 1.19, 1.21]
    assert grid_optimum([1, 2, 4, 8, 16], loss, 0.2) == pytest.approx(np.log2([2, 4, 8]).mean())


def test_slope_of_a_power_law():
    d = np.array([32, 64, 128])
    assert slope(np.log2(d), np.log2(3 * d**-0.5)) == pytest.approx(-0.5)


@pytest.mark.parametrize(
    ("losses", "point", "untried", "problem"),
    [
        ({1: 3, 2: 1, 4: 2}, 2, 0, ""),
        ({1: 3, 2: 2, 4: 1}, 4, 1, "search limit, at 4"),
        ({1: math.inf, 2: 1, 4: math.inf}, 2, 0, ""),
        ({1: math.inf, 2: math.inf}, 1, 0, "every run diverged"),
    ],
)
def test_a_search_s_optimum_is_the_lowest_point_whose_neighbours_were_tried(
    losses, point, untried, problem
):
    found = search_optimum({(lr,): loss for lr, loss in losses.items()})
    assert found.point == (point,) and len(found.untried) == untried
    assert found.problem(f"at {point}") == problem


def test_among_ties_the_one_inside_is_the_optimum():
    losses = {(1.0,): 1.0 - 1e-12, (2.0,): 1.0, (4.0,): 2.0}
    assert search_optimum(losses).point == (1.0,)
    found = search_optimum(losses, tie=1e-9)
    assert found.point == (2.0,) and found.untried == () and len(found.ties) == 2
