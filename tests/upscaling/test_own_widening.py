"""Widening of modules of one's own: which are right, which are refused, and what goes along."""

import copy
import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from refusals import refused
from torch import nn
from torch.optim import lr_scheduler
from widened import adamw, pair, widen_mlp

import widthwise
from benchmarks.zoo.small import Tied, Transformer, stepwise, times
from benchmarks.zoo.to_widen import ROWS, TOKENS, cases, mlp, mup_model


def step(model, *optimizers, x=ROWS, clip=None):
    """The outputs before a step of training."""
    outputs = model(x)
    outputs = outputs if torch.is_tensor(outputs) else outputs.logits
    for optimizer in optimizers:
        optimizer.zero_grad()
    target = torch.linspace(-1, 1, outputs.shape[-1], dtype=outputs.dtype)
    (outputs - target).square().mean().backward()
    if clip:
        clip()
    for optimizer in optimizers:
        optimizer.step()
    return outputs.detach()


def apart(narrow, wide, steps=6, x=ROWS, between=lambda: None):
    """The largest difference between outputs as two models train on, each with its optimizers."""
    worst = 0.0
    for _ in range(steps):
        expected = step(*narrow, x=x)
        worst = max(worst, float((step(*wide, x=x) - expected).abs().max()))
        between()
    return worst


# Their packages take seconds to import.
HEAVY = ("timm", "ViT", "torchvision", "squeeze", "Hugging Face", "GPT-2", "DropPath")
NAMED = [
    pytest.param(name, marks=pytest.mark.slow) if any(h in name for h in HEAVY) else name
    for name in cases()
]


@pytest.mark.parametrize("name", NAMED)
def test_a_module_is_widened_right_or_refused_by_the_layer_that_differs(name):
    make, inputs, why = cases()[name]
    torch.manual_seed(0)
    model = make(8).double()
    optimizer = (
        torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=0.1)
        if len(name) % 2
        else adamw(model, lr=0.02)
    )
    for _ in range(2):
        step(model, optimizer, x=inputs)
    if why:
        with refused(why):
            widthwise.widen(model, optimizer, 2, times(make), inputs)
        return
    wide, grown, _ = widthwise.widen(model, optimizer, 2, times(make), inputs)
    # Without dropout, which draws another mask at another width.
    model.eval(), wide.eval()
    # Llama's norms are computed in float32, whatever its parameters are.
    bound = 1e-6 if "Llama" in name else 1e-12
    assert apart((model, optimizer), (wide, grown), x=inputs) <= bound


def zeroed(width, power):
    """Branch and readout start at zero, as is often done."""
    model = Transformer(width, heads=1, attend=partial(stepwise, power=power))
    for layer in (model.attention.out, model.readout):
        nn.init.zeros_(layer.weight)
    return model


def test_zeros_hide_nothing():
    right, wrong = (times(partial(zeroed, power=power)) for power in (-1, -0.5))
    widthwise.widen(right(1), None, 2, right, TOKENS)
    with refused("its output differs .* as head_dim\\^-0.5"):
        widthwise.widen(wrong(1), None, 2, wrong, TOKENS)


def bias_free(widths):
    layers = [nn.Linear(a, b, bias=False) for a, b in zip(widths, widths[1:], strict=False)]
    return nn.Sequential(*[m for layer in layers for m in (layer, nn.Tanh())][:-1]).double()


def chain(factors):
    """An MLP of equation 1 with four layers; factors: k_1, k_2, k_3."""
    return bias_free([5, *(4 * k for k in factors), 3])


