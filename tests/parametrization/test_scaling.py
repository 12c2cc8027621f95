"""Initial spreads, groups and factors of a model of one's own, beside the mup package's."""

import copy
import pickle
import time

import mup
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import widthwise
from repro.errors import UserError
from widthwise.optimizers.known import OPTIMIZERS, optimizer_class
from widthwise.parametrization import DEGREE
from widthwise.upscaling import UPDATES

BASE, INPUTS, CLASSES = 32, 6, 5
NAMES = ("SP", "muP", "muP-multiplier", "LVP", "neural-tangent", "hybrid", "maximal-update, M")
ROWS = torch.randn(8, INPUTS, generator=torch.Generator().manual_seed(3))
TOKENS = torch.arange(16).reshape(2, 8) % 11


class MLP(nn.Module):
    def __init__(self, width, readout=nn.Linear):
        super().__init__()
        self.input = nn.Linear(INPUTS, width)
        self.hidden = nn.Linear(width, width)
        self.readout = readout(width, CLASSES)

    def forward(self, x):
        return self.readout(torch.tanh(self.hidden(torch.tanh(self.input(x)))))


class Net(nn.Module):
    """Convolutions and a norm."""

    def __init__(self, width, readout=nn.Linear):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, width, 3), nn.BatchNorm2d(width)
        self.conv, self.readout = nn.Conv2d(width, 2 * width, 3), readout(2 * width, CLASSES)

    def forward(self, x):
        return self.readout(F.relu(self.conv(F.relu(self.norm(self.stem(x))))).mean((2, 3)))


class Transformer(nn.Module):
    """Two heads whose dimension grows; tied: the readout is the embedding transposed."""

    def __init__(self, width, readout=nn.Linear, tied=False, power=-0.5):
        super().__init__()
        self.scale = (width // 2) ** power
        self.embedding = nn.Embedding(11, width)
        self.norm, self.final = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.readout = readout(width, 11, bias=False)
        if tied:
            self.readout.weight = self.embedding.weight

    def forward(self, tokens):
        x = self.embedding(tokens)
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, 2, -1)).permute(2, 0, 3, 1, 4)
        # Its own by default, where the class is the user's: scaled by `power` in mup's.
        y = F.scaled_dot_product_attention(q, k, v, scale=self.scale)
        return self.readout(self.final(x + self.out(y.transpose(1, 2).flatten(2))))


def tied(width):
    return Transformer(width, tied=True)


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
        widthwise.initialize(ours, roles, name, torch.Generator().manual_seed(1))
        widthwise.initialize(ours, roles, name)
        for key, value in values(plain).items():
            assert torch.equal(ours.get_parameter(key), value), (name, key)
        assert widthwise.apply(ours, roles, name) is ours
        assert torch.equal(ours(inputs), plain(inputs)), name
        (group,) = widthwise.param_groups(ours, roles, name, "adamw", 0.3, 0.1)
        assert [group[key] for key in ("lr", "weight_decay", "eps")] == [0.3, 0.1, 1e-8]


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


@pytest.mark.parametrize("model", ["mlp", "convolutions", "transformer"])
@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_training_is_that_of_the_mup_package(model, optimizer):
    """From the same weights, with their readout, groups and decay: to 12 digits."""
    make, inputs = MODELS[model]
    width = 4 * BASE
    roles = traced(make, inputs)
    if inputs.is_floating_point():
        inputs = inputs.double()
    other = theirs(
        make if model != "transformer" else lambda w, r: Transformer(w, r, power=-1), width
    ).double()
    ours = made(make, width).double()
    ours.load_state_dict(other.state_dict())
    widthwise.apply(ours, roles, "muP-multiplier")
    if model == "transformer":  # theirs is a mean, at the base width as well
        other.scale = (BASE // 2) ** 0.5 / (width // 2)
    settings = {"lr": 0.02, "weight_decay": 0.1}
    if optimizer == "sgd":
        groups = widthwise.param_groups(ours, roles, "muP-multiplier", torch.optim.SGD, 0.02, 0.1)
        mine = torch.optim.SGD(groups, momentum=0.9)
        their_own = mup.MuSGD(other.parameters(), momentum=0.9, **settings)
    else:
        eps = 1e-30  # mup leaves eps as it is
        groups = widthwise.param_groups(ours, roles, "muP-multiplier", "adamw", 0.02, 0.1, eps=eps)
        mine = torch.optim.AdamW(groups)
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
        widthwise.initialize(ours, roles, "muP-multiplier", generator)
        for name, value in values(ours).items():
            # Spreads are measured on one draw at the base width.
            few = made(make, BASE).get_parameter(name).numel()
            expected = float(other[name].square().mean().sqrt())
            spread = float(value.square().mean().sqrt())
            assert spread == pytest.approx(expected, rel=4 / few**0.5, abs=1e-9), name


def test_both_forms_of_mup_are_one_function():
    make, inputs = MODELS["mlp"]
    roles, found = traced(make, inputs), []
    for name in ("muP", "muP-multiplier"):
        model = made(make, 4 * BASE)
        widthwise.initialize(model, roles, name)
        with torch.no_grad():
            model.readout.bias.zero_()
        widthwise.apply(model, roles, name)
        groups = widthwise.param_groups(model, roles, name, "adam", 0.01)
        found.append(train(model, torch.optim.Adam(groups), inputs, 3))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)


