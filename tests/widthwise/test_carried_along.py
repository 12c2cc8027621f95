"""What a widened model takes along: gradients, state, rates, noise, weights of its own."""

import copy
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from refusals import refused
from torch import nn
from torch.optim import lr_scheduler
from widened import adamw, pair, widen_mlp

import widthwise
from benchmarks.zoo.small import Tied, times
from benchmarks.zoo.to_widen import ROWS, TOKENS, mlp
from widthwise.upscaling.untying import untied


def loss(model, x=ROWS):
    output = model(x)
    return (output - torch.linspace(-1, 1, output.shape[-1])).square().mean()


def train(model, optimizer, x=ROWS, steps=3, scheduler=None):
    """The outputs after steps."""
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model, x).backward()
        optimizer.step()
        if scheduler:
            scheduler.step()
    return model(x).detach()


def test_a_tied_readout_is_untied_and_widened_exactly():
    torch.manual_seed(0)
    model = Tied(8).double()
    optimizer = adamw(model)
    train(model, optimizer, TOKENS)
    optimizer.zero_grad()
    with refused("is a readout too: .* or untie=True"):
        widthwise.widen(model, optimizer, 2, times(Tied), TOKENS)
    wide, grown, growth = widthwise.widen(model, optimizer, 2, times(Tied), TOKENS, untie=True)
    assert growth.untied == ("readout.weight",)
    assert wide.readout.weight is not wide.embedding.weight
    assert model.readout.weight is model.embedding.weight  # the narrow one is left as it was
    torch.testing.assert_close(wide(TOKENS), model(TOKENS), rtol=0, atol=1e-12)
    narrow, (own,) = untied(model, [optimizer], growth.untied)
    expected, found = train(narrow, own, TOKENS), train(wide, grown, TOKENS)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    shadow = growth.shadow(copy.deepcopy(model), wide)
    torch.testing.assert_close(shadow(TOKENS), model(TOKENS), rtol=0, atol=1e-12)


def test_what_cannot_be_untied_is_named():
    model = Tied(8).double()
    loss(model, TOKENS).backward()
    with refused("readout.weight has a gradient, the sum of"):
        widthwise.widen(model, None, 2, times(Tied), TOKENS, untie=True)

    without = partial(Tied, layer=False)
    with refused("is read in the module itself, which has no weights of"):
        widthwise.widen(without(8).double(), None, 2, times(without), TOKENS, untie=True)
    _, _, growth = widen_mlp(mlp(8).double(), untie=True)
    assert growth.untied == ()  # nothing is tied: nothing to do


@pytest.mark.parametrize("factor", [2, 3])
def test_gradients_that_are_summed_up_are_widened(factor):
    """They were dropped, and the first step after widening was of half a batch."""
    model, optimizer = pair()
    loss(model).backward()
    wide, grown, _ = widen_mlp(model, optimizer, factor)
    for one, each in ((model, optimizer), (wide, grown)):
        loss(one, ROWS.flip(0)).backward()
        each.step()
    torch.testing.assert_close(wide(ROWS), model(ROWS), rtol=0, atol=1e-12)


def test_groups_keep_their_names_and_their_scale():
    model = mlp(8).double()
    names = [name for name, _ in model.named_parameters()]
    group = {"params": list(model.parameters()), "names": names, "lr": 0.04, "lr_scale": 4.0}
    optimizer = torch.optim.AdamW([group], eps=1e-3)
    wide, grown, _ = widen_mlp(model, optimizer)
    parameters = dict(wide.named_parameters())
    for group in grown.param_groups:
        assert [parameters[name] for name in group["names"]] == group["params"]
        assert group["lr"] == 0.01 * group["lr_scale"]
    assert sorted(name for group in grown.param_groups for name in group["names"]) == sorted(names)


def test_an_optimizer_of_named_parameters_keeps_the_names():
    model = mlp(8).double()
    optimizer = torch.optim.AdamW(model.named_parameters(), lr=0.01)
    _, grown, _ = widen_mlp(model, optimizer)
    assert [group["param_names"] for group in grown.param_groups] == [
        group["names"] for group in grown.param_groups
    ]


@pytest.mark.parametrize("scheduled", [False, True])
def test_a_widened_pair_is_saved_and_resumed(scheduled, tmp_path):
    """A fresh AdamW has another number of groups and refuses the state."""

    def one_cycle(optimizer):
        return lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=20) if scheduled else None

    torch.manual_seed(0)
    model, optimizer = pair()
    scheduler = one_cycle(optimizer)
    train(model, optimizer, scheduler=scheduler)
    wide, grown, growth = widen_mlp(model, optimizer)
    again = growth.schedule(scheduler, grown) if scheduled else None
    train(wide, grown, scheduler=again)
    saved = {"model": wide.state_dict(), "optimizer": grown.state_dict()}
    saved |= {"scheduler": again.state_dict()} if scheduled else {}
    torch.save(saved, tmp_path / "wide.pt")
    expected = train(wide, grown, scheduler=again)

    saved = torch.load(tmp_path / "wide.pt", weights_only=True)
    fresh = times(mlp)(2)
    fresh.load_state_dict(saved["model"])
    with pytest.raises(ValueError, match="different number of parameter groups"):
        adamw(fresh).load_state_dict(saved["optimizer"])
    resumed = widthwise.resume(torch.optim.AdamW, fresh, saved["optimizer"])
    scheduler = one_cycle(resumed)
    if scheduler:  # which sets rates of its own when it is made
        resumed.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
    assert torch.equal(train(fresh, resumed, scheduler=scheduler), expected)
    with refused("resume: the state's groups do not name"):
        widthwise.resume(torch.optim.AdamW, fresh, adamw(fresh).state_dict())