@pytest.mark.parametrize("factors", [(2, 2, 2), (2, 3, 5), (1, 4, 1)])
def test_proposition_2_1_the_widened_mlp_is_the_same_function(factors):
    model = chain((1, 1, 1))
    wide, _, growth = widthwise.widen(model, None, factors, chain, ROWS)
    torch.testing.assert_close(wide(ROWS), model(ROWS), rtol=0, atol=1e-12)
    k = (1, *factors, 1)
    for i, name in enumerate(("0.weight", "2.weight", "4.weight", "6.weight")):
        assert (growth[name].k_in, growth[name].k_out) == (k[i], k[i + 1])
        narrow = model.get_parameter(name)
        expected = torch.kron(narrow * (1 / k[i]), torch.ones(k[i + 1], k[i], dtype=narrow.dtype))
        assert torch.equal(wide.get_parameter(name), expected)


@pytest.mark.parametrize("factors", [(2, 2, 2), (2, 3, 5)])
def test_proposition_2_2_it_trains_with_sgd_as_the_base_does(factors):
    model = chain((1, 1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    wide, grown, _ = widthwise.widen(model, optimizer, factors, chain, ROWS)
    rates = {id(p): group["lr"] for group in grown.param_groups for p in group["params"]}
    k = (1, *factors, 1)
    found = [rates[id(p)] for p in wide.parameters()]
    assert found == pytest.approx([0.1 * k[i + 1] / k[i] for i in range(4)])
    assert apart((model, optimizer), (wide, grown), 20) <= 1e-12


OPTIMIZERS = {
    "momentum": lambda p: torch.optim.SGD(
        p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.1
    ),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.02, eps=1e-3, weight_decay=0.1, amsgrad=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.02, eps=1e-3, weight_decay=0.1),
    "NAdam": lambda p: torch.optim.NAdam(p, lr=0.02, eps=1e-3, weight_decay=0.1),
    "NAdam, decoupled": lambda p: torch.optim.NAdam(
        p, lr=0.02, eps=1e-3, weight_decay=0.1, decoupled_weight_decay=True
    ),
    "Adamax": lambda p: torch.optim.Adamax(p, lr=0.02, eps=1e-3, weight_decay=0.1),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05, eps=1e-3, weight_decay=0.1, lr_decay=0.1),
    "RMSprop": lambda p: torch.optim.RMSprop(
        p, lr=0.01, eps=1e-3, weight_decay=0.1, momentum=0.5, centered=True
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_proposition_2_4_it_trains_with_every_homogeneous_optimizer_as_the_base_does(name):
    torch.manual_seed(1)
    model = chain((1, 1, 1))
    optimizer = OPTIMIZERS[name](model.parameters())
    for _ in range(3):
        step(model, optimizer)
    wide, grown, _ = widthwise.widen(model, optimizer, (2, 3, 5), chain, ROWS)
    assert apart((model, optimizer), (wide, grown), 20) <= 1e-12


class Lion(torch.optim.Optimizer):
    """The sign of a moving average, with decoupled decay; no default for its rate."""

    def __init__(self, params, lr, beta=0.9, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "beta": beta, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                mean = self.state[p].setdefault("mean", torch.zeros_like(p))
                mean.lerp_(p.grad, 1 - group["beta"])
                p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(mean.sign(), alpha=group["lr"])


def test_an_optimizer_of_one_s_own_is_widened_by_what_is_declared_of_it():
    model = mlp(8).double()
    optimizer = Lion(model.parameters(), 0.01, weight_decay=0.1)
    step(model, optimizer)
    with refused("optimizer Lion cannot be widened; known are Adagrad, Adam"):
        widen_mlp(model, optimizer)
    lion = widthwise.Update(degree=0, state={"mean": 1}, decoupled=True)
    wide, grown, _ = widen_mlp(model, optimizer, updates={Lion: lion})
    assert apart((model, optimizer), (wide, grown)) <= 1e-12


def test_several_optimizers_are_widened_to_one_model():
    model = mlp(8).double()
    first = torch.optim.SGD([*model[0].parameters()], lr=0.05, momentum=0.9)
    rest = torch.optim.AdamW([*model[2].parameters(), *model[4].parameters()], lr=0.01, eps=1e-3)
    step(model, first, rest)
    wide, grown, _ = widen_mlp(model, [first, rest], 3)
    assert [type(o) for o in grown] == [torch.optim.SGD, torch.optim.AdamW]
    assert apart((model, first, rest), (wide, *grown)) <= 1e-12
    with refused(r"^0\.weight: is in no optimizer: give all of them in a"):
        widen_mlp(model, rest, 3)
    with refused(r"^0\.weight: is in 2 optimizers"):
        widen_mlp(model, [first, first, rest], 3)


def test_the_width_aware_norm_clips_the_same_steps():
    def clipped(clip):
        torch.manual_seed(0)
        model = mlp(8).double()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        wide, grown, growth = widen_mlp(model, optimizer, 3)
        worst, norms = 0.0, []
        for _ in range(10):
            expected = step(model, optimizer, clip=lambda: norms.append(plain(model, None)))
            found = step(wide, grown, clip=lambda: norms.append(clip(wide, growth)))
            worst = max(worst, float((found - expected).abs().max()))
        norms = [float(norm) for norm in norms]
        assert min(norms) > 0.1
        return worst, norms

    def plain(model, _):
        return nn.utils.clip_grad_norm_(model.parameters(), 0.1)

    worst, norms = clipped(lambda w, g: widthwise.clip_grad_norm_(w.parameters(), 0.1, g))
    assert worst <= 1e-12 and norms[::2] == pytest.approx(norms[1::2], rel=1e-10)
    worst, _ = clipped(lambda w, g: widthwise.clip_grad_norm_(w.named_parameters(), 0.1, g))
    assert worst <= 1e-12
    worst, _ = clipped(plain)
    assert worst > 1e-4
    _, _, growth = widen_mlp(mlp(8))
    with refused("a parameter is not of the model that was widened"):
        widthwise.clip_grad_norm_(mlp(16).parameters(), 1.0, growth)


def test_moving_averages_go_along():
    model, optimizer = pair(lr=0.02)
    average = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5)
    )
    for _ in range(3):
        step(model, optimizer)
        average.update_parameters(model)
    wide, grown, growth = widen_mlp(model, optimizer)
    wide_average = growth.shadow(average, wide)
    bare = growth.shadow(copy.deepcopy(model), wide)
    torch.testing.assert_close(bare(ROWS), model(ROWS), rtol=0, atol=1e-12)
    assert not torch.allclose(average(ROWS), model(ROWS), atol=1e-3)
    for _ in range(3):
        torch.testing.assert_close(wide_average(ROWS), average(ROWS), rtol=0, atol=1e-12)
        step(model, optimizer), step(wide, grown)
        average.update_parameters(model), wide_average.update_parameters(wide)
    with refused("Linear holds no copy of the model that was widened"):
        growth.shadow(nn.Linear(2, 2), wide)


def cosine(step):
    return 0.55 + 0.45 * math.cos(math.pi * step / 12)


SCHEDULES = {
    "LambdaLR": lambda o: lr_scheduler.LambdaLR(o, cosine),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, 0.05, total_steps=12, cycle_momentum=False),
    "CosineAnnealingLR": lambda o: lr_scheduler.CosineAnnealingLR(o, 12),
    "SequentialLR": lambda o: lr_scheduler.SequentialLR(
        o,
        [lr_scheduler.LinearLR(o, 0.1, total_iters=4), lr_scheduler.ExponentialLR(o, 0.8)],
        milestones=[4],
    ),
    "CyclicLR": lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.05, 2, cycle_momentum=False),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_goes_along(name):
    model, optimizer = pair(lr=0.02)
    scheduler = SCHEDULES[name](optimizer)
    for _ in range(3):
        step(model, optimizer)
        scheduler.step()
    wide, grown, growth = widen_mlp(model, optimizer)
    again = growth.schedule(scheduler, grown)

    def both():
        scheduler.step(), again.step()

    assert apart((model, optimizer), (wide, grown), 8, between=both) <= 1e-12
    assert len({group["lr"] for group in grown.param_groups}) == 2
    assert scheduler.optimizer is optimizer and again.optimizer is grown