def test_a_tied_readout_and_attention_have_their_factors():
    roles, width = traced(tied, TOKENS), 4 * BASE
    ours = widthwise.apply(made(tied, width).eval(), roles, "muP")
    plain = made(tied, width).eval()
    plain.scale = (BASE // 2) ** 0.5 / (width // 2)
    torch.testing.assert_close(ours(TOKENS), plain(TOKENS) / 4)
    with pytest.raises(UserError, match="LVP: no multiplier is defined for a tied readout"):
        widthwise.apply(made(tied, width), roles, "LVP")
    with pytest.raises(UserError, match="the model has its factors already"):
        widthwise.apply(ours, roles, "muP")


def test_factors_stay_through_copies_state_dicts_and_compilation():
    roles, width = traced(tied, TOKENS), 4 * BASE
    ours = widthwise.apply(made(tied, width).eval(), roles, "muP")
    expected = ours(TOKENS)
    other = widthwise.apply(made(tied, width, seed=1).eval(), roles, "muP")
    other.load_state_dict(ours.state_dict())
    compiled = torch.compile(ours, backend="eager")
    for model in (other, copy.deepcopy(ours), pickle.loads(pickle.dumps(ours)), compiled):
        torch.testing.assert_close(model(TOKENS), expected)
    assert ours.state_dict().keys() == made(tied, width).state_dict().keys()


class Functional(nn.Module):
    """A tied readout that is no layer."""

    def __init__(self, width):
        super().__init__()
        self.embedding, self.final = nn.Embedding(11, width), nn.LayerNorm(width)

    def forward(self, tokens):
        return F.linear(self.final(self.embedding(tokens)), self.embedding.weight)


def test_a_readout_that_is_no_layer_is_given_by_what_it_reads():
    roles, model = traced(Functional, TOKENS), made(Functional, 4 * BASE)
    expected = model(TOKENS) / 4
    with pytest.raises(UserError, match="embedding.weight: reads what it is given in the module"):
        widthwise.apply(model, roles, "muP")
    with pytest.raises(UserError, match="readout='last' is no module of the model"):
        widthwise.apply(model, roles, "muP", readout="last")
    widthwise.apply(model, roles, "muP", readout="final")
    torch.testing.assert_close(model(TOKENS), expected)


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
    make, inputs = MODELS["mlp"]
    roles, model = traced(make, inputs), made(make, 4 * BASE)
    widthwise.initialize(model, roles, str(path))
    groups = widthwise.param_groups(model, roles, str(path), "adamw", 0.1, 0.2)
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
        with pytest.raises(UserError, match=said) as error:
            widthwise.initialize(model, roles, str(path))
        assert str(error.value).startswith(str(path))
    with pytest.raises(UserError, match="there is no such file"):
        widthwise.initialize(model, roles, str(tmp_path / "none.py"))


def test_mistakes_are_one_line_that_names_the_thing():
    make, inputs = MODELS["mlp"]
    roles, model = traced(make, inputs), made(make, 2 * BASE)
    for arguments, said in (
        (("mup", "adam", 0.1), "unknown parametrization 'mup'"),
        (("muP", "adamm", 0.1), "optimizer adamm: did you mean 'adam"),
        (("muP", "adam", {"hidden": 0.1}), "lr has no rate for embedding, the kind of input.wei"),
        (("LVP", "sgd", 0.1), "LVP is defined for Adam-like optimizers only"),
    ):
        with pytest.raises(UserError, match=said):
            widthwise.param_groups(model, roles, *arguments)
    with pytest.raises(UserError, match="the model has no role for"):
        widthwise.param_groups(Net(BASE), roles, "muP", "adam", 0.1)


def test_groups_are_made_in_no_time():
    make, inputs = MODELS["mlp"]
    roles, model = traced(make, inputs), made(make, 2 * BASE)
    start = time.process_time()
    widthwise.param_groups(model, roles, "muP", "adam", 0.1)
    assert time.process_time() - start < 0.05


class Eager(Transformer):
    """Logits of its own making, scaled by a power of head_dim."""

    power = -0.5

    def forward(self, tokens):
        x = self.embedding(tokens)
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, 2, -1)).permute(2, 0, 3, 1, 4)
        y = ((q @ k.mT) * q.shape[-1] ** self.power).softmax(-1) @ v
        return self.readout(self.final(x + self.out(y.transpose(1, 2).flatten(2))))


