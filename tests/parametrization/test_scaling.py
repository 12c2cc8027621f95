"""Initial spreads, groups and factors of a model of one's own, beside the mup package's."""

import inspect
import time
from functools import partial

import mup
import pytest
import torch
import torch.nn.functional as F
from refusals import refused
from torch import nn

import widthwise
from benchmarks.zoo.small import MLP, Tied, Transformer, by_torch, stepwise
from widthwise.optimizers.known import shipped

BASE, INPUTS, CLASSES = 32, 6, 5
NAMES = ("SP", "muP", "muP-multiplier", "LVP", "neural-tangent", "hybrid", "maximal-update, M")
ROWS = torch.randn(8, INPUTS, generator=torch.Generator().manual_seed(3))
TOKENS = torch.arange(16).reshape(2, 8) % 11


class Net(nn.Module):
    """Convolutions and a norm."""

    def __init__(self, width, readout=nn.Linear):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, width, 3), nn.BatchNorm2d(width)
        self.conv, self.readout = nn.Conv2d(width, 2 * width, 3), readout(2 * width, CLASSES)

    def forward(self, x):
        return self.readout(F.relu(self.conv(F.relu(self.norm(self.stem(x))))).mean((2, 3)))


tied = partial(Transformer, tied=True)


MODELS = {
    "mlp": (MLP, ROWS),
    "convolutions": (Net, torch.randn(8, 3, 8, 8)),
    "transformer": (Transformer, TOKENS),
    "tied": (tied, TOKENS),
}


def made(make, width, seed=0):
    torch.manual_seed(seed)
    return make(width)


def traced(make, inputs):
    return widthwise.roles(make, BASE, inputs)


def of_mlp(factor):
    """Roles of the MLP, and one that many times as wide."""
    make, inputs = MODELS["mlp"]
    return traced(make, inputs), made(make, factor * BASE)