@pytest.mark.parametrize("settings", [{}, {"fused": True}, {"capturable": False}])
def test_a_counter_is_where_torch_s_own_would_be(settings):
    model, optimizer = pair(**settings)
    train(model, optimizer)
    wide, grown, _ = widen_mlp(model, optimizer)
    fresh = adamw(times(mlp)(2), **settings)
    train(copy.deepcopy(wide), fresh, steps=0)
    step = next(iter(grown.state.values()))["step"]
    assert (step.device.type, float(step)) == ("cpu", 3.0)


def test_noise_sets_the_copies_of_any_module_free():
    torch.manual_seed(0)
    model = mlp(64).double()
    wide, _, growth = widthwise.widen(model, None, 2, times(mlp, 64), ROWS)
    before = copy.deepcopy(wide)
    generator = torch.Generator().manual_seed(0)
    constants = widthwise.perturb(wide, growth, 0.5, generator)
    assert set(constants.values()) == {0.5}
    change = {
        name: (p - before.get_parameter(name)).detach() for name, p in wide.named_parameters()
    }
    hidden = change["2.weight"]
    assert float(hidden.std()) == pytest.approx(0.5 * hidden.shape[1] ** -0.5, rel=0.05)
    assert not any(change[name].any() for name in change if name.endswith("bias"))
    _, inside = widthwise.upscaling.subspace_distance(before.named_parameters(), growth)
    outside, _ = widthwise.upscaling.subspace_distance(wide.named_parameters(), growth)
    assert outside > 0.05 * inside
    ratio = 0.1
    wide = copy.deepcopy(before)
    widthwise.perturb(wide, growth, ratio, generator, signal=True)
    norms = [
        float(torch.linalg.matrix_norm(each.detach(), 2))
        for each in (wide[2].weight - before[2].weight, before[2].weight)
    ]
    assert norms[0] == pytest.approx(ratio * norms[1], rel=1e-4)


def test_noise_needs_to_know_what_the_parameters_are():
    model = mlp(8).double()
    wide, _, growth = widthwise.widen(model, None, 2, times(mlp), unchecked=True)
    generator = torch.Generator()
    with refused("widened without inputs"):
        widthwise.perturb(wide, growth, 0.1, generator)
    wide, _, growth = widen_mlp(model)
    with refused("choose paper or code"):
        widthwise.perturb(wide, growth, 0.1, generator, convention="code-raw")


class Rotary(nn.Module):
    """Queries turned by complex numbers in a buffer, as Meta's Llama has them."""

    freqs_cis: torch.Tensor

    def __init__(self, factor, head_dim=4):
        super().__init__()
        width = 2 * head_dim * factor
        self.head_dim, self.first = head_dim, nn.Linear(5, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, 3)
        angles = torch.outer(torch.arange(16.0), 10.0 ** -torch.arange(head_dim // 2))
        self.register_buffer("freqs_cis", torch.polar(torch.ones_like(angles), angles))

    def turned(self, x):
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * self.freqs_cis[: x.shape[-2]]).flatten(-2).type_as(x)

    def forward(self, x):
        x = self.first(x)[None]
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k, v = (t.unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(self.turned(q), self.turned(k), v)
        return self.out(y.transpose(1, 2).flatten(2))


@pytest.mark.parametrize("unchecked", [False, True])
def test_complex_numbers_stay_complex(unchecked):
    torch.manual_seed(0)
    model, x = Rotary(1), ROWS.float()
    given = {"block": 4} if unchecked else {}
    wide, _, _ = widthwise.widen(
        model, None, 2, Rotary, None if unchecked else x, unchecked=unchecked, **given
    )
    assert torch.equal(wide.freqs_cis, model.freqs_cis)
    torch.testing.assert_close(wide(x), model(x))


class Spectral(nn.Module):
    """A complex weight between two widths, as a Fourier operator has it."""

    def __init__(self, width):
        super().__init__()
        self.first, self.out = nn.Linear(5, width), nn.Linear(width, 3)
        self.weight = nn.Parameter(torch.randn(width, width, dtype=torch.complex64) * width**-0.5)

    def forward(self, x):
        turned = torch.fft.fft(self.first(x), dim=0) @ self.weight
        return self.out(torch.fft.ifft(turned, dim=0).real)


def test_a_complex_parameter_is_widened():
    torch.manual_seed(0)
    model, x = Spectral(8), ROWS.float()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    wide, grown, _ = widthwise.widen(model, optimizer, 2, lambda k: Spectral(8 * k), x)
    torch.testing.assert_close(train(wide, grown, x), train(model, optimizer, x))


def test_a_rate_of_0_is_warned_of():
    model = mlp(8).double()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0)
    with pytest.warns(UserWarning, match="every learning rate is 0, as at the end of a schedule"):
        widen_mlp(model, optimizer)
