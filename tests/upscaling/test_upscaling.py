import copy
import dataclasses
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from refusals import refused
from torch import nn

import widthwise
from repro import models
from repro.tasks import dynamic_equivalence
from repro.training import clipping
from repro.training.optimizer import make_groups, make_optimizer
from studies.upscaling import _dynamics
from widthwise import parametrization, upscaling
from widthwise.optimizers import known
from widthwise.upscaling import noise

pytestmark = pytest.mark.long

SCALING = "muP-multiplier"


def widen(model, optimizer, factor, make=None):
    """By Table 1 alone, as of the paper's own networks, whose readouts average over the width."""
    return widthwise.widen(model, optimizer, factor, make, unchecked=True, averages=["*"])[:2]


def worst(model, optimizer, **changes):
    """Largest difference over 20 steps after widening."""
    spec = _dynamics.spec(model, optimizer) | {"steps_before": 5, "steps": 20} | changes
    records = dynamic_equivalence.run(
        **spec, inputs={}, device="cpu", progress=lambda step, loss: None, checkpoint=None
    )
    return max(record["difference"] for record in records)


@pytest.mark.parametrize("optimizer", _dynamics.OPTIMIZERS)
@pytest.mark.parametrize("model", _dynamics.MODELS)
def test_a_widened_run_goes_on_as_its_base(model, optimizer):
    assert worst(model, optimizer) <= 1e-9


def test_so_it_does_at_an_odd_factor():
    assert worst("gpt2", "AdamW", factor=3) <= 1e-9


@pytest.mark.parametrize(
    ("left_out", "optimizer"),
    [
        ("eps", "Adam"),
        ("eps", "AdamW"),
        ("lr", "SGD"),
        ("lr", "AdamW"),
        ("weight_decay", "SGD"),
        ("weight_decay", "Adam"),
        ("weight_decay", "AdamW"),
    ],
)
def test_each_hyperparameter_must_be_scaled(monkeypatch, left_out, optimizer):
    one = property(lambda growth: 1.0) if left_out == "eps" else lambda growth, *arguments: 1.0
    monkeypatch.setattr(upscaling.Growth, left_out, one)
    assert worst("mlp", optimizer) > 1e-6


@pytest.mark.parametrize(
    ("key", "optimizer", "kind"),
    [
        ("momentum_buffer", "momentum", torch.optim.SGD),
        ("exp_avg", "Adam", torch.optim.Adam),
        ("exp_avg_sq", "Adam", torch.optim.Adam),
        ("max_exp_avg_sq", "AMSGrad", torch.optim.Adam),
    ],
)
def test_each_state_must_be_scaled(monkeypatch, key, optimizer, kind):
    name = kind.__name__.lower()
    update = known.shipped()[name]
    wrong = dataclasses.replace(update, state={**update.state, key: 0})
    monkeypatch.setitem(known.shipped(), name, wrong)
    assert worst("mlp", optimizer) > 1e-6


@pytest.mark.parametrize("model", _dynamics.MODELS)
def test_the_readout_must_average(monkeypatch, model):
    kind = type(build(model))
    wider = kind.wider

    def undivided(self, factor):
        wide = wider(self, factor)
        wide.output_multiplier = self.output_multiplier
        return wide

    monkeypatch.setattr(kind, "wider", undivided)
    assert worst(model, "SGD") > 1e-6


def test_attention_must_scale_with_the_head_dimension(monkeypatch):
    from repro.models.gpt2 import GPT2

    wider = GPT2.wider

    def unscaled(self, factor):
        wide = wider(self, factor)
        for narrow, grown in zip(self.attention, wide.attention, strict=True):
            grown.scale = narrow.scale
        return wide

    monkeypatch.setattr(GPT2, "wider", unscaled)
    assert worst("gpt2", "SGD") > 1e-6


