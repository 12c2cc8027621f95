"""What a small model's width costs the target, on made-up data."""

import pandas as pd
import pytest
from test_upscaling_figures import made_up

from figures.upscaling import tuning_width as figure

pytestmark = pytest.mark.usefixtures("measured_alone")
ENDS = {"upscaled": (0.8, 0.82, 0.84), "upscaled_base": (0.9, 0.93, 0.93)}


def table(noise=0.5, base=0.2):
    """A data.csv. noise: what Sweep 2 chooses on the narrow model; base: the rate of its base."""
    wide = made_up("mlp", {"upscaled": (0.8, 0.81, 0.82)}).assign(study=figure.SETTING.study)
    narrow = made_up(
        "mlp", ENDS, tune_upscaled=lambda lr, level: 1 + abs(lr - 0.2) + abs(level - noise)
    ).assign(study=figure.NARROW)
    narrow.loc[narrow["stage"] == "base", "lr"] = base
    return pd.concat([wide, narrow], ignore_index=True)


def test_each_sweep_is_held_against_the_wide_model_s_with_all_else_the_same():
    found = figure.measure(table(noise=1.0), "reduced")
    shrinks, base = found["tuning_width.shrinks"], found["tuning_width.base"]
    assert shrinks.value == pytest.approx(0.82 - 0.81) and shrinks.n == 3
    assert base.value == pytest.approx((0.9 + 0.93 + 0.93) / 3 - 0.82)
    assert found["tuning_width.both"].value == pytest.approx(shrinks.value + base.value)
    assert "at 16 units: base at 0.2, lr 0.2, noise 1" in base.detail


def test_runs_that_are_the_same_are_no_test():
    found = figure.measure(table(), "reduced")["tuning_width.shrinks"]
    assert (found.value, found.n) == (0, 1) and "the same on both" in found.problem


def test_bases_of_two_rates_break_the_comparison():
    (condition, _) = figure.CONDITIONS
    assert not condition.broken(table(), "reduced")
    assert condition.broken(table(base=0.1), "reduced") == "bases at rates 0.1, 0.2"


def test_the_narrow_model_has_a_quarter_of_the_units():
    for scale, wide in {"reduced": 64, "paper": 100}.items():
        widths = [figure.units(study, scale) for study in (figure.NARROW, figure.SETTING.study)]
        assert widths == [wide / 4, wide]
