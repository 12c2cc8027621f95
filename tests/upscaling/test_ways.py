"""Ways of growing a model: zeros, which keep the function, and shrinking, which does not."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from widened import adamw

import widthwise
from benchmarks.zoo.small import times
from benchmarks.zoo.to_widen import ROWS, cases, mlp
from repro.errors import UserError
from tests.upscaling.test_own_widening import HEAVY, apart, step

CASES = {name: case for name, case in cases().items() if not any(h in name for h in HEAVY)}
# What takes a statistic over an axis that grows, or scales logits by it -> the layer that is named.
REFUSED = {
    "GroupNorm, groups fixed": "1: its output",
    "tied language model": "norm: its output",
    "tied language model, logits by 1/n": "norm: its output",
    "nn.TransformerEncoderLayer": "2.self_attn: its output",
    "nn.TransformerEncoderLayer, heads grow": "2.norm1: its output",
    "experts are the width": "its output",
    "noise": "draws random numbers",
}


def trained(make, inputs=ROWS):
    torch.manual_seed(0)
    model = make(8).double()
    optimizer = adamw(model, lr=0.02)
    for _ in range(2):
        step(model, optimizer, x=inputs)
    return model, optimizer


@pytest.mark.parametrize("name", CASES)
def test_zeros_keep_the_function_or_name_the_layer_that_counts_them(name):
    make, inputs, _ = CASES[name]
    model, optimizer = trained(make, inputs)

    def widen():
        return widthwise.widen(model, optimizer, 2, times(make), inputs, by="zeros")

    if name in REFUSED:
        with pytest.raises(UserError, match=REFUSED[name]) as caught:
            widen()
        assert "\n" not in str(caught.value)
        return
    wide, grown, _ = widen()
    model.eval(), wide.eval()
    # A mixer's last bias moves the new channels from 0, so that they train.
    steps = 1 if "Mixer" in name else 6
    assert apart((model, optimizer), (wide, grown), steps, inputs) <= 1e-12


class Attention(nn.Module):
    """One head as wide as the model, logits by head_dim^-1/2, no norm."""

    def __init__(self, width):
        super().__init__()
        self.first, self.out = nn.Linear(5, width), nn.Linear(width, 3)
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        x = self.first(x)[None]
        return self.out(F.scaled_dot_product_attention(self.q(x), self.k(x), self.v(x)))[0]


def test_logits_that_fall_with_head_dim_are_held_where_that_is_asked_for():
    model, optimizer = trained(Attention)
    with pytest.raises(UserError, match="counts its zeros"):
        widthwise.widen(model, optimizer, 4, times(Attention), ROWS, by="zeros")
    wide, grown, growth = widthwise.widen(
        model, optimizer, 4, times(Attention), ROWS, by="zeros", scale_logits=True
    )
    assert growth["q.weight"].weight == pytest.approx(2)
    assert apart((model, optimizer), (wide, grown)) <= 1e-12


def test_zeros_have_no_state_until_noise_frees_them(tmp_path):
    model, optimizer = trained(mlp)
    wide, grown, growth = widthwise.widen(model, optimizer, 3, times(mlp), ROWS, by="zeros")
    for name, parameter in model.named_parameters():
        each, other = growth[name], wide.get_parameter(name)
        assert torch.equal(other, each.project(other))
        for key in ("exp_avg", "exp_avg_sq"):
            found, own = grown.state[other][key], optimizer.state[parameter][key]
            assert found.count_nonzero() == own.count_nonzero()
            assert torch.equal(found, each.repeat(own))
        assert grown.state[other]["step"] == 2
    assert widthwise.upscaling.subspace_distance(wide.named_parameters(), growth)[0] == 0
    widthwise.perturb(wide, growth, 0.1, torch.Generator().manual_seed(1))
    assert widthwise.upscaling.subspace_distance(wide.named_parameters(), growth)[0] > 0.1
    step(wide, grown)
    # Saved and resumed it goes on with the same steps.
    torch.save([wide.state_dict(), grown.state_dict()], tmp_path / "saved.pt")
    weights, state = torch.load(tmp_path / "saved.pt")
    again = mlp(24).double()
    again.load_state_dict(weights)
    resumed = widthwise.resume(torch.optim.AdamW, again, state)
    assert apart((wide, grown), (again, resumed)) == 0


@pytest.mark.parametrize("traced", [True, False])
def test_shrinking_draws_new_entries_by_the_recipe_at_the_wide_width(traced):
    make = times(lambda width: mlp(32 * width // 8))
    torch.manual_seed(0)
    model = make(1).double()
    optimizer = adamw(model, lr=0.02)
    step(model, optimizer)
    model.get_parameter("0.weight").grad = torch.ones_like(model.get_parameter("0.weight"))
    plans = []

    def draw(wide):
        roles = widthwise.roles(make, 1, ROWS)
        plans.append(widthwise.plan(wide, roles, "muP").init_(torch.Generator().manual_seed(2)))

    given = {"inputs": ROWS} if traced else {"unchecked": True}
    wide, grown, growth = widthwise.widen(
        model, optimizer, 8, make, by="shrink", shrink=0.25, draw=draw, **given
    )
    for name, parameter in wide.named_parameters():
        each, old = growth[name], model.get_parameter(name)
        new = parameter.detach()[each.repeat(torch.ones_like(old)) == 0]
        torch.testing.assert_close(each.project(parameter), each.repeat(old, 0.25))
        if parameter.ndim == 2:
            assert float(new.std()) == pytest.approx(plans[0].std(name), rel=0.15), name
        assert parameter.grad is None
    assert not grown.state
    assert [g["lr"] for g in grown.param_groups] == [0.02]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"by": "halves"}, "by 'halves': choose from copies, zeros, shrink"),
        ({"by": "shrink", "shrink": 0.0}, "shrink 0.0: give a number above 0"),
        ({"draw": print}, "draw is of by="),
        ({"by": "shrink", "scale_logits": True}, "scale_logits keeps the function"),
    ],
)
def test_what_does_not_go_with_a_way_is_a_line(changes, says):
    with pytest.raises(UserError, match=says) as caught:
        widthwise.widen(mlp(8).double(), None, 2, times(mlp), ROWS, **changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("norm", [nn.LayerNorm, nn.RMSNorm])
def test_a_norm_over_what_grows_is_named_without_inputs_too(norm):
    def make(factor):
        return nn.Sequential(nn.Linear(5, 8 * factor), norm(8 * factor), nn.Linear(8 * factor, 3))

    with pytest.raises(UserError, match="1: a norm over an axis that grows"):
        widthwise.widen(make(1), None, 2, make, unchecked=True, by="zeros")
    widthwise.widen(make(1), None, 2, make, unchecked=True, by="shrink")
