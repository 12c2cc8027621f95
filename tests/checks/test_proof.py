"""`roles` holds what it says against numbers, and what does not hold is told by name."""

import math
import warnings
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import widthwise as ww
from benchmarks.zoo.small import Stack, Tied, Transformer, mlp

BASE = 32
ROWS = torch.randn(8, 6, generator=torch.Generator().manual_seed(0))
TOKENS = torch.arange(16).reshape(2, 8) % 11


class By(nn.Module):
    """A layer whose weight is made of parameters by a function."""

    def __init__(self, width, form, both=False):
        super().__init__()
        self.a = nn.Parameter(torch.randn(width, width) * width**-0.5)
        self.b = nn.Parameter(torch.randn(width, width)) if both else None
        self.form = form

    def forward(self, x):
        return F.linear(x, self.form(self.a) if self.b is None else self.form(self.a, self.b))


def made(form, width, both=False):
    layer = By(width, form, both)
    return nn.Sequential(nn.Linear(6, width), nn.ReLU(), layer, nn.ReLU(), nn.Linear(width, 4))


WRONG = {
    "softplus": (F.softplus, "1.0"),
    "exp": (torch.exp, "1.0"),
    "abs": (torch.abs, "0.5"),
    "sign": (lambda w: (torch.sign(w) - w).detach() + w, "0.5"),
    "relu": (torch.relu, "0.5"),
}
RIGHT = {
    "plain": (lambda a: a, False),
    "normalized": (lambda a: F.normalize(a, dim=1), False),
    "a product": (torch.mul, True),
    "a square with its sign": (lambda a: a * a.abs(), False),
    "a product of three": (lambda a, b: a * b * b, True),
}


def proved(make, inputs, **more):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        roles = ww.roles(make, BASE, inputs, **more)
    return roles, [str(each.message) for each in caught if "roles: " in str(each.message)]


@pytest.mark.parametrize("case", WRONG)
def test_a_weight_by_a_function_of_no_degree_is_told(case, tmp_path):
    form, power = WRONG[case]
    roles, (line,) = proved(partial(made, form), ROWS)
    assert line.startswith("roles: 2") and "what it gives follows the width as width^" in line
    assert float(line.partition("width^")[2].split(",")[0]) == pytest.approx(float(power), abs=0.1)
    assert line.removeprefix("roles: ") in roles.warnings and line in f"roles: {roles}" + line
    answered, lines = proved(partial(made, form), ROWS, given={"2.a": "hidden"})
    assert not lines and answered["2.a"].kind == "hidden"
    unproved, lines = proved(partial(made, form), ROWS, prove=False)
    assert not lines and str(unproved).endswith("not proved: prove=False")
    roles.save(tmp_path / "roles.json")
    assert str(ww.Roles.load(tmp_path / "roles.json")) == str(roles)


@pytest.mark.parametrize("case", RIGHT)
def test_factors_of_a_weight_share_the_power(case):
    form, both = RIGHT[case]
    roles, lines = proved(partial(made, form, both=both), ROWS)
    assert not lines
    assert roles.proof.startswith("4 of 4 modules keep their size and change at widths 32, 64, 128")


MODELS = {
    "mlp": (mlp(6, 3), ROWS),
    "stack": (partial(Stack, vocabulary=11, tied=True), TOKENS),
    "transformer": (Transformer, TOKENS),
    "tied": (Tied, TOKENS),
}


@pytest.mark.parametrize("case", MODELS)
def test_a_right_model_is_proved_without_a_word(case):
    """Whatever it was begun with; random numbers stay the user's."""
    make, inputs = MODELS[case]
    torch.manual_seed(0)
    roles, lines = proved(make, inputs)
    count, total = roles.proof.split()[0], roles.proof.split()[2]
    assert not lines and count == total and str(roles).endswith(roles.proof)
    drawn = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(drawn, torch.rand(1))


class ScaleNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.g = nn.Parameter(torch.tensor(width**0.5))

    def forward(self, x):
        return self.g * F.normalize(x, dim=-1)


def test_a_number_begun_as_a_power_of_the_width_counts_as_that():
    roles, lines = proved(
        lambda n: nn.Sequential(nn.Linear(6, n), ScaleNorm(n), nn.Linear(n, n), nn.Linear(n, 3)),
        ROWS,
    )
    assert not lines and roles["2.weight"].own == 0 and roles.found["1.g"].follows == 0.5


class Relative(nn.Module):
    """Logits of Transformer-XL: (q + u) k + (q + w) r."""

    def __init__(self, width):
        super().__init__()
        self.entry, self.out = nn.Linear(6, width), nn.Linear(width, 3)
        self.q, self.k, self.v, self.r = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.u, self.w = (nn.Parameter(torch.randn(width) * 0.1) for _ in range(2))
        self.register_buffer("place", torch.outer(torch.arange(8.0), torch.arange(width)).sin())

    def forward(self, x):
        x = self.entry(x)
        q, r = self.q(x), self.r(self.place)
        shifted = F.pad((q + self.w) @ r.mT, (1, 0))[:, 1:]
        logits = ((q + self.u) @ self.k(x).mT + shifted) * x.shape[-1] ** -0.5
        return self.out(logits.softmax(-1) @ self.v(x))


def test_every_term_of_a_logit_holds_its_factor():
    roles, _ = proved(Relative, ROWS)
    (factor,) = ww.plan(Relative(4 * BASE), roles, "muP").factors
    assert factor.held == dict.fromkeys(("q.weight", "u", "w"), pytest.approx(0.5))


def test_what_cannot_be_run_is_not_proved_and_says_why():
    def make(width):
        if width > 2 * BASE:
            raise ValueError("no such width")
        return mlp(6, 3)(width)

    roles, lines = proved(make, ROWS)
    assert not lines and roles.proof.startswith("not proved: make(128) failed: ValueError: no such")
    assert math.isfinite(roles["0.weight"].std)


class ChannelAttention(nn.Module):
    """XCiT's: channels attend to those of their head, over which it is a mean; times: of that."""

    def __init__(self, width, heads, times):
        super().__init__()
        self.heads, self.times = heads, times
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(x).mT.unflatten(1, (3, self.heads, -1)).unbind(1)
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        mean = (q @ k.mT).softmax(-1) @ v
        return x + self.out((mean * self.times(mean.shape[2])).flatten(1, 2).mT)


def over_channels(width, grows=True, times=lambda head_dim: 1.0):
    width *= 4
    layers = [ChannelAttention(width, 2 if grows else width // 8, times) for _ in range(2)]
    return nn.Sequential(nn.Linear(6, width), *layers, nn.LayerNorm(width), nn.Linear(width, 3))


IMAGES = torch.randn(4, 8, 6, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("grows", [False, True])
def test_a_mean_over_channels_begins_as_a_random_one_and_learns(grows):
    """In attention over an axis that grows what is random falls as width^-1/2 and is right."""
    roles, lines = proved(partial(over_channels, grows=grows), IMAGES)
    assert not lines and roles.proof.startswith("10 of 10 modules")


def test_a_mean_over_channels_that_is_divided_once_more_is_told():
    """By numbers an entry each, which no trace follows."""

    def times(head_dim):
        return torch.full((head_dim, 1), 16 / head_dim)

    _, (line,) = proved(partial(over_channels, times=times), IMAGES)
    power = float(line.partition("width^")[2].split(",")[0])
    assert line.startswith("roles: 1.") and power == pytest.approx(-1.5, abs=0.2)
