"""Width and depth at once: roles of a deeper module, and CompleteP's rules."""

import re
from functools import partial

import pytest
import torch
from parameters import kept
from refusals import refused
from torch import nn

import widthwise as ww
from benchmarks.zoo.by_hand import walks
from benchmarks.zoo.hugging_face import gpt2, llama
from benchmarks.zoo.networks import Block as DecoderBlock
from benchmarks.zoo.networks import Decoder
from benchmarks.zoo.small import Block, Stack

pytestmark = pytest.mark.long


def stack(size):
    return Stack(size["width"], size["depth"])


X = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
BASE, LARGE = {"width": 8, "depth": 2}, {"width": 32, "depth": 8}
M_D, M_L = 4.0, 4.0


def roles():
    torch.manual_seed(0)
    return ww.roles(stack, BASE, X)


def test_a_layer_of_a_deeper_module_is_like_the_base_s():
    found = roles()
    at = found.at(stack(LARGE))
    assert at["layers.7.up.weight"].depth == M_L and at["layers.0.norm.weight"].depth == M_L
    assert at["entry.weight"].depth == at["norm.weight"].depth == at["readout.weight"].depth == 1
    assert (at["layers.7.up.weight"].kind, at["layers.7.up.weight"].width_in) == ("hidden", M_D)
    assert {role.depth for role in found.at(stack({"width": 32, "depth": 2})).values()} == {1}


def test_layers_that_are_not_alike_are_refused():
    def make(size):
        blocks = [Block(size["width"]) for _ in range(size["depth"])]
        return nn.Sequential(nn.Sequential(nn.Linear(5, size["width"]), *blocks))

    found = ww.roles(make, BASE, X)
    with refused("0 has 3 layers at the base and 9 here, and they are not"):
        found.at(make(LARGE))