def test_a_schedule_that_cannot_follow_its_groups_is_refused():
    model, optimizer = pair(lr=0.02)
    _, grown, growth = widen_mlp(model, optimizer)
    floor = lr_scheduler.CosineAnnealingLR(optimizer, 12, eta_min=0.001)
    with refused("CosineAnnealingLR's eta_min is one rate for all groups"):
        growth.schedule(floor, grown)
    with refused("the scheduler is not of the optimizer that was widened"):
        growth.schedule(lr_scheduler.LambdaLR(adamw(model, lr=0.02), cosine), grown)


def test_without_inputs_torch_s_layers_are_known_and_nothing_is_compared():
    model = mlp(8).double()
    with refused("^widen: give inputs, a batch on which .* unchecked=True"):
        widthwise.widen(model, None, 2, times(mlp))
    wide, _, growth = widthwise.widen(model, None, 2, times(mlp), unchecked=True)
    torch.testing.assert_close(wide(ROWS), model(ROWS), rtol=0, atol=1e-12)
    _, _, growth = widthwise.widen(model, None, 2, times(mlp), unchecked=True, averages=["4.*"])
    assert growth.averages == {"4.weight"} and growth["4.weight"].weight == 1
    with refused(r"averages: no readout is '4\.bias': choose from 4\.w"):
        widthwise.widen(model, None, 2, times(mlp), unchecked=True, averages=["4.bias"])