def build(name, seed=0, dtype=torch.float64, **changes):
    """A model of the suite, every parameter random, so that none is zero or one by chance."""
    settings = _dynamics.MODELS[name]
    data = settings["data"]
    more = {k: data[k] for k in ("vocab_size", "sequence_length") if k in data}
    model = models.build(settings["model"] | changes, SCALING, **more).to(dtype)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            std = parameter[0].numel() ** -0.5 if parameter.ndim > 1 else 1.0
            parameter.normal_(0.0, std, generator=generator)
    return model


def optimizer_of(model, name, lr=0.01):
    settings = _dynamics.OPTIMIZERS[name]
    return make_optimizer(make_groups(model, SCALING, settings, lr), settings)


def by_name(model, optimizer):
    """Parameter name -> its lr, weight decay and eps."""
    names = {id(p): name for name, p in model.named_parameters()}
    keys = ("lr", "weight_decay", "eps")
    return {
        names[id(p)]: [group[key] for key in keys if key in group]
        for group in optimizer.param_groups
        for p in group["params"]
    }


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW"])
@pytest.mark.parametrize("name", _dynamics.MODELS)
def test_widened_hyperparameters_are_those_of_the_parametrization(name, optimizer):
    model = build(name)
    wide, found = widen(model, optimizer_of(model, optimizer), 3)
    expected = by_name(wide, optimizer_of(wide, optimizer))
    got = by_name(wide, found)
    assert got.keys() == expected.keys()
    for parameter, values in expected.items():
        assert got[parameter] == pytest.approx(values, rel=1e-12), parameter


def images(count=6):
    return torch.randn(
        count, 3, 16, 16, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )


def test_stages_may_grow_apart():
    model = build("resnet")
    model(images())
    wide, _, growth = widthwise.widen(model, None, (1, 2, 2, 4), unchecked=True, averages=["*"])
    buffers = dict(model.named_buffers())
    for name, buffer in wide.named_buffers():
        old = buffers[name]
        factor = buffer.numel() // old.numel()
        expected = old.repeat_interleave(factor) if factor > 1 else old
        assert torch.equal(buffer, expected), name
    assert int(wide.stem_norm.num_batches_tracked) == 1
    for training in (True, False):
        torch.testing.assert_close(
            wide.train(training)(images()), model.train(training)(images()), rtol=1e-10, atol=0
        )
    crossing = {
        "stem.weight": (1, 1),
        "blocks.2.conv1.weight": (1, 2),
        "blocks.2.shortcut.weight": (1, 2),
        "blocks.2.conv2.weight": (2, 2),
        "blocks.4.conv1.weight": (2, 2),
        "blocks.6.conv1.weight": (2, 4),
        "blocks.6.shortcut.weight": (2, 4),
        "blocks.7.conv2.weight": (4, 4),
    }
    assert {name: (growth[name].k_in, growth[name].k_out) for name in crossing} == crossing


class Own(nn.Module):
    """A user's module: LayerNorm, embedding and readout tied, no roles."""

    def __init__(self, width, base=4):
        super().__init__()
        self.base, self.width = base, width
        self.embedding = nn.Embedding(7, width)
        self.norm = nn.LayerNorm(width)
        self.hidden = nn.Linear(width, width)
        self.output = nn.Linear(width, 7, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, tokens):
        x = torch.tanh(self.hidden(self.norm(self.embedding(tokens))))
        return self.output(x) * (self.base / self.width)


def own(width=4):
    torch.manual_seed(0)
    return Own(width).double()


TOKENS = torch.arange(12) % 7


def follow(model, optimizer, steps):
    outputs = []
    for _ in range(steps):
        found = model(TOKENS)
        outputs.append(found.detach())
        optimizer.zero_grad()
        F.cross_entropy(found, (TOKENS * 3 + 1) % 7).backward()
        optimizer.step()
    return torch.stack(outputs)


def test_a_users_own_module_is_widened():
    model = own()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-3, weight_decay=0.1)
    follow(model, optimizer, 5)
    with refused("give make="):
        widen(model, optimizer, 3)
    wide, grown = widen(model, optimizer, 3, make=lambda k: Own(4 * k))
    assert wide.output.weight is wide.embedding.weight
    torch.testing.assert_close(
        follow(wide, grown, 20), follow(model, optimizer, 20), rtol=0, atol=1e-10
    )


