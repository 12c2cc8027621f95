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


def test_phrases_are_joined_where_there_are_any():
    assert tables.joined("", "a", "", "b") == "a; b" and tables.joined("", "") == ""