class Mean(Eager):
    power = -1


def test_attention_that_no_hook_reaches_is_refused_unless_it_is_a_mean_already():
    roles = traced(Eager, TOKENS)
    with pytest.raises(UserError, match="^the module itself: computes its logits itself: scale"):
        widthwise.apply(made(Eager, 2 * BASE), roles, "muP")
    widthwise.apply(made(Eager, 2 * BASE), roles, "SP")
    widthwise.apply(made(Eager, BASE), roles, "muP")
    roles = traced(Mean, TOKENS)
    assert not roles.warnings
    widthwise.apply(made(Mean, 2 * BASE), roles, "muP")


def test_muon_is_for_a_model_of_one_s_own():
    """Matrices between two widths are Muon's, with one rate at every width; all else is AdamW's."""
    make, inputs = MODELS["mlp"]
    roles, model = traced(make, inputs), made(make, 4 * BASE)
    settings = {"momentum": 0.9, "adjust_lr_fn": "match_rms_adamw"}
    groups = widthwise.param_groups(model, roles, "muP", "muon", 0.1, 0.2, muon=settings)
    (ours,) = [group for group in groups if "adjust_lr_fn" in group]
    assert [id(p) for p in ours["params"]] == [id(model.hidden.weight)]
    assert (ours["lr"], ours["weight_decay"]) == (0.1, 0.2) and ours.items() >= settings.items()
    before = model.hidden.weight.detach().clone()
    optimizer = optimizer_class("muon")(groups)
    model(inputs).square().mean().backward()
    optimizer.step()
    assert not torch.equal(before, model.hidden.weight)
    if hasattr(torch.optim, "Muon"):  # from 2.9 on
        with pytest.raises(UserError, match="optimizer Muon: did you mean 'muon'"):
            widthwise.param_groups(model, roles, "muP", torch.optim.Muon, 0.1)
    conv, pixels = MODELS["convolutions"]
    with pytest.raises(UserError, match="has 4 axes and is no matrix"):
        widthwise.param_groups(made(conv, BASE), traced(conv, pixels), "muP", "muon", 0.1)


def test_a_factor_takes_the_place_of_the_table_s_and_the_decay_stays():
    make, inputs = MODELS["mlp"]
    roles, model = traced(make, inputs), made(make, 4 * BASE)

    def group(**factors):
        groups = widthwise.param_groups(model, roles, "muP", "adamw", 0.1, 0.2, **factors)
        (found,) = [g for g in groups if any(p is model.hidden.weight for p in g["params"])]
        return found

    table, own = group(), group(factors={"hidden.weight": 3.0})
    assert table["lr"] == pytest.approx(0.025) and own["lr"] == pytest.approx(0.3)
    assert own["lr"] * own["weight_decay"] == pytest.approx(table["lr"] * table["weight_decay"])


def test_what_is_known_of_an_optimizer_is_the_same_for_groups_and_for_widening():
    for name, (family, coupled) in OPTIMIZERS.items():
        if hasattr(torch.optim, name):
            update = UPDATES[getattr(torch.optim, name)]
            assert (update.degree, update.decoupled) == (DEGREE[family], not coupled), name
