"""Key-value heads held fixed while query heads grow, as published Llamas have them, and routers:
readouts of what lies before them."""

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
AS_HIDDEN = {"*.k.weight": "bottleneck", "*.v.weight": "bottleneck"}


@pytest.mark.parametrize("name", ["muP", "muP-multiplier"])
def test_by_a_hidden_layer_s_start_logits_begin_alike(name):
    found = widthwise.coordinate_check(net, name, batches, WIDTHS, lr=0.004, given=AS_HIDDEN)
    assert found.passed, found
    start = [s.slope for s in found.slopes if s.quantity == "logits start"]
    assert start == pytest.approx([0, 0], abs=0.15)


def test_by_a_readout_s_start_logits_and_updates_begin_as_those_of_a_mean():
    found = widthwise.coordinate_check(net, "muP", batches, WIDTHS, lr=0.004, seeds=3)
    assert found.verdict != "wrong"
    slopes = {(s.layer, s.quantity): s for s in found.slopes}
    start = slopes[ATTENTION, "logits start"]
    assert start.law == (-0.5, 0) and start.slope == pytest.approx(-0.5, abs=0.1)
    assert slopes[f"{ATTENTION}.o.weight", "effect"].slope < -0.25


def small(width):
    """One key-value head of 16, and an embedding as language models have it."""
    model = Llama(width, kv=width // 16)
    nn.init.normal_(model.tokens.weight, 0.0, 0.1)
    return model


def several(seed):
    return [batches(100 * seed + i)[0] for i in range(4)]


@pytest.mark.parametrize("start", ["hidden", "output"])
def test_the_check_judges_values_that_are_projected_to_a_fixed_width(start):
    """By a hidden layer's start what lies before them moves along them: n entries of n^-1/2, each
    by as much, so that values change by more, the wider the model is; by a readout's, 1/n, alike.
    """
    given = AS_HIDDEN if start == "hidden" else {}
    found = widthwise.coordinate_check(
        small, "muP", several, [64, 256, 512], lr=0.01, seeds=3, given=given
    )
    slopes = {(s.layer, s.quantity): s for s in found.slopes}
    judged = slopes["layers.1.attention.v", "stream change"]
    assert judged.law == ((0, 0) if start == "hidden" else (-0.5, 0))
    assert (judged.slope > 0.25) == (start == "hidden")
    if start == "hidden":
        assert not found.passed and ".v" in found.reason


class Routed(nn.Module):
    """Experts by a router over all that grows; logits: of the width, in its product."""

    def __init__(self, width, experts, logits=0.0):
        super().__init__()
        self.factor = (width / 64) ** logits
        self.entry, self.readout = nn.Linear(6, width), nn.Linear(width, 4)
        self.router = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, width, 16) * width**-0.5)
        self.down = nn.Parameter(torch.randn(experts, 16, width) / 4)

    def forward(self, x):
        x = torch.tanh(self.entry(x))
        chosen = self.router(x * torch.full_like(x, self.factor)).softmax(-1)
        each = torch.einsum(
            "eth,ehd->etd", torch.einsum("td,edh->eth", x, self.up).relu(), self.down
        )
        return self.readout(x + torch.einsum("etd,te->td", each, chosen))


def rows(seed):
    x = torch.randn(16, 6, generator=torch.Generator().manual_seed(seed))
    return [(x, x[:, :4])]


@pytest.mark.parametrize("grow", [False, True])
def test_the_check_judges_a_router_s_logits(grow):
    def make(width, logits=0.0):
        return Routed(width, width // 16 if grow else 4, logits)

    for logits in (0.0, 2.0):
        found = widthwise.coordinate_check(
            partial(make, logits=logits), "muP", rows, WIDTHS, lr=0.01, seeds=5
        )
        start = next(s for s in found.slopes if s.quantity == "logits start")
        assert start.slope == pytest.approx(logits - (0 if grow else 0.5), abs=0.2)
        assert start.law == ((0, 0) if grow else (-0.5, 0))
        assert (start.verdict == "grows") == (logits > 0)


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
    assert kinds[k] == kinds["layers.1.attention.v.weight"] == "output"
    assert kinds["readout.weight"] == "output" and kinds[q] == "hidden"
    assert any("the kind bottleneck, by given=" in line for line in roles.warnings)
    roles = widthwise.roles(net, 64, inputs, given=AS_HIDDEN, prove=False)
    assert roles[k].kind == "bottleneck"
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
    with refused("kind 'bottlenek': did you mean 'bottleneck'"):
        widthwise.roles(net, 64, inputs, given={"*.k.weight": "bottlenek"})