def test_what_the_user_says_of_readouts_and_blocks_is_held_against_inputs():
    model = mlp(8).double()
    with refused("4: its output differs"):
        widen_mlp(model, averages=["4.weight"])
    wide, _, growth = widen_mlp(model, block=4)
    assert growth.block == 4
    assert torch.equal(wide[0].bias, model[0].bias.unflatten(0, (2, 4)).repeat(1, 2).flatten())


def test_a_module_of_float32_is_compared_in_float64_and_stays_as_it_is():
    model = mup_model(8)
    wide, _, _ = widthwise.widen(model, None, 2, lambda k: mup_model(8 * k), ROWS.float())
    assert {p.dtype for p in wide.parameters()} == {torch.float32}
    torch.testing.assert_close(wide(ROWS.float()), model(ROWS.float()))


class Sum(nn.Module):
    def forward(self, x):
        return x.sum(-1)


def test_the_narrow_pair_is_left_as_it_was():
    inputs = cases()["GroupNorm, groups grow"][1]

    def make(width):
        norm = nn.BatchNorm2d(width)
        return nn.Sequential(
            nn.Conv2d(3, width, 3), norm, nn.Flatten(2), Sum(), nn.Linear(width, 3)
        )

    model = make(8).double()
    optimizer = adamw(model, lr=0.02)
    step(model, optimizer, x=inputs)
    before, settings = copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_dict())
    widthwise.widen(model, optimizer, 2, times(make), inputs)
    for key, value in model.state_dict().items():
        assert torch.equal(value, before[key]), key
    torch.testing.assert_close(optimizer.state_dict(), settings)