def averaging(body):
    """factor -> a module around body(width) whose readout averages over its width."""

    class Net(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.body = body(width)
            self.output = nn.Linear(width, 3, bias=False)
            self.scale = 4 / width

        def forward(self, x):
            return self.output(self.body(x)) * self.scale

    torch.manual_seed(0)
    return lambda factor: Net(4 * factor).double()


def image_net(layer):
    return averaging(
        lambda width: nn.Sequential(
            nn.Conv2d(2, width, 3),
            layer(width),
            nn.Tanh(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
    )


def pictures():
    return torch.randn(6, 2, 6, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def descend(model, optimizer, x, steps, between=lambda: None):
    outputs = []
    for _ in range(steps):
        found = model(x)
        outputs.append(found.detach())
        optimizer.zero_grad()
        (found - 1).square().mean().backward()
        optimizer.step()
        between()
    return torch.stack(outputs)


LAYERS = {
    "convolution": lambda w: nn.Conv2d(w, w, 3),
    "transposed": lambda w: nn.ConvTranspose2d(w, w, 3),
    "depthwise": lambda w: nn.Conv2d(w, w, 3, groups=w),
    "groups of fixed number": lambda w: nn.GroupNorm(2, w),
    "batch normalization": nn.BatchNorm2d,
}


def goes_on(model, optimizer, factor, make, x):
    """Widened after three steps, the pair trains as the narrow one does."""
    descend(model, optimizer, x, 3)
    wide, grown, _ = widthwise.widen(model, optimizer, factor, make, x)
    after, expected = descend(wide, grown, x, 10), descend(model, optimizer, x, 10)
    torch.testing.assert_close(after, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_torch_widen(name):
    make = image_net(LAYERS[name])
    model = make(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-3)
    goes_on(model, optimizer, 3, make, pictures())


def test_modes_dtypes_and_gradients_off_are_the_narrow_one_s():
    make = image_net(nn.BatchNorm2d)
    model = make(1)
    model.body[1].eval().float()
    model.output.weight.requires_grad_(False)
    wide, _ = widen(model, None, 2, make=make)
    assert [m.training for m in wide.modules()] == [m.training for m in model.modules()]
    dtypes = {name: tensor.dtype for name, tensor in model.state_dict().items()}
    assert {name: tensor.dtype for name, tensor in wide.state_dict().items()} == dtypes
    assert not wide.output.weight.requires_grad
    assert wide.body[0].weight.requires_grad


class Buffered(nn.Module):
    """A layer with a buffer beside its weight."""

    def __init__(self, width, make_buffer):
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False)
        self.register_buffer("kept", make_buffer(width))

    def forward(self, x):
        return self.linear(x)


def buffered(make_buffer):
    return averaging(lambda width: nn.Sequential(nn.Linear(5, width), Buffered(width, make_buffer)))


def test_a_buffer_that_depends_on_the_width_is_the_wide_one_s():
    make = buffered(lambda width: torch.tensor(4 / width))
    assert widen(make(1), None, 2, make=make)[0].body[1].kept == 0.5
    model = make(1)
    model.body[1].kept += 1.0
    assert widen(model, None, 2, make=make)[0].body[1].kept == 2.0


def test_a_buffer_of_numbers_that_grows_is_refused_and_a_mask_repeated():
    mask = buffered(lambda width: torch.arange(width) % 2 == 0)
    wide, _ = widen(mask(1), None, 2, make=mask)
    assert wide.body[1].kept.tolist() == [True, True, False, False] * 2
    permutation = buffered(lambda width: torch.arange(width).flip(0))
    with refused(r"buffer body.1.kept: torch.int64 grows"):
        widen(permutation(1), None, 2, make=permutation)


class Apart(nn.Module):
    """Two widths that grow apart, with a layer of some kind between them."""

    def __init__(self, first, second, kind):
        super().__init__()
        shape = 4 * first, 6 * second
        self.first = nn.Linear(5, 4 * first)
        self.between = {
            "linear": lambda: nn.Linear(*shape),
            "transposed": lambda: nn.ConvTranspose1d(*shape, 1),
            "bare": lambda: nn.ParameterList([torch.randn(shape)]),
        }[kind]()
        self.output = nn.Linear(6 * second, 3, bias=False)
        self.kind, self.scale = kind, 1 / second

    def forward(self, x):
        x = torch.tanh(self.first(x))
        if self.kind == "bare":
            x = x @ self.between[0]
        else:
            x = self.between(x[..., None])[..., 0] if self.kind == "transposed" else self.between(x)
        return self.output(torch.tanh(x)) * self.scale


def apart(kind):
    return lambda factors: Apart(*factors, kind).double()


@pytest.mark.parametrize("kind", ["linear", "transposed", "bare"])
@pytest.mark.parametrize("factor", [(2, 3), (1, 2), (3, 1)])
def test_widths_of_a_user_s_module_may_grow_apart(kind, factor):
    torch.manual_seed(0)
    model = apart(kind)((1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    goes_on(model, optimizer, factor, apart(kind), torch.randn(6, 5, dtype=torch.float64))


def test_a_matrix_whose_input_axis_is_unknown_is_refused_without_inputs():
    make = apart("bare")
    with refused(r"between.0: grows 3 and 2 times along its axes"):
        widthwise.widen(make((1, 1)), None, (3, 2), make, unchecked=True)


def test_a_one_cycle_schedule_made_anew_goes_on():
    make = image_net(nn.BatchNorm2d)
    model, x = make(1), pictures()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02, eps=1e-3)

    def schedule(optimizer, last_epoch):
        return torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=0.05, total_steps=20, last_epoch=last_epoch, cycle_momentum=False
        )

    scheduler = schedule(optimizer, -1)
    descend(model, optimizer, x, 5, scheduler.step)
    wide, grown = widen(model, optimizer, 3, make=make)
    again = schedule(grown, scheduler.last_epoch - 1)
    after = descend(wide, grown, x, 10, again.step)
    expected = descend(model, optimizer, x, 10, scheduler.step)
    torch.testing.assert_close(after, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("factor", [0, -1, 2.0, "2", None, (2, 0)])
def test_a_factor_is_a_whole_number(factor):
    with refused("is no whole number of at least 1"):
        widen(own(), None, factor, make=lambda k: Own(4 * k))


class OptimizedModule(nn.Module):
    """Named as what torch.compile returns."""


class Untied(Own):
    def __init__(self, width):
        super().__init__(width)
        self.output.weight = nn.Parameter(torch.zeros(7, width))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: widen(OptimizedModule(), None, 2), "torch.compile.*_orig_mod"),
        (lambda: widen(nn.DataParallel(own()), None, 2), "DataParallel.*model.module"),
        (
            lambda: widen(nn.Sequential(nn.ReLU(), OptimizedModule()), None, 2),
            r"torch.compile.*\(1\)",
        ),
        (
            lambda: widen(
                nn.MultiheadAttention(4, 2), None, 2, lambda k: nn.MultiheadAttention(4 * k, 2)
            ),
            "nn.MultiheadAttention scales its logits as head_dim",
        ),
        (lambda: widen(nn.Tanh(), None, 2), "has no parameters"),
        (lambda: widen(nn.LazyLinear(2), None, 2), "lazy ones"),
        (lambda: widen(own(), None, 2, make=lambda k: Own(4)), "the same widths"),
        (
            lambda: widen(own(), None, 2, make=lambda k: torch.compile(Own(4 * k))),
            "make returned a module wrapped by torch.compile.*_orig_mod",
        ),
        (
            lambda: widen(own(), None, 2, make=lambda k: Own(4 * k + 1)),
            "cannot be widened.*widths that divide",
        ),
        (
            lambda: widen(own(), None, 2, make=lambda k: Untied(4 * k)),
            r"parameters \['output.weight'\] are in one",
        ),
    ],
)
def test_what_cannot_be_widened_is_named(call, message):
    with refused(message):
        call()


def test_an_optimizer_or_a_state_without_a_rule_is_named():
    model = build("mlp")
    with refused("optimizer RAdam cannot be widened"):
        widen(model, torch.optim.RAdam(model.parameters()), 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.state[model.input.weight]["curvature"] = torch.ones(())
    with refused(r"state 'curvature' of input.weight: no rule"):
        widen(model, optimizer, 2)
    optimizer.state[model.input.weight] = {"momentum_buffer": torch.ones(7, 5)}
    with refused(r"state 'momentum_buffer' of input.weight: has the shape"):
        widen(model, optimizer, 2)


def test_factor_one_changes_nothing():
    model = own()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    follow(model, optimizer, 3)
    same, again = widen(model, optimizer, 1, make=lambda k: Own(4 * k))
    for a, b in zip(same.parameters(), model.parameters(), strict=True):
        assert torch.equal(a, b) and a is not b
        for key, value in optimizer.state[b].items():
            assert torch.equal(again.state[a][key], value)
    assert {g["lr"] for g in again.param_groups} == {0.01}


@pytest.mark.parametrize("optimizer", [None, "momentum", "AdamW"])
def test_without_an_optimizer_or_a_step_there_is_no_state(optimizer):
    model = build("mlp")
    wide, grown = widen(model, optimizer and optimizer_of(model, optimizer), 2)
    x = torch.ones(2, 5, dtype=torch.float64)
    torch.testing.assert_close(wide(x), model(x))
    assert grown is None if optimizer is None else not grown.state


def test_noise_conventions_give_the_papers_numbers():
    """The MLP's selected 5 and 4 (code) in the paper's convention, and GPT-2's 0.005."""
    hidden = parametrization.Role("hidden", fan_in=2000)
    first = parametrization.Role("embedding", fan_in=54, std=54**-0.5)

    def in_paper(role, level, convention="code", factor=4):
        code = upscaling.noise_std(role, level, factor=factor, convention=convention)
        return code / upscaling.noise_std(role, 1.0, factor=factor, convention="paper")

    assert [in_paper(hidden, level) for level in (5, 4)] == pytest.approx([1.25, 1.0])
    assert [round(in_paper(first, level), 2) for level in (5, 4)] == [0.68, 0.54]
    gpt2 = parametrization.Role("hidden", fan_in=384)
    assert in_paper(gpt2, 0.005, "code-raw", 2) == pytest.approx(0.049, abs=5e-4)
    residual = parametrization.Role("hidden", 384, 192.0, 192.0, std=(2 * 12 * 384) ** -0.5)
    assert in_paper(residual, 0.005, "code-raw", 2) == pytest.approx(0.010, abs=5e-4)
    for kind in ("vector", "scalar"):
        role = parametrization.Role(kind)
        assert upscaling.noise_std(role, 1.0, factor=2, convention="paper") == 0
    readout = parametrization.Role("output", 64, std=0.0)
    assert upscaling.noise_std(readout, 1.0, factor=2, convention="paper") == 0
    with refused("noise convention 'other'"):
        upscaling.noise_std(hidden, 1.0, factor=2, convention="other")


def perturbed(level, seed=0, width=256, **more):
    """(before, after, constants) of an MLP with noise."""
    model = build("mlp", width=width)
    noisy = copy.deepcopy(model)
    arguments = {"factor": 2, "convention": "paper"} | more
    generator = torch.Generator().manual_seed(seed)
    constants = upscaling.perturb(noisy, level, generator, **arguments)
    change = {
        name: after.detach() - before.detach()
        for (name, before), after in zip(model.named_parameters(), noisy.parameters(), strict=True)
    }
    return model, change, constants


@pytest.mark.parametrize("convention", upscaling.CONVENTIONS)
def test_noise_has_the_stated_size(convention):
    model, change, constants = perturbed(0.7, convention=convention)
    role = model.roles()["hidden.0.weight"]
    expected = upscaling.noise_std(role, 0.7, factor=2, convention=convention)
    assert float(change["hidden.0.weight"].std()) == pytest.approx(expected, rel=0.02)
    assert set(constants) == {"input.weight", "hidden.0.weight", "hidden.1.weight"}
    assert all(not change[name].any() for name in change.keys() - constants.keys())


def test_signal_noise_has_the_stated_ratio_and_its_constants_carry_over():
    model, change, constants = perturbed(0.3, signal=True)
    weights = dict(model.named_parameters())
    for name in constants:
        ratio = torch.linalg.matrix_norm(change[name], 2) / torch.linalg.matrix_norm(
            weights[name].detach(), 2
        )
        assert float(ratio) == pytest.approx(0.3, rel=1e-4)
    _, again, same = perturbed(constants, seed=1)
    assert same == constants
    for name in constants:
        assert float(again[name].std()) == pytest.approx(float(change[name].std()), rel=0.1)
    assert perturbed(dict.fromkeys(constants, 0.3), signal=True)[2] == constants
    with refused(r"no constant for input\.weight"):
        perturbed({"other": 0.3}, signal=True)


def test_a_spectral_norm_is_float64_s_rounded():
    """Of float32, whose last digits differ between kinds of CPU, others come out."""
    weight = torch.randn(64, 3, 7, 7, generator=torch.Generator().manual_seed(0))
    exact = np.linalg.svd(weight.flatten(1).double().numpy(), compute_uv=False)[0]
    assert noise._spectral_norm(weight) == float(np.float32(exact))


@pytest.mark.parametrize("signal", [False, True])
def test_no_noise_changes_nothing(signal):
    _, change, _ = perturbed(0.0, width=16, signal=signal)
    assert not any(delta.any() for delta in change.values())


@pytest.mark.parametrize("limit", [0.1, 1e3])
def test_clipping_with_ones_is_torchs(limit):
    ours, theirs = build("mlp"), build("mlp")
    for model in (ours, theirs):
        model(torch.ones(3, 5, dtype=torch.float64)).square().sum().backward()
    ones = [1.0] * len(list(ours.parameters()))
    found = clipping.clip_grad_norm(list(ours.parameters()), ones, limit)
    expected = nn.utils.clip_grad_norm_(theirs.parameters(), limit)
    torch.testing.assert_close(found, expected)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


def test_the_width_aware_norm_does_not_change_by_widening():
    norms = []
    model = build("mlp")
    for net in (model, widen(model, None, 3)[0]):
        net(torch.ones(3, 5, dtype=torch.float64)).square().sum().backward()
        factors = [net.roles()[name].squared_norm_factor for name, _ in net.named_parameters()]
        norms.append(float(clipping.clip_grad_norm(list(net.parameters()), factors, 1.0)))
    assert norms[0] == pytest.approx(norms[1], rel=1e-12)


@pytest.mark.parametrize(
    ("clip", "optimizer"), [("plain", "SGD"), ("plain", "AdamW"), ("aware", "SGD")]
)
def test_only_the_width_aware_norm_keeps_the_equivalence(clip, optimizer):
    found = worst("mlp", optimizer, clip={"norm": 0.01, "width_aware": clip == "aware"})
    assert (found <= 1e-9) == (clip == "aware")


def test_distance_from_the_subspace():
    model = build("mlp")
    wide, _, growth = widthwise.widen(model, None, 2, unchecked=True, averages=["*"])
    outside, inside = upscaling.subspace_distance(wide.named_parameters(), growth)
    assert outside == 0
    grown = [p for name, p in wide.named_parameters() if math.prod(growth[name].factors) > 1]
    assert inside == pytest.approx(math.sqrt(sum(float(p.detach().square().sum()) for p in grown)))
    generator = torch.Generator().manual_seed(0)
    upscaling.perturb(wide, 0.5, generator, factor=2, convention="paper")
    assert upscaling.subspace_distance(wide.named_parameters(), growth)[0] > 0.1
