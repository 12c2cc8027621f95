"""The coordinate check of a model of one's own."""

from dataclasses import replace
from functools import cache

import pytest
import torch
from refusals import refused
from torch import nn

import widthwise
from benchmarks.zoo.small import mlp
from widthwise.__main__ import main
from widthwise.checks.seen import blocks

WIDTHS = [64, 128, 256]


make = mlp(6, 4)


def batches(seed):
    generator = torch.Generator().manual_seed(100 + seed)
    x = torch.randn(64, 6, generator=generator)
    return [(x, torch.randint(4, (64,), generator=generator))]


def check(recipe, **more):
    return widthwise.coordinate_check(make, recipe, batches, WIDTHS, lr=0.02, **more)


def test_mup_is_told_from_sp_and_s_1_from_s_one_half():
    assert check("muP").verdict == check("maximal-update").verdict == "right"
    found = check("SP")
    assert found.verdict == "wrong" and not found.passed
    assert "grows with the width, slope" in found.reason and found.reason in str(found)
    # Its features change as n^-1/4: between two powers of the tables, the tolerance's very edge.
    assert check("s=0.5").verdict != "right"
    assert "vanishes with the width" in check("s=0.5", tolerance=0.1).reason


class Normed(nn.Module):
    """A hidden layer whose weight is a parametrization's output."""

    def __init__(self, width, kind):
        super().__init__()
        self.i, self.h, self.o = nn.Linear(6, width), nn.Linear(width, width), nn.Linear(width, 4)
        kind(self.h)

    def forward(self, x):
        return self.o(self.h(self.i(x).tanh()).tanh())


@pytest.mark.filterwarnings("ignore:roles:UserWarning")
@pytest.mark.parametrize("kind", ["weight_norm", "orthogonal"])
def test_what_a_parametrization_returns_is_a_weight_and_no_stream(kind):
    """Found in review: its change of 1/n, as muP has it, was taken for one that vanishes."""
    found = widthwise.coordinate_check(
        lambda width: Normed(width, getattr(nn.utils.parametrizations, kind)),
        "muP",
        batches,
        WIDTHS,
        lr=0.01,
        seeds=2,
    )
    assert found.verdict != "wrong"
    assert {s.layer for s in found.slopes if s.quantity == "stream size"} == {"i", "h"}
    assert blocks(Normed(8, getattr(nn.utils.parametrizations, kind))) == ["i", "h", "o"]


def test_an_optimizer_that_is_not_the_recipe_s_is_said():
    found = check("muP", optimizer=torch.optim.SGD, seeds=2)
    assert found.verdict != "right"
    assert "the optimizer is not the recipe's: " in found.reason
    assert "for adamw, and SGD makes other steps" in found.reason
    assert "the optimizer is not" not in str(check("SP", optimizer=torch.optim.AdamW, seeds=2))
    with refused("Adafactor.step: TypeError: cannot unpack"):
        check("muP", optimizer=torch.optim.Adafactor)


def test_muon_s_updates_are_held_against_the_width_too():
    found = {name: check(widthwise.recipe(name, "muon")) for name in ("muP", "SP")}
    assert found["muP"].passed and found["SP"].verdict == "wrong"


def test_updates_in_the_midst_of_training_are_told_too():
    assert check("muP", after=12, seeds=5).passed
    assert check("SP", after=12, seeds=5).verdict == "wrong"


def decays(model, wrong):
    """AdamW under muP; wrong: its decay is not scaled, as the mup package's once was not."""
    found = widthwise.roles(make, WIDTHS[0], torch.zeros(2, 6))
    groups = widthwise.plan(model, found, "muP").init_().groups(0.02, 1.0)
    return torch.optim.AdamW([g | ({"weight_decay": 1.0} if wrong else {}) for g in groups])


def test_a_decay_that_is_not_scaled_shows():
    """Not in activations: a step without gradients takes lr * weight_decay of a weight away."""
    for wrong in (False, True):
        found = check(None, optimizer=lambda model, w=wrong: decays(model, w), steps=1, seeds=2)
        decay = {s.layer: s for s in found.slopes if s.quantity == "decay"}
        verdict = "vanishes" if wrong else "right"
        assert [s.verdict for s in decay.values()] == ["right", verdict, verdict]
        assert decay["2.weight"].slope == pytest.approx(-1 if wrong else 0, abs=1e-3)
    coupled = check(widthwise.recipe("muP", "adam", "coupled"), weight_decay=0.1, seeds=2, steps=1)
    assert "decay" not in {s.quantity for s in coupled.slopes}


def test_random_numbers_of_the_user_s_stay_and_a_plot_is_drawn(tmp_path):
    before = torch.get_rng_state()
    found = check(widthwise.recipe("muP", torch.optim.SGD), steps=1, seeds=2)
    assert torch.equal(torch.get_rng_state(), before)
    found.plot(tmp_path / "check.png")
    assert (tmp_path / "check.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"steps": 0}, "without a step nothing changes"),
        ({"recipe": None}, "give optimizer= as a function of the model"),
        ({"widths": [64]}, "give two or more"),
        ({"batches": []}, "or mappings of keywords, and holds nothing"),
        ({"loss": lambda m, b: m(b[0]).sum() / 0}, "at step 0: lower lr"),
        ({"lr": 0.0}, "lr 0.0: give a rate above 0"),
        ({"tolerance": 0.0}, "tolerance 0.0: give one above 0"),
        ({"make": cache(make)}, "make(64) returns the same module twice"),
    ],
)
def test_mistakes_are_one_line(more, said):
    arguments = {"make": make, "recipe": "muP", "batches": batches, "widths": WIDTHS} | more
    with refused() as error:
        widthwise.coordinate_check(**arguments)
    assert said in str(error.value)