@pytest.mark.parametrize(("name", "alpha"), [("1/L", 1.0), ("1/sqrt(L)", 0.5)])
def test_the_recipe_is_completep_s_table(name, alpha):
    """Dey et al., CompleteP (arXiv 2505.01618), m_d and m_L the width and depth over the base's:
    branch m_L^-alpha; hidden lr m_d^-1 m_L^(alpha-1); lr of norms and biases m_L^(alpha-1); eps of
    a layer m_d^-1 m_L^-alpha; decay of hidden matrices m_d, of all else 1."""
    model = stack(LARGE)
    plan = ww.plan(model, roles(), ww.recipe("muP", depth=name), branches=["layers.*.down"])
    groups = plan.init_().groups(lr=1.0, weight_decay=1.0, eps=1.0)
    of = {each: group for group in groups for each in group["names"]}
    layer_rate = M_L ** (alpha - 1)
    table = {  # name -> (lr, decay, eps)
        "layers.3.up.weight": (layer_rate / M_D, M_D, M_L**-alpha / M_D),
        "layers.3.norm.weight": (layer_rate, 1.0, M_L**-alpha / M_D),
        "layers.3.up.bias": (layer_rate, 1.0, M_L**-alpha / M_D),
        "entry.weight": (1.0, 1.0, 1 / M_D),
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
    deep, plain = stack({"width": 8, "depth": 8}), stack({"width": 8, "depth": 8})
    plain.load_state_dict(deep.state_dict())
    ww.plan(deep, roles(), ww.recipe("muP", depth="1/L"), branches=["layers.*.down"]).init_()
    ww.plan(plain, roles(), ww.recipe("muP", depth="plain")).init_()
    for layer in plain.layers:
        with torch.no_grad():
            layer.down.weight.mul_(1 / M_L), layer.down.bias.mul_(1 / M_L)
    torch.testing.assert_close(deep(X), plain(X))
    base = ww.plan(stack(BASE), roles(), ww.recipe("muP", depth="1/L"))
    assert base.factors == () and {g["lr"] for g in base.groups(lr=0.1)} == {0.1}


def test_what_depth_needs_is_said():
    with refused("lies in a stack of another depth .* or hold the depth"):
        ww.plan(stack(LARGE), roles(), "muP")
    deep = ww.recipe("muP", depth="1/L")
    with refused("branches: 'entry' is no layer of a stack"):
        ww.plan(stack(LARGE), roles(), deep, branches=["entry"])
    with refused("depth '1/l': "):
        ww.recipe("muP", depth="1/l")
    for optimizer in ("sgd", "muon"):
        with refused("is known for Adam's kin, and not for"):
            ww.recipe("muP", optimizer, depth="1/L")
    assert ww.recipe("muP", "sgd", depth="plain").branch == ww.recipe("muP", "sgd").branch


# Residual branches by tracing.


def stacked(block, first=None):
    """make of a stack of blocks, each made by a function of the width."""

    def make(size):
        model = Stack(size["width"], 0)
        model.layers = nn.ModuleList(block(size["width"]) for _ in range(size["depth"]))
        return model

    return make


def branches(make, inputs=X, base=BASE, large=LARGE):
    """Where a plan puts factors for the depth, by names within layers."""
    torch.manual_seed(0)
    found = ww.roles(make, base, inputs)
    plan = ww.plan(make(large), found, ww.recipe("muP", depth="1/L"))
    placed = [f for f in plan.factors if f.on == "output" and f.value == 1 / M_L]
    within = {tuple(re.split(r"\.\d+\.", f.place, maxsplit=1)) for f in placed}
    assert len(placed) == len(within) * large["depth"]
    return {name for _, name in within}


class Of(nn.Module):
    """A layer that does with two matrices what a function says."""

    def __init__(self, width, function):
        super().__init__()
        self.norm, self.drop = nn.LayerNorm(width), nn.Dropout(0.1)
        self.up, self.down = nn.Linear(width, width), nn.Linear(width, width)
        self.function = function

    def forward(self, x):
        return self.function(self, x)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda m, x: x + m.down(m.up(m.norm(x)).relu()), {"down"}),
        (lambda m, x: m.up(m.norm(x)) + m.down(m.norm(x)) + x, {"up", "down"}),  # in parallel
        (
            lambda m, x: x + m.norm.weight * m.down(m.up(m.norm(x))),
            {"down"},
        ),  # a gain of the branch
        (lambda m, x: x.add_(m.down(m.up(m.norm(x)))), {"down"}),  # in place
        (lambda m, x: x - 0.5 * m.down(m.up(m.norm(x)))[None][0], None),  # an index is not known
        (lambda m, x: m.norm(x + m.down(m.up(x))), None),  # post-norm
        (lambda m, x: (x + m.down(m.up(m.norm(x)))).relu(), None),
        (lambda m, x: x + m.down(m.up(m.norm(x))).relu(), None),  # no module's output
        (lambda m, x: m.down(m.up(m.norm(x))), None),
        (lambda m, x: 2 * x + m.down(m.up(m.norm(x))), None),
    ],
)
def test_branches_are_found_where_a_layer_returns_what_it_is_given_plus_them(function, expected):
    make = stacked(lambda width: Of(width, function))
    if expected is None:
        with refused("^plan: the residual branches of layers.0 cannot be"):
            branches(make)
        named = ww.plan(
            make(LARGE),
            ww.roles(make, BASE, X),
            ww.recipe("muP", depth="1/L"),
            branches=["layers.*.down"],
        )
        assert {f.place for f in named.factors} == {f"layers.{i}.down" for i in range(8)}
    else:
        assert branches(make) == expected


def test_what_is_used_outside_of_a_branch_too_is_refused():
    twice = stacked(lambda w: Of(w, lambda m, x: x + m.down(m.down(m.up(m.norm(x))))))
    with refused("down runs outside of its residual branches too"):
        branches(twice)

    def both(m, x):
        added = m.down(m.up(m.norm(x)))
        return x + added + m.up(added)

    with refused("is no module's output, or is used twice"):
        branches(stacked(lambda w: Of(w, both)))


class Convolutions(nn.Module):
    """A pre-norm residual block of channels."""

    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
        self.a, self.b = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in "ab")

    def forward(self, x):
        return x + self.b(self.norm2(self.a(self.norm1(x).relu())).relu())


def pictures(size):
    width = size["width"]
    blocks = [Convolutions(width) for _ in range(size["depth"])]
    stem, end = nn.Conv2d(3, width, 3), nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return nn.Sequential(stem, nn.Sequential(*blocks), end, nn.Linear(width, 4))


def decoder(size, llama):
    model = Decoder(size["width"], llama=llama)
    block = partial(DecoderBlock, size["width"], None, llama, grows=False, kv=None, eager=False)
    model.layers = nn.ModuleList(block() for _ in range(size["depth"]))
    return model


TOKENS = torch.randint(0, 32, (2, 8), generator=torch.Generator().manual_seed(0))
SMALL, DEEP = {"width": 32, "depth": 2}, {"width": 64, "depth": 8}


