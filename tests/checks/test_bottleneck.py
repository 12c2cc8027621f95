"""Key-value heads held fixed while query heads grow, as published Llamas have them: which law keeps
logits and updates of order one. In float64."""

from functools import partial

import pytest
import torch
from refusals import refused
from torch import nn

import widthwise
from benchmarks.zoo.networks import Llama
from benchmarks.zoo.small import mlp
from widthwise.parametrization.recipes import recipe

WIDTHS = [64, 128, 256]


def net(width):
    """Two key-value heads of 16 at every width."""
    return Llama(width, kv=width // 32).double()


def batches(seed):
    tokens = torch.randint(32, (8, 17), generator=torch.Generator().manual_seed(seed))
    return [(tokens[:, :-1], tokens[:, 1:])]


ATTENTION = "layers.0.attention"
AS_READOUTS = {"*.k.weight": "output", "*.v.weight": "output"}


@pytest.mark.parametrize("name", ["muP", "muP-multiplier"])
def test_a_hidden_layer_s_start_with_a_readout_s_rate_is_right(name):
    found = widthwise.coordinate_check(net, name, batches, WIDTHS, lr=0.004)
    assert found.passed, found
    start = [s.slope for s in found.slopes if s.quantity == "logits start"]
    assert start == pytest.approx([0, 0], abs=0.15)


def test_a_readout_s_start_makes_logits_and_updates_vanish():
    found = widthwise.coordinate_check(
        net, "muP", batches, WIDTHS, lr=0.004, seeds=3, given=AS_READOUTS
    )
    assert found.verdict == "wrong"
    slopes = {(s.layer, s.quantity): s.slope for s in found.slopes}
    assert slopes[ATTENTION, "logits start"] == pytest.approx(-0.5, abs=0.1)
    assert slopes[f"{ATTENTION}.o.weight", "effect"] < -0.25


def projected(width):
    """A readout in two parts, as of OPT 350M: width -> 12 -> 4."""
    return nn.Sequential(*mlp(6, 12)(width), nn.Linear(12, 4))


def test_what_no_width_follows_is_a_readout():
    """By a hidden layer's start what lies before it does more, the wider it is."""

    def data(seed):
        x = torch.randn(16, 6, generator=torch.Generator().manual_seed(seed))
        return [(x, x[:, :4])]

    assert widthwise.roles(projected, 64, data(0)[0][0])["4.weight"].kind == "output"
    check = partial(widthwise.coordinate_check, projected, "muP", data, WIDTHS)
    assert check(lr=0.02).passed
    found = check(lr=0.004, given={"4.weight": "bottleneck"})
    slopes = {(s.layer, s.quantity): s.slope for s in found.slopes}
    assert found.verdict == "wrong" and slopes["2.weight", "effect"] > 0.3


def test_kinds_rates_and_what_is_given():
    inputs, q, k = batches(0)[0][0], f"{ATTENTION}.q.weight", f"{ATTENTION}.k.weight"
    roles = widthwise.roles(net, 64, inputs)
    kinds = {name: role.kind for name, role in roles.items()}
    assert kinds[k] == kinds["layers.1.attention.v.weight"] == "bottleneck"
    assert kinds["readout.weight"] == "output" and kinds[q] == "hidden"
    assert any("the kind output, by given=" in line for line in roles.warnings)
    plan = widthwise.plan(net(256), roles, recipe("muP", "muon"))
    rates = dict.fromkeys(("embedding", "hidden", "output", "vector"), 0.1)
    (own,) = (g for g in plan.groups(rates) if k in g["names"])
    assert own["lr"] == pytest.approx(0.1 / 4) and "momentum" not in own
    own = widthwise.plan(net(256), roles, "muP").groups(0.1, 0.1, decayed=["output"])
    decayed = {n for g in own if g["weight_decay"] for n in g["names"]}
    assert {
        "readout.weight",
        k,
    } < decayed and q not in decayed
    other = widthwise.roles(net, 64, inputs, given=AS_READOUTS)
    assert other[k].kind == "output"
    with refused("kind 'bottlenek': did you mean 'bottleneck'"):
        widthwise.roles(net, 64, inputs, given={"*.k.weight": "bottlenek"})