FILE = """
import torch
from torch import nn

WIDTHS = [64, 128, 256]


def make(width):
    return nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
                         nn.Linear(width, 4))


def batches(seed):
    x = torch.randn(64, 6, generator=torch.Generator().manual_seed(seed))
    return [(x, x[:, :4])]
"""


def test_the_command_checks_a_file_and_fails_where_the_check_does(tmp_path, capsys):
    path = tmp_path / "model.py"
    path.write_text(FILE)
    words = ["check", f"{path}:make", "--seeds", "3", "--lr", "0.02"]
    assert main([*words, "--recipe", "muP"]) == 0
    assert "slopes are as muP has them over widths [64, 128, 256]" in capsys.readouterr().out
    assert main([*words, "--recipe", "SP"]) == 1
    told = capsys.readouterr()
    assert "grows" in told.out and told.err.startswith(f"error: coordinate-check: {path}:make: ")
    for changed, said in (
        ([f"{path}:made", "muP"], "defines no made; did you mean 'make'?"),
        ([f"{path}x:make", "muP"], "there is no such file"),
        ([f"{path}:make", "mup"], "unknown parametrization 'mup'"),
    ):
        assert main(["check", changed[0], "--recipe", changed[1]]) == 1
        assert said in capsys.readouterr().err
    path.write_text(FILE.replace("def batches", "def data"))
    assert main([*words, "--recipe", "muP"]) == 1
    assert "defines no batches (seed -> [(inputs, targets), ...])" in capsys.readouterr().err


class ByHand(nn.Module):
    """muP by hand; what it does in place changes nothing that it returns."""

    def __init__(self, width, in_place):
        super().__init__()
        self.first, self.hidden = nn.Linear(6, width), nn.Linear(width, width, bias=False)
        self.norm, self.last = nn.LayerNorm(width), nn.Linear(width, 4)
        nn.init.normal_(self.hidden.weight, std=width**-0.5)
        nn.init.normal_(self.last.weight, std=WIDTHS[0] ** -0.5)
        self.scale, self.in_place = WIDTHS[0] / width, in_place

    def forward(self, x):
        x = self.first(x).tanh()
        q = self.hidden(x).unsqueeze(0)
        logits = torch.bmm(q, q.mT)
        if self.in_place:
            logits.mul_(16 / q.shape[-1])
            logits += 1.0
        else:
            logits = logits * (16 / q.shape[-1]) + 1.0
        x = self.norm(x + (logits.softmax(-1) @ x)[0])
        if self.in_place:  # as EleutherAI/nanoGPT-mup has it, model.py, line 219
            x *= self.scale
        else:
            x = x * self.scale
        return self.last(x)


def test_what_a_model_changes_in_place_is_seen_as_it_was():
    def own(model):
        hidden = [model.hidden.weight]
        rest = [p for p in model.parameters() if p is not hidden[0]]
        groups = [{"params": hidden, "lr": 0.01 * model.scale}, {"params": rest, "lr": 0.01}]
        return torch.optim.Adam(groups)

    found = [
        widthwise.coordinate_check(
            lambda width, p=in_place: ByHand(width, p),
            None,
            batches,
            WIDTHS,
            optimizer=own,
            seeds=2,
        )
        for in_place in (False, True)
    ]
    assert str(found[0]) == str(found[1])
    assert any(each.quantity == "logits size" for each in found[0].slopes)


class Retention(nn.Module):
    """Attention without a softmax, whose logits no slope shows."""

    def __init__(self, width):
        super().__init__()
        self.embed, self.out = nn.Linear(6, width), nn.Linear(width, 4)
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in "qkv")
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        x = self.embed(x)
        q, k = self.q(x), self.k(x)
        return self.out(self.norm(x + torch.sigmoid(q @ k.mT * q.shape[-1] ** -0.5) @ self.v(x)))


@pytest.mark.filterwarnings("ignore:roles:UserWarning")
def test_what_roles_warns_of_and_no_slope_shows_makes_a_right_check_unclear():
    said = []
    found = widthwise.coordinate_check(
        Retention, "muP", batches, WIDTHS, lr=0.003, seeds=2, progress=said.append
    )
    assert found.verdict != "right" and not found.passed
    assert found.unseen and f"warning: {found.unseen[0]}" in str(found)
    assert len(said) == 6 and said[0] == "coordinate-check: 64, seed 0: 4 steps"
    right = replace(found, slopes=tuple(s for s in found.slopes if s.verdict == "right"))
    assert right.verdict == "unclear"
    assert right.reason.startswith(f"unclear: {len(right.slopes)} slopes are right, but the module")
    assert replace(right, unseen=()).verdict == "right"