def test_branches_of_a_resnet_a_gpt2_and_a_llama_of_one_s_own():
    assert branches(pictures, torch.randn(2, 3, 8, 8)) == {"b"}
    found = [branches(partial(decoder, llama=each), TOKENS, SMALL, DEEP) for each in (False, True)]
    assert found == [{"attention.o", "mlp.2"}, {"attention.o", "mlp.down"}]


def of_hugging_face(make):
    return lambda size: make(size["width"], size["width"] // 16, size["depth"])


@pytest.mark.slow  # imports transformers
def test_branches_of_hugging_face_s_gpt2_and_llama():
    # In training mode, as they are made, GPT-2's pass its dropouts.
    found = [branches(of_hugging_face(each), TOKENS, SMALL, DEEP) for each in (gpt2, llama)]
    assert found == [{"attn.resid_dropout", "mlp.dropout"}, {"self_attn.o_proj", "mlp.down_proj"}]


@pytest.mark.slow  # imports transformers
def test_a_deeper_model_s_spreads_are_those_of_the_base():
    """What ends a branch begins at the base's spread by the branch's factor, 2/8, and without the
    1/sqrt(2 L) that GPT-2's make has: CompleteP has none."""
    torch.manual_seed(0)
    base, deep = of_hugging_face(gpt2)(SMALL), of_hugging_face(gpt2)(SMALL | {"depth": 8})
    found = ww.roles(of_hugging_face(gpt2), SMALL, TOKENS)
    ww.plan(deep, found, ww.recipe("muP", depth="1/L")).init_()
    spreads = [m.transformer.h[1].mlp.c_proj.weight.std().item() for m in (base, deep)]
    assert spreads[1] == pytest.approx(spreads[0] * 2 / 8, rel=0.05)


def test_roles_with_their_branches_are_saved(tmp_path):
    roles().save(tmp_path / "roles.json")
    loaded = ww.Roles.load(tmp_path / "roles.json")
    plan = ww.plan(stack(LARGE), loaded, ww.recipe("muP", depth="1/L"))
    assert len(plan.factors) == 8


# Checks over width and depth.


@pytest.mark.parametrize(
    ("rule", "verdicts"),
    [("1/L", {"right"}), ("1/sqrt(L)", {"wrong", "unclear"}), ("plain", {"wrong"})],
)
@pytest.mark.parametrize("llama", kept([False, True], first=1))
def test_the_check_over_depths_passes_1_over_l_alone(llama, rule, verdicts):
    """Of Dey et al.'s rules alpha = 1 alone makes every layer learn as much at any depth."""
    found = ww.coordinate_check(
        partial(decoder, llama=llama),
        ww.recipe("muP", depth=rule),
        walks,
        [64, 128],
        depths=[2, 4, 8],
        lr=0.004,
    )
    assert found.verdict in verdicts and {s.verdict for s in found.slopes} == {"right"}
    assert found.deep.axis == "depth" and len(found.deep.measured) == 12
    assert ("over depths [2, 4, 8]" in found.reason) and "layers.*" in str(found)


def test_depths_that_are_none_are_refused():
    recipe = ww.recipe("muP", depth="1/L")
    with refused("depths \\[2\\]: give two or more"):
        ww.coordinate_check(stack, recipe, walks, [8, 16], depths=[2])
    with refused("depths .* give as many, increasing with them"):
        ww.transfer(stack, [recipe], walks, [8, 16], depths=[4, 2])


def test_transfer_goes_over_width_and_depth():
    def batches(seed):
        g = torch.Generator().manual_seed(seed)
        x = torch.randn(20, 8, 5, generator=g)
        return [(each, each[:, :3].argmax(1)) for each in x]

    found = ww.transfer(
        stack,
        [ww.recipe("muP", depth=rule) for rule in ("1/L", "plain")],
        batches,
        [8, 16],
        depths=[2, 4],
        tune={"lr": [0.01, 0.03, 0.1]},
        seeds=2,
    )
    assert "tuned at width 8, depth 2: " in str(found) and "at width 16, depth 4, " in str(found)
    assert found.names == ["muP, adamw, independent, 1/L", "muP, adamw, independent, plain"]
    first, second = (found.curves[name, 16].losses for name in found.names)
    assert (first != second).any()
    alone = ww.transfer(
        stack,
        [ww.recipe("muP", depth="1/L")],
        batches,
        [8, 8],
        depths=[2, 4],
        tune={"lr": [0.01, 0.03, 0.1]},
        seeds=2,
    )
    assert alone.widths == [2, 4] and "at width 8, depth 4" in str(alone)
