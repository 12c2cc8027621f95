"""Rows of a cell that is trained anew, held against a whole table on record."""

import pandas as pd
import pytest

from repro.products.retrain_cell import misfit
from repro.products.verify import ROUNDING, TOLERANCE

SETTINGS = {"lr", "seed"}
OLD = pd.DataFrame(
    {"lr": [0.5, 0.5, 0.25, 0.25], "seed": [1, 2, 1, 2], "loss": [3.0, 3.1, 3.2, float("inf")]}
)


def test_rows_that_are_among_those_on_record_fit():
    for rows in (OLD, OLD[2:], OLD[:2][::-1]):
        assert misfit(rows, OLD, SETTINGS, roughly=False) == ""
    twice = pd.concat([OLD, OLD.assign(loss=2.0)])  # two rows a run
    assert misfit(twice[1::2], twice, SETTINGS, roughly=False) == ""
    named = OLD.assign(noise=[None, None, "A", "B"])
    assert misfit(named, named, SETTINGS, roughly=False) == ""
    alone = named[:2].assign(noise=float("nan"))
    assert misfit(alone, named, {*SETTINGS, "noise"}, roughly=False) == ""


@pytest.mark.parametrize("roughly", [False, True])
def test_another_number_is_told_from_one_of_other_digits(roughly):
    allowed = TOLERANCE if roughly else ROUNDING
    inside, outside = (OLD.assign(loss=OLD["loss"] * (1 + k * allowed)) for k in (0.5, 2))
    assert misfit(inside, OLD, SETTINGS, roughly) == ""
    assert misfit(outside, OLD, SETTINGS, roughly).startswith("column loss, row 0: ")


def test_a_run_that_the_record_lacks_is_named():
    said = misfit(OLD, OLD[:3], SETTINGS, roughly=False)
    assert said == "lacks 1 of 4 rows, first that of lr 0.25, seed 2"
    assert misfit(OLD, OLD.drop(columns="loss"), SETTINGS, roughly=False).startswith("has columns")
