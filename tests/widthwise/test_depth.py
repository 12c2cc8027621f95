"""Width and depth at once: roles of a deeper module, and CompleteP's rules."""

import pytest
import torch
from torch import nn

import widthwise as ww
from widthwise.errors import UserError


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(self.up(self.norm(x)).relu())


class Stacked(nn.Module):
    def __init__(self, size):
        super().__init__()
        width = size["width"]
        self.first = nn.Linear(5, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(size["depth"]))
        self.norm, self.readout = nn.LayerNorm(width), nn.Linear(width, 3)

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = layer(x)
        return self.readout(self.norm(x))


X = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
BASE, LARGE = {"width": 8, "depth": 2}, {"width": 32, "depth": 8}
M_D, M_L = 4.0, 4.0


def roles():
    torch.manual_seed(0)
    return ww.roles(Stacked, BASE, X)


def test_a_layer_of_a_deeper_module_is_like_the_base_s():
    found = roles()
    at = found.at(Stacked(LARGE))
    assert at["layers.7.up.weight"].depth == M_L and at["layers.0.norm.weight"].depth == M_L
    assert at["first.weight"].depth == at["norm.weight"].depth == at["readout.weight"].depth == 1
    assert (at["layers.7.up.weight"].kind, at["layers.7.up.weight"].width_in) == ("hidden", M_D)
    assert {role.depth for role in found.at(Stacked({"width": 32, "depth": 2})).values()} == {1}


def test_layers_that_are_not_alike_are_refused():
    def make(size):
        blocks = [Block(size["width"]) for _ in range(size["depth"])]
        return nn.Sequential(nn.Sequential(nn.Linear(5, size["width"]), *blocks))

    found = ww.roles(make, BASE, X)
    with pytest.raises(UserError, match="0 has 3 layers at the base and 9 here, and they are not"):
        found.at(make(LARGE))


@pytest.mark.parametrize(("name", "alpha"), [("1/L", 1.0), ("1/sqrt(L)", 0.5)])
def test_the_recipe_is_completep_s_table(name, alpha):
    """Dey et al., CompleteP (arXiv 2505.01618), m_d and m_L the width and depth over the base's:
    branch m_L^-alpha; hidden lr m_d^-1 m_L^(alpha-1); lr of norms and biases m_L^(alpha-1); eps of
    a layer m_d^-1 m_L^-alpha; decay of hidden matrices m_d, of all else 1."""
    model = Stacked(LARGE)
    plan = ww.plan(model, roles(), ww.recipe("muP", depth=name), branches=["layers.*.down"])
    groups = plan.groups(lr=1.0, weight_decay=1.0, eps=1.0)
    of = {each: group for group in groups for each in group["names"]}
    layer_rate = M_L ** (alpha - 1)
    table = {  # name -> (lr, decay, eps)
        "layers.3.up.weight": (layer_rate / M_D, M_D, M_L**-alpha / M_D),
        "layers.3.norm.weight": (layer_rate, 1.0, M_L**-alpha / M_D),
        "layers.3.up.bias": (layer_rate, 1.0, M_L**-alpha / M_D),
        "first.weight": (1.0, 1.0, 1 / M_D),
        "norm.weight": (1.0, 1.0, 1 / M_D),
    }
    for each, expected in table.items():
        found = [of[each][key] for key in ("lr", "weight_decay", "eps")]
        assert found == pytest.approx(expected), each
    assert {(f.place, f.value) for f in plan.factors if f.on == "output"} == {
        (f"layers.{i}.down", M_L**-alpha) for i in range(8)
    }
    plan.check(torch.optim.AdamW(groups))


def test_the_branch_s_factor_acts_and_the_base_is_left_alone():
    deep, plain = Stacked({"width": 8, "depth": 8}), Stacked({"width": 8, "depth": 8})
    plain.load_state_dict(deep.state_dict())
    ww.plan(deep, roles(), ww.recipe("muP", depth="1/L"), branches=["layers.*.down"])
    for layer in plain.layers:
        with torch.no_grad():
            layer.down.weight.mul_(1 / M_L), layer.down.bias.mul_(1 / M_L)
    torch.testing.assert_close(deep(X), plain(X))
    base = ww.plan(Stacked(BASE), roles(), ww.recipe("muP", depth="1/L"))
    assert base.factors == () and {g["lr"] for g in base.groups(lr=0.1)} == {0.1}


def test_what_depth_needs_is_said():
    with pytest.raises(UserError, match="lies in a stack of another depth .* or hold the depth"):
        ww.plan(Stacked(LARGE), roles(), "muP")
    deep = ww.recipe("muP", depth="1/L")
    with pytest.raises(UserError, match="give branches="):
        ww.plan(Stacked(LARGE), roles(), deep)
    with pytest.raises(UserError, match="branches: 'first' is no layer of a stack"):
        ww.plan(Stacked(LARGE), roles(), deep, branches=["first"])
    with pytest.raises(UserError, match="depth '1/l': "):
        ww.recipe("muP", depth="1/l")
    for optimizer in ("sgd", "muon"):
        with pytest.raises(UserError, match="is known for Adam's kin, and not for"):
            ww.recipe("muP", optimizer, depth="1/L")