def values(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


@pytest.mark.parametrize("model", MODELS)
def test_at_the_base_width_every_parametrization_is_the_user_s_own_model(model):
    """Bit for bit: values, outputs, and the constants of every group."""
    make, inputs = MODELS[model]
    roles = traced(make, inputs)
    plain = made(make, BASE).eval()
    for name in NAMES:
        if name == "LVP" and model == "tied":
            continue
        ours = made(make, BASE).eval()
        plan = widthwise.plan(ours, roles, name).init_()
        for key, value in values(plain).items():
            assert torch.equal(ours.get_parameter(key), value), (name, key)
        assert torch.equal(ours(inputs), plain(inputs)), name
        for group in plan.groups(0.3, 0.1):
            assert [group[key] for key in ("lr", "weight_decay", "eps")] == [0.3, 0.1, 1e-8]
            assert group["lr_scale"] == 1.0


def theirs(make, width, seed=0):
    """The mup package's model of a class of ours, whose readout is a MuReadout."""
    torch.manual_seed(seed)
    model, kind = make(width, mup.MuReadout), mup.MuReadout
    mup.set_base_shapes(model, make(BASE, kind), delta=make(2 * BASE, kind))
    return model


def train(model, optimizer, inputs, steps=6):
    outputs = []
    for _ in range(steps):
        optimizer.zero_grad()
        y = model(inputs)
        outputs.append(y.detach())
        (y - torch.linspace(-1, 1, y.shape[-1], dtype=y.dtype)).square().mean().backward()
        optimizer.step()
    return torch.stack(outputs)


@torch.no_grad()
def hold(plan):
    """Multiply weights that are as another has them by what they hold."""
    for name, value in plan.held.items():
        plan.model.get_parameter(name).mul_(value)


@pytest.mark.parametrize("model", ["mlp", "convolutions", "transformer"])
@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_training_is_that_of_the_mup_package(model, optimizer):
    """From the same weights, with their readout, groups and decay: to 12 digits."""
    make, inputs = MODELS[model]
    width = 4 * BASE
    roles = traced(make, inputs)
    if inputs.is_floating_point():
        inputs = inputs.double()
    other = theirs(make, width).double()
    ours = made(make, width).double()
    ours.load_state_dict(other.state_dict())
    adamw = optimizer == "adamw"
    recipe = widthwise.recipe("muP-multiplier", "adamw" if adamw else torch.optim.SGD)
    plan = widthwise.plan(ours, roles, recipe)
    hold(plan)
    if model == "transformer":  # theirs is a mean, at the base width as well
        other.attention.attend = partial(by_torch, scale=(BASE // 2) ** 0.5 / (width // 2))
    settings = {"lr": 0.02, "weight_decay": 0.1}
    if optimizer == "sgd":
        mine = torch.optim.SGD(plan.groups(0.02, 0.1), momentum=0.9)
        their_own = mup.MuSGD(other.parameters(), momentum=0.9, **settings)
    else:
        eps = 1e-30  # mup leaves eps as it is
        mine = torch.optim.AdamW(plan.groups(0.02, 0.1, eps=eps))
        their_own = mup.MuAdamW(other.parameters(), eps=eps, **settings)
    found, expected = train(ours, mine, inputs), train(other, their_own, inputs)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)
    assert (found[-1] - found[0]).abs().max() > 0.01


@pytest.mark.parametrize("model", ["mlp", "convolutions", "transformer"])
def test_initial_spreads_are_those_of_the_mup_package(model):
    make, inputs = MODELS[model]
    roles, width = traced(make, inputs), 8 * BASE
    other = values(theirs(make, width))
    for generator in (None, torch.Generator().manual_seed(0)):
        ours = made(make, width)
        held = widthwise.plan(ours, roles, "muP-multiplier").init_(generator).held
        for name, value in values(ours).items():
            # Spreads are measured on one draw at the base width.
            few = made(make, BASE).get_parameter(name).numel()
            expected = float(other[name].square().mean().sqrt())
            spread = float(value.square().mean().sqrt()) / held.get(name, 1.0)
            assert spread == pytest.approx(expected, rel=4 / few**0.5, abs=1e-9), name


def test_both_forms_of_mup_are_one_function():
    make, inputs = MODELS["mlp"]
    roles, found = traced(make, inputs), []
    for name in ("muP", "muP-multiplier"):
        model = made(make, 4 * BASE)
        plan = widthwise.plan(model, roles, widthwise.recipe(name, "adam")).init_()
        with torch.no_grad():
            model.readout.bias.zero_()
        found.append(train(model, torch.optim.Adam(plan.groups(0.01)), inputs, 3))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)


def test_a_tied_readout_and_attention_have_their_factors():
    roles, width = traced(tied, TOKENS), 4 * BASE
    plan = widthwise.plan(made(tied, width).eval(), roles, "muP")
    hold(plan)
    ours, plain = plan.model, made(tied, width).eval()
    plain.attention.attend = partial(by_torch, scale=(BASE // 2) ** 0.5 / (width // 2))
    torch.testing.assert_close(ours(TOKENS), plain(TOKENS) / 4)
    with refused("LVP: no multiplier is defined for a tied readout"):
        widthwise.plan(made(tied, width), roles, "LVP")


functional = partial(Tied, layer=False)


def test_a_tied_readout_may_be_no_layer():
    plan = widthwise.plan(made(functional, 4 * BASE), traced(functional, TOKENS), "muP")
    expected = plan.model(TOKENS) / 4
    hold(plan)
    torch.testing.assert_close(plan.model(TOKENS), expected)


MINE = '''"""muP whose embedding falls as the root of the width (u-muP's exponents)."""
from widthwise.parametrization import ONE, Power, Rule, table

TIED = Power(n_in=-1)


def rules(family):
    embedding = Rule(init=ONE, lr=Power(n_out=-1 / 2), weight_decay=Power(n_out=1 / 2))
    return table("muP", family) | {"embedding": embedding}
'''


def test_a_parametrization_of_one_s_own_is_a_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    roles, model = of_mlp(4)
    groups = widthwise.plan(model, roles, str(path)).init_().groups(0.1, 0.2)
    rates = {id(p): group["lr"] for group in groups for p in group["params"]}
    assert rates[id(model.input.weight)] == 0.05
    assert rates[id(model.hidden.weight)] == 0.025
    for text, said in (
        ("rules = 3", "defines no rules"),
        ("def rules(family): return {}", "has no Rule for embedding, hidden"),
        ("import nowhere_at_all", "ModuleNotFoundError"),
        (MINE.replace("Power(n_in=-1)", "2"), "TIED is no Power"),
    ):
        path.write_text(text)
        with refused(said) as error:
            widthwise.recipe(str(path))
        assert str(error.value).startswith(str(path))
    with refused("there is no such file"):
        widthwise.recipe(str(tmp_path / "none.py"))


def test_mistakes_are_one_line_that_names_the_thing():
    roles, model = of_mlp(2)
    for arguments, said in (
        (("mup", "adam"), "unknown parametrization 'mup'"),
        (("muP", "adamm"), "optimizer adamm: did you mean 'adam"),
        (("LVP", "sgd"), "LVP is defined for Adam-like optimizers only"),
        (("muP", "adamw", "couple"), "decay 'couple': did you mean 'coupled'"),
        (("muP", "adamw", "coupled"), "adamw decays apart from it, so decay='coupled' is none of"),
        (("muP", "sgd", "independent"), "sgd adds its decay to the gradient"),
    ):
        with refused(said):
            widthwise.recipe(*arguments)
    plan = widthwise.plan(model, roles, "muP")
    with refused("lr has no rate for embedding, the kind of input.wei"):
        plan.groups({"hidden": 0.1})
    with refused("the model has no role for"):
        widthwise.plan(Net(BASE), roles, "muP")


def test_groups_are_made_in_no_time():
    roles, model = of_mlp(2)
    start = time.process_time()
    widthwise.plan(model, roles, "muP").groups(0.1)
    assert time.process_time() - start < 0.05


def eager(width, power=-0.5):
    """Logits of its own making, scaled by a power of head_dim."""
    return Transformer(width, attend=partial(stepwise, power=power))


mean = partial(eager, power=-1)


def test_attention_has_its_factor_whatever_computes_it_and_none_where_it_is_a_mean():
    held = [
        widthwise.plan(made(make, 4 * BASE), traced(make, TOKENS), "muP").held
        for make in (Transformer, eager, mean)
    ]
    assert held[0] == held[1] and held[0]["attention.qkv.weight"] == 0.5**0.5 and not held[2]
    assert not traced(mean, TOKENS).warnings


def test_muon_is_for_a_model_of_one_s_own():
    """Matrices between two widths are Muon's, with one rate at every width; all else is AdamW's."""
    roles, model = of_mlp(4)
    plan = widthwise.plan(model, roles, widthwise.recipe("muP", "muon"))
    groups = plan.groups(0.1, 0.2)
    (ours,) = [group for group in groups if "adjust_lr_fn" in group]
    assert [id(p) for p in ours["params"]] == [id(model.hidden.weight)]
    assert (ours["lr"], ours["weight_decay"], ours["momentum"]) == (0.1, 0.2, 0.95)
    before = model.hidden.weight.detach().clone()
    optimizer = plan.recipe.optimizer.kind(groups)
    model(ROWS).square().mean().backward()
    optimizer.step()
    assert not torch.equal(before, model.hidden.weight)
    conv, pixels = MODELS["convolutions"]
    with refused("has 4 axes and is no matrix"):
        conv_plan = widthwise.plan(
            made(conv, BASE), traced(conv, pixels), widthwise.recipe("muP", "muon")
        )
        conv_plan.groups(0.1)


def test_a_factor_takes_the_place_of_the_table_s_and_the_decay_stays():
    roles, model = of_mlp(4)

    def group(**factors):
        groups = widthwise.plan(model, roles, "muP").groups(0.1, 0.2, **factors)
        (found,) = [g for g in groups if any(p is model.hidden.weight for p in g["params"])]
        return found

    table, own = group(), group(factors={"hidden.weight": 3.0})
    assert table["lr"] == pytest.approx(0.025) and own["lr"] == pytest.approx(0.3)
    assert own["lr"] * own["weight_decay"] == pytest.approx(table["lr"] * table["weight_decay"])


def test_what_is_said_of_an_optimizer_is_what_its_class_has():
    for name, update in shipped().items():
        if update.path.startswith("torch.optim."):
            settings = inspect.signature(update.kind).parameters
            assert update.eps == (settings["eps"].default if "eps" in settings else None), name
            assert (update.decoupled is None) == ("decoupled_weight_decay" in settings), name
