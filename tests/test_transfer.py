"""The benchmark of transfer: its losses read as known laws, and the runs they come from."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from figures.transfer import _losses
from figures.transfer._losses import COLUMNS, PROXY, Losses
from repro import models
from repro.data.batches import ArrayBatches
from repro.errors import UserError
from repro.parametrization import KINDS, param_groups
from repro.tasks.transfer import chance, check_single_pass, targets

CHANCE, CURVATURE, GAIN = 6.0, 0.02, 0.25  # nats; nats per octave squared; nats a doubling
SLOPES = {"SP": -1.0, "muP": 0.0}
PENALTY = {"SP": 0.1, "muP": 0.0}


def loss(name, width, rate, seed, ratio=4.0):
    """A parabola in log2 of the rate, its vertex 2^-6 at width 32; seeds shift it up and down."""
    octaves = math.log2(width / 32)
    vertex = -6 + SLOPES.get(name, 0.0) * octaves
    off = CURVATURE * (math.log2(rate) - vertex) ** 2 + 0.05 * abs(math.log2(ratio / 4))
    return 4.5 - GAIN * octaves + PENALTY.get(name, 0.0) * octaves / 2 + off + 0.003 * seed


def table(**changes):
    rates, rows = [2.0**k for k in range(-9, -3)], []
    for seed in range(3):
        for rate in rates:
            for ratio in (1.0, 4.0, 16.0):
                rows.append([PROXY, 32, ratio, rate, 400 + seed, loss("", 32, rate, seed, ratio)])
            for name in SLOPES:
                for width in (64, 128):
                    found = loss(name, width, rate, seed)
                    rows.append([name, width, 4.0, rate, 410 + seed, found])
    columns = [column for column in COLUMNS if column not in ("workload", "chance")]
    return pd.DataFrame(rows, columns=columns).assign(chance=CHANCE, **changes)


def test_losses_of_a_known_law_give_its_slope_regret_penalty_and_gain():
    losses = Losses(table())
    assert (losses.ratio, losses.widths) == (4.0, [32, 64, 128])
    assert losses.proxy_rate([0, 1, 2]) == 2.0**-6
    for name, slope in SLOPES.items():
        assert losses.slope(name, 0) == pytest.approx(slope)
        missed = CURVATURE * (2 * slope) ** 2  # two octaves of rate at four times the width
        np.testing.assert_allclose(losses.regret(name, 128), missed, atol=1e-12)
        np.testing.assert_allclose(losses.penalty(name), PENALTY[name], atol=1e-12)
    assert losses.gain() == pytest.approx(2 * GAIN)
    assert losses.problem("SP", "muP") == ""
    found = _losses.slope_measurement(losses, "SP")
    assert found.value == pytest.approx(-1) and found.low == pytest.approx(found.high)


def test_a_diverged_run_is_infinitely_bad_and_no_hole():
    data = table()
    lost = (data["parametrization"] == "SP") & (data["model.width"] == 128) & (data["lr"] == 2**-6)
    data.loc[lost & (data["seed"] == 410), "train_loss"] = math.nan
    losses = Losses(data)
    assert losses.regret("SP", 128)[0] == math.inf
    assert np.isfinite(losses.tuned("SP", 128)).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.assign(chance=4.6), "hardly learned: 4.50 of 4.60"),
        (lambda d: d[d["embedding_ratio"] <= 4], "best ratio, 4, is at its grid's edge"),
        (lambda d: d[d["lr"] >= 2**-7], "edge: SP at 64, 128"),
        (
            lambda d: d[(d["parametrization"] == PROXY) | (d["lr"] < 2**-6)],
            "SP was not trained at the narrow model's best rate",
        ),
    ],
)
def test_what_makes_a_comparison_worthless_is_said(change, said):
    assert said in Losses(change(table())).problem("SP")


def test_chance_is_the_entropy_of_the_targets():
    assert chance(torch.arange(8).repeat(3)) == pytest.approx(math.log(8))
    rows = np.zeros((10, 2), np.float32), np.array([0] * 5 + [1] * 5)
    batches = ArrayBatches("rows", *rows, batch_size=5, seed=0, device="cpu")
    assert chance(targets(batches)) == pytest.approx(math.log(2))
    check_single_pass({"dataset": "rows", "batch_size": 5}, batches, 2)
    with pytest.raises(UserError, match="rows: 3 steps of 5 go through its 10 rows more than once"):
        check_single_pass({"dataset": "rows", "batch_size": 5}, batches, 3)


def test_full_alignment_is_sp_with_the_embedding_s_rate_raised_by_the_width():
    settings = {
        "name": "decoder",
        "width": 64,
        "depth": 1,
        "head_dim": 16,
        "expansion": 4,
        "norm": "pre",
        "positional_rms": {"factor": 1.0, "power": 0.0},
        "base_width": 16,
    }
    net = models.build(settings, "SP", vocab_size=32, sequence_length=8)

    def rates(name, lr, embedding):
        groups = param_groups(
            net,
            parametrization=name,
            family="adam",
            lr=dict.fromkeys(KINDS, lr) | {"embedding": embedding},
            weight_decay=0.0,
            eps=None,
        )
        return {id(p): group["lr"] for group in groups for p in group["params"]}

    assert rates("full-alignment", 4 * 2**-7, 4 * 2**-7) == rates("SP", 2**-7, 4 * 2**-7)
