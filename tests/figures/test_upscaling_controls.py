"""Figure 3's transfer held against SP's rates and raw noise, on made-up data."""

import math

import numpy as np
import pandas as pd
import pytest
from judged import of_figure

from figures.upscaling import transfer_controls as figure
from repro.core import discovery

pytestmark = [
    pytest.mark.usefixtures("measured_alone"),
    pytest.mark.filterwarnings("ignore:invalid value"),  # losses of runs that diverged
    pytest.mark.filterwarnings("ignore:No artists with labels"),
]
VALUES = {"lr": (0.125, 0.25, 0.5, 1.0), figure.LEVEL: (0.0, 0.125, 0.25, 0.5, 1.0)}


def made_up(drift=1.0, best=0.25):
    """A data.csv; the controls' best moves by `drift` octaves from the narrowest to the widest."""
    rows = []
    for sweep, key in figure.PAIRS:
        stage, control, axis, *_ = figure.SWEEPS[sweep]
        for name, widths in ((stage, (16, 64, 256)), (control, (16, 256))):
            for width in widths:
                there = best * 2 ** (drift * (name == control and width == 256))
                for seed in (0, 1, 2):
                    for value in VALUES[axis]:
                        loss = 1 + 0.01 * seed + abs(value - there)
                        row = {"study": figure.STUDY[key], "stage": name, figure.WIDTH: width}
                        row |= {axis: value, "seed": seed, "step": 10, "train_loss": loss}
                        rows.append(row)
    return pd.DataFrame(rows)


def judged(data):
    return of_figure("upscaling/transfer_controls", data)


@pytest.mark.parametrize(("drift", "status"), [(1.0, "reproduced"), (0.0, "not reproduced")])
def test_what_transfers_is_held_against_a_control(drift, status):
    """The control's best of the narrowest width ends higher at the widest, or as high."""
    found = judged(made_up(drift))
    for sweep, key in figure.PAIRS:
        row = found[f"{sweep}-{key}"]
        seeds = [(1 + 0.01 * s) / (1 + 0.01 * s + 0.25 * drift) for s in (0, 1, 2)]
        assert (row["measured"], row["status"]) == (pytest.approx(np.mean(seeds)), status)
        assert found[f"regret-{sweep}-{key}"]["measured"] == 0
        assert found[f"regret-{sweep}-{key}"]["detail"] == f"the control's {0.25 * drift:.3g}"


def test_a_control_that_diverges_is_the_worse():
    data = made_up()
    widest, control = data[figure.WIDTH] == 256, data["stage"].isin(("by_lr_sp", "by_noise_raw"))
    lost = judged(data.assign(train_loss=data["train_loss"].mask(widest & control, math.inf)))
    assert (lost["lr-mlp"]["measured"], lost["lr-mlp"]["status"]) == (0, "reproduced")
    lost = judged(data.assign(train_loss=data["train_loss"].mask(widest & ~control, math.inf)))
    assert lost["lr-mlp"]["status"] == "not reproduced"


def test_a_best_value_at_the_grid_s_edge_is_no_best():
    found = judged(made_up(best=1.0, drift=-1.0))
    assert found["lr-mlp"]["status"] == "inconclusive"
    for name in ("the paper's", "the control's"):
        assert f"{name} best at width 16 is at the grid's edge" in found["lr-mlp"]["reason"]


def test_laws_put_the_control_above_upon_and_below():
    data = made_up()
    for law, sign in (("as claimed", -1), ("no effect", 0), ("the opposite", 1)):
        drawn = figure.simulate(law, data, "reduced", np.random.default_rng(0))
        for claim in figure.FIGURE.laws:
            log_ratio = math.log(figure.measure(drawn, "reduced")[claim].value)
            assert np.sign(round(log_ratio, 2)) == sign, (law, claim)


def test_it_is_drawn_also_where_all_diverged():
    data = made_up()
    panels = figure.draw(data, "reduced").axes
    assert [len(panel.lines) > 0 for panel in panels] == [True] * 8
    figure.draw(data.assign(train_loss=math.inf), "smoke")


def test_at_reduced_scale_grids_seeds_and_widths_are_their_own():
    for study in figure.STUDY.values():
        other = study.replace("controls", "transfer")
        ours, theirs = (discovery.study(f"{s}/by_lr").scales for s in (study, other))
        assert ours["paper"].grid == theirs["paper"].grid
        assert not set(ours["reduced"].grid["seed"]) & set(theirs["reduced"].grid["seed"])
