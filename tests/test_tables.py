import math

import pandas as pd
import pytest

from repro.judge import tables

ROWS = pd.DataFrame(
    [
        {"lr": lr, "seed": seed, "step": step, "loss": loss}
        for lr, losses in {1.0: (2.0, 4.0), 2.0: (1.0, math.nan)}.items()
        for seed, loss in enumerate(losses)
        for step, loss in ((5, 9.0), (10, loss))
    ]
)


def test_the_last_step_is_that_of_every_run():
    assert set(tables.last_step(ROWS)["step"]) == {10} and len(tables.last_step(ROWS)) == 4


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
    assert tables.mean_losses(ROWS, ["lr"], "loss", seeds) == means


def test_a_search_s_rounds_belong_to_their_stage_but_for_those_not_needed():
    grown = ROWS.assign(lr=4.0, proposal=0)
    idle = pd.DataFrame([{"proposal": 1}])
    runs = {"p/s": ROWS, "p/s+1": grown, "p/s+2": idle, "p/s/tune": ROWS, "p/other+1": grown}
    whole = tables.with_rounds(runs, "p/s")
    assert list(whole.columns) == list(ROWS.columns)
    assert len(whole) == 2 * len(ROWS) and set(whole["lr"]) == {1.0, 2.0, 4.0}
    assert tables.with_rounds({"p/s": ROWS}, "p/s") is ROWS


def test_phrases_are_joined_where_there_are_any():
    assert tables.joined("", "a", "", "b") == "a; b" and tables.joined("", "") == ""
