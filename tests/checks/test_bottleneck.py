"""Key-value heads held fixed while query heads grow, as published Llamas have them: which law keeps
logits and updates of order one. In float64."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import widthwise
from widthwise.errors import UserError
from widthwise.parametrization.recipes import recipe

SIZE, KV, WIDTHS = 16, 2, [64, 128, 256]


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.o = (nn.Linear(width, width, bias=False) for _ in "qo")
        self.k, self.v = (nn.Linear(width, KV * SIZE, bias=False) for _ in "kv")
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x):
        h = self.norm1(x)
        q, k, v = (
            layer(h).unflatten(-1, (-1, SIZE)).transpose(1, 2) for layer in (self.q, self.k, self.v)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        return x + self.down(F.silu(self.up(self.norm2(x))))


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.tokens = nn.Embedding(32, width)
        self.blocks = nn.Sequential(Block(width), Block(width))
        self.norm, self.last = nn.RMSNorm(width), nn.Linear(width, 32, bias=False)
        self.double()

    def forward(self, tokens):
        return self.last(self.norm(self.blocks(self.tokens(tokens))))


def batches(seed):
    tokens = torch.randint(32, (8, 17), generator=torch.Generator().manual_seed(seed))
    return [(tokens[:, :-1], tokens[:, 1:])]


AS_READOUTS = {"*.k.weight": "output", "*.v.weight": "output"}


@pytest.mark.parametrize("name", ["muP", "muP-multiplier"])
def test_a_hidden_layer_s_start_with_a_readout_s_rate_is_right(name):
    found = widthwise.coordinate_check(Net, name, batches, WIDTHS, lr=0.004)
    assert found.passed, found
    start = [s.slope for s in found.slopes if s.quantity == "logits start"]
    assert start == pytest.approx([0, 0], abs=0.15)


def test_a_readout_s_start_makes_logits_and_updates_vanish():
    found = widthwise.coordinate_check(
        Net, "muP", batches, WIDTHS, lr=0.004, seeds=3, given=AS_READOUTS
    )
    assert found.verdict == "wrong"
    slopes = {(s.layer, s.quantity): s.slope for s in found.slopes}
    assert slopes["blocks.0", "logits start"] == pytest.approx(-0.5, abs=0.1)
    assert slopes["blocks.0.o.weight", "effect"] < -0.25


def projected(width):
    """A readout in two parts, as of OPT 350M: width -> 12 -> 4."""
    layers = nn.Linear(6, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
    return nn.Sequential(*layers, nn.Linear(width, 12), nn.Linear(12, 4))


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
    inputs = batches(0)[0][0]
    roles = widthwise.roles(Net, 64, inputs)
    kinds = {name: role.kind for name, role in roles.items()}
    assert kinds["blocks.0.k.weight"] == kinds["blocks.1.v.weight"] == "bottleneck"
    assert kinds["last.weight"] == "output" and kinds["blocks.0.q.weight"] == "hidden"
    assert any("the kind output, by given=" in line for line in roles.warnings)
    plan = widthwise.plan(Net(256), roles, recipe("muP", "muon"))
    rates = dict.fromkeys(("embedding", "hidden", "output", "vector"), 0.1)
    (own,) = (g for g in plan.groups(rates) if "blocks.0.k.weight" in g["names"])
    assert own["lr"] == pytest.approx(0.1 / 4) and "momentum" not in own
    own = widthwise.plan(Net(256), roles, "muP").groups(0.1, 0.1, decayed=["output"])
    decayed = {n for g in own if g["weight_decay"] for n in g["names"]}
    assert {"last.weight", "blocks.0.k.weight"} < decayed and "blocks.0.q.weight" not in decayed
    other = widthwise.roles(Net, 64, inputs, given=AS_READOUTS)
    assert other["blocks.0.k.weight"].kind == "output"
    with pytest.raises(UserError, match="kind 'bottlenek': did you mean 'bottleneck'"):
        widthwise.roles(Net, 64, inputs, given={"*.k.weight": "bottlenek"})