def test_a_model_s_output_that_is_no_tensor_or_has_no_gradient():
    class Nothing(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.layer = nn.Linear(5, width)

        def forward(self, x):
            return {"classes": self.layer(x).argmax(-1)}

    with refused("what the module returns on inputs has no gradient"):
        widthwise.widen(Nothing(8).double(), None, 2, times(Nothing), ROWS)


def test_a_module_whose_output_grows_is_compared_with_its_units_repeated():
    make = times(lambda w: nn.Sequential(nn.Linear(5, w), nn.Tanh(), nn.Linear(w, w)))
    model = make(1)
    wide, _, _ = widthwise.widen(model, None, 3, make, ROWS)
    assert torch.allclose(wide(ROWS), model(ROWS).repeat_interleave(3, -1), atol=1e-12)


def test_a_widened_language_model_learns_its_loss_through_the_model_output():
    make = times(partial(Tied, mean=True))
    model = make(1)
    optimizer = adamw(model, lr=0.02)
    wide, grown, _ = widthwise.widen(model, optimizer, 2, make, (TOKENS,))
    for _ in range(3):
        losses = [
            F.cross_entropy(m(TOKENS[:, :-1]).flatten(0, 1), TOKENS[:, 1:].flatten())
            for m in (model, wide)
        ]
        assert abs(losses[0].item() - losses[1].item()) <= 1e-12
        for loss, o in zip(losses, (optimizer, grown), strict=True):
            o.zero_grad(), loss.backward(), o.step()


def test_logits_are_scaled_where_head_dim_grows_if_that_is_asked_for():
    make = times(Transformer)
    model = make(1)
    optimizer = adamw(model, lr=0.02)
    with refused("as head_dim\\^-0.5: .* or scale_logits=True$"):
        widthwise.widen(model, optimizer, 4, make, TOKENS)
    average = torch.optim.swa_utils.AveragedModel(model)
    wide, grown, growth = widthwise.widen(model, optimizer, 4, make, TOKENS, scale_logits=True)
    torch.testing.assert_close(
        growth.shadow(average, wide)(TOKENS), average(TOKENS), rtol=1e-9, atol=1e-12
    )
    assert apart((model, optimizer), (wide, grown), x=TOKENS) < 1e-9
    again = make(4)
    again.load_state_dict(wide.state_dict())
    assert torch.equal(again(TOKENS), wide(TOKENS))


def test_a_model_whose_weights_hold_a_factor_is_widened_again():
    make = times(Transformer)
    model = make(1)
    wide, _, _ = widthwise.widen(model, None, 2, make, TOKENS, scale_logits=True)
    optimizer = adamw(wide, lr=0.02)
    wider, grown, _ = widthwise.widen(
        wide, optimizer, 2, lambda k: make(2 * k), TOKENS, scale_logits=True
    )
    torch.testing.assert_close(wider(TOKENS), model(TOKENS))
    assert apart((wide, optimizer), (wider, grown), x=TOKENS) < 1e-9


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda model: model[0].weight.data[0, :1].fill_(math.inf), "0.weight holds NaN or inf"),
        (lambda model: ROWS * math.nan, "inputs hold NaN"),
        (lambda model: ROWS * math.inf, "returns NaN or infinity on inputs"),
    ],
)
def test_what_is_no_number_is_said(spoil, says):
    """Found in review: "the module draws random numbers that are no dropout"."""
    make = times(mlp)
    model = make(1)
    inputs = spoil(model)
    inputs = inputs if inputs.shape == ROWS.shape else ROWS
    with refused(says):
        widthwise.widen(model, None, 2, make, inputs)


@pytest.mark.parametrize("tolerance", [math.nan, -1.0, 1.0])
def test_a_tolerance_is_a_number_that_can_be_held(tolerance):
    make = times(mlp)
    with refused("give a number from 0 to below 1"):
        widthwise.widen(make(1), None, 2, make, ROWS.double(), tolerance=tolerance)


def test_logits_are_scaled_whatever_computes_them():
    own = times(partial(Transformer, attend=stepwise))
    model = own(1)
    optimizer = adamw(model, lr=0.02)
    wide, grown, _ = widthwise.widen(model, optimizer, 4, own, TOKENS, scale_logits=True)
    assert apart((model, optimizer), (wide, grown), x=TOKENS) < 1e-9
    with refused("scale_logits needs inputs"):
        widthwise.widen(Transformer(8), None, 4, Transformer, unchecked=True, scale_logits=True)
    heads = times(mlp)
    _, _, growth = widthwise.widen(heads(1), None, 4, heads, ROWS.double(), scale_logits=True)
    assert {each.held for each in growth.values()} == {1.0}  # nothing to scale
