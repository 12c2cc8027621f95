import math

import pandas as pd
import pytest

from repro.verdicts.run_sweeps import Grid, by_name, by_seed, gathered

ROWS = pd.DataFrame(
    [
        {"lr": lr, "seed": seed, "step": step, "loss": loss}
        for lr, losses in {1.0: (2.0, 4.0), 2.0: (1.0, math.nan)}.items()
        for seed, loss in enumerate(losses)
        for step, loss in ((5, 9.0), (10, loss))
    ]
)


@pytest.mark.parametrize(
    ("seeds", "means"),
    [
        (None, {(1.0,): 3, (2.0,): math.inf}),
        ([0, 0, 1], {(1.0,): pytest.approx(8 / 3), (2.0,): math.inf}),
        ([0], {(1.0,): 2, (2.0,): 1}),
    ],
)
def test_means_count_seeds_as_often_as_they_come_and_never_average_a_diverged_run_away(
    seeds, means
):
    assert Grid(["lr"], "loss").losses(ROWS, seeds) == means


def test_a_search_s_rounds_belong_to_their_stage_but_for_those_not_needed():
    grown = ROWS.assign(lr=4.0, proposal=0)
    runs = {"p/s": ROWS, "p/s+1": grown, "p/s+2": pd.DataFrame(), "p/other+1": grown}
    for last in (False, True):
        whole = gathered(runs, lambda name: {"study": name.study, "round": name.round}, last)
        assert len(whole) == 3 * len(ROWS) / (1 + last)
        assert set(whole[whole["study"] == "s"]["lr"]) == {1.0, 2.0, 4.0}
        assert set(whole["round"]) == {0, 1} and (set(whole["step"]) == {10}) == last


def test_what_diverged_or_was_not_run_is_infinite_in_the_array_of_losses():
    rows = ROWS[ROWS["step"] == 10].assign(wd=0.1)
    (lrs, wds), losses = by_seed(rows, ("lr", "wd"), "loss")
    assert (list(lrs), list(wds)) == ([1.0, 2.0], [0.1])
    assert losses[:, :, 0].tolist() == [[2, 1], [4, math.inf]]
    missing = by_seed(rows[1:], ("lr",), "loss", [0, 1])[1]
    assert missing.tolist() == [[math.inf, 1], [4, math.inf]]


def bowl(centre, bend=0.1):
    """Losses of two seeds, each a parabola in log2 of both axes."""
    return pd.DataFrame(
        [
            {"lr": 2.0**x, "wd": 2.0**y, "seed": seed, "step": 1, "loss": 1 + seed + loss}
            for seed in (0, 1)
            for x in range(-2, 3)
            for y in range(-2, 3)
            for loss in [bend * ((x - centre[0]) ** 2 + (y - centre[1]) ** 2)]
        ]
    )


def test_the_vertex_along_an_axis_lies_between_the_grid_s_points():
    grid, rows = Grid(("lr", "wd"), "loss"), bowl((0.3, -0.8))
    assert grid.optimum(rows).point == (1.0, 0.5) and grid.edge(rows) == ""
    assert grid.vertex(rows, "lr") == pytest.approx(0.3)
    assert grid.vertex(rows, "wd", [1]) == pytest.approx(-0.8)


def test_at_an_edge_there_is_no_vertex_and_the_words_say_where():
    grid, rows = Grid(("lr", "wd"), "loss"), bowl((2.3, 0.0))
    assert math.isnan(grid.vertex(rows, "lr")) and grid.vertex(rows, "wd") == pytest.approx(0)
    assert grid.edge(rows).endswith("the optimum is at the grid's edge: lr = 4, wd = 1")
    short = Grid(("lr", "wd"), "loss", place="best {:g}, {:g}").edge(rows)
    assert short == "search limit, best 4, 1"
    assert by_name({"a": short, "b": ""}) == f"a: {short}"
