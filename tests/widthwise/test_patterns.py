"""What a plan takes by patterns of names, and models that are wrapped."""

import torch
import torch.nn.functional as F
from refusals import refused
from torch import nn

import widthwise as ww
from benchmarks.zoo.small import mlp

TOKENS = torch.randint(20, (3, 7), generator=torch.Generator().manual_seed(0))
GATES = {"*.gate.weight": "output"}  # a readout's row, which has a factor


class Router(nn.Module):
    """As Hugging Face's: a weight of its own, and no layer."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, width) * 0.1)

    def forward(self, hidden_states):
        return F.linear(hidden_states, self.weight).softmax(-1)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.gate = nn.LayerNorm(width), Router(width)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        x = self.norm(x)
        weights = self.gate(hidden_states=x)
        return sum(each(x) * weights[..., i : i + 1] for i, each in enumerate(self.experts))


class Mixture(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed, self.layers = nn.Embedding(20, width), nn.ModuleList(map(Layer, [width] * 2))
        self.last = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = x + layer(x)
        return F.linear(self.last(x), self.embed.weight)


def planned():
    torch.manual_seed(0)
    model = Mixture(64)
    return ww.plan(model, ww.roles(Mixture, 16, TOKENS, given=GATES), "muP-multiplier")


def test_routers_and_a_tied_readout_that_are_no_layers_have_their_factors():
    plan = planned().init_()
    found = {(each.place, each.on): each.value for each in plan.factors}
    assert found == {
        ("embed.weight", "input"): 1 / 4,
        ("layers.0.gate.weight", "product"): 1 / 4,
        ("layers.1.gate.weight", "product"): 1 / 4,
    }
    assert set(plan.held) == {"last.weight", "last.bias", *(n for n in plan.at if "gate" in n)}
    torch.manual_seed(0)
    bare = ww.plan(Mixture(64), plan.roles, "muP-multiplier")
    bare.held = {}
    by_hand = bare.init_().model
    with torch.no_grad():
        for layer in by_hand.layers:
            layer.gate.weight /= 4
        torch.testing.assert_close(plan.model(TOKENS), by_hand(TOKENS) / 4)


def decayed(*patterns):
    groups = planned().groups(1e-3, 0.1, decayed=patterns)
    return {name for group in groups if group["weight_decay"] for name in group["names"]}


def test_decay_is_by_kind_or_by_name():
    everything = {name for name, _ in Mixture(16).named_parameters()}
    assert decayed("!*.gate.weight") == {n for n in everything if "gate" not in n}
    assert decayed("*.gate.weight") == {"layers.0.gate.weight", "layers.1.gate.weight"}
    assert decayed("output", "embed.weight") == decayed("*.gate.weight") | {"embed.weight"}
    assert decayed("output", "!layers.0.*") == {"layers.1.gate.weight"}
    assert decayed() == set()
    with refused("decayed: 'matrix' is no kind and no parameter"):
        decayed("matrix")


def test_a_wrapped_model_is_named():
    make = mlp(6, 3)
    roles = ww.roles(make, 16, torch.randn(2, 6))
    for model, said in (
        (torch.compile(make(64)), "torch.compile: plan the module it was made from"),
        (nn.DataParallel(make(64)), "DataParallel: plan model.module"),
        (torch.optim.swa_utils.AveragedModel(make(64)), "AveragedModel: plan its model"),
    ):
        with refused(said):
            ww.plan(model, roles, "muP")
