"""Roles of any module, from two widths and a forward pass, beside those the suite declares."""

import warnings

import pytest
import torch
from refusals import refused
from tiny import MODELS, tiny_run
from torch import nn

from benchmarks.zoo import hugging_face
from repro import models
from repro.core.spec import override
from repro.data.random_data import random_data
from repro.tasks import TASKS
from widthwise.parametrization import KINDS
from widthwise.tracing.draws import DRAWN, FewDraws
from widthwise.tracing.roles import roles

LLM = {
    "name": "llm",
    "depth": 1,
    "heads": 4,
    "kv_heads": 2,
    "rotary_dim": 2,
    "window": 4,
    "vocab_size": 40,
    "sequence_length": 6,
}


def suite_model(model):
    """(make, base width, other width, inputs) of one of the suite's models."""
    if model == "llm":

        def make(width):
            more = {"head_dim": width // 4, "inner": 3 * width, "width": width, "base_width": 32}
            built = models.build(LLM | more, "SP")
            models.draw(built, "SP", seed=0)
            return built

        return make, 32, 64, torch.arange(12).reshape(2, 6)
    task, spec, widths = tiny_run(model, "SP")
    data = random_data(spec, "cpu")

    def made(width):
        changed = override(spec, {"model.width": width})
        device = torch.empty(()).device
        return TASKS[task].build(changed, random_data(changed, device), device).model

    batch = next(iter(TASKS[task].build(spec, data, "cpu").batches.from_step(0)))
    inputs = tuple(batch[:-2]) if len(batch) > 2 else batch[0]
    return made, widths[0], widths[1], inputs


@pytest.mark.parametrize("model", [*MODELS, "llm"])
def test_roles_traced_are_those_the_suite_declares(model):
    make, width, other, inputs = suite_model(model)
    traced = roles(make, width, inputs, other=other)
    wide = make(other)
    found = traced.at(wide)
    declared = wide.roles()
    assert found.keys() == declared.keys()
    base = make(width).roles()
    for name, role in declared.items():
        mine = found[name]
        where = name, mine, role
        ratio_in, ratio_out = (
            role.width_in / base[name].width_in,
            role.width_out / base[name].width_out,
        )
        assert (mine.kind, mine.fan_in) == (role.kind, role.fan_in), where
        assert (mine.width_in, mine.width_out) == pytest.approx((ratio_in, ratio_out)), where
        if role.kind == "hidden" and role.fan_out != 1 and "kv" not in name:
            assert mine.fan_out == role.fan_out, where
        assert mine.drawn == role.drawn, where
        if role.std == 0:
            assert mine.std == 0, where
        elif role.drawn and wide.get_parameter(name).numel() > 1000:
            assert mine.distribution == role.distribution, where
    tied = [name for name, each in traced.found.items() if each.tied]
    assert tied == (["embedding.weight"] if models.ARCHITECTURES[model].tied else [])


class Module(nn.Module):
    """One of these per case below: `parts(width)` -> its submodules and parameters by name."""

    def __init__(self, parts, run):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)
        self.run = run

    def forward(self, x):
        return self.run(self, x)


def raw(*shape):
    return nn.Parameter(torch.randn(shape))


TOKENS, ROWS, IMAGES = torch.arange(14).reshape(2, 7), torch.randn(6, 5), torch.randn(2, 3, 8, 8)


def case(parts, run, inputs, expected, told=()):
    """expected: parameter -> (kind, fan_in, axes in, axes out) at width 48; told: in warnings."""
    return (lambda width: Module(parts(width), run), inputs, expected, told)


def heads(y):
    return y.unflatten(-1, (-1, 12)).transpose(-3, -2)


VECTOR, SCALAR = ("vector", 1, (), (0,)), ("scalar", 1, (), ())


def hidden(fan_in, inward=1, outward=0):
    """Of a matrix, by default one that stands as torch's layers have it."""
    return "hidden", fan_in, (inward,), (outward,)


def reads(kind, fan_in):
    """Of what reads a width and writes none."""
    return kind, fan_in, (1,), ()


def embedding(fan_in, outward=0):
    """Of what writes a width and reads none."""
    return "embedding", fan_in, (), (outward,)


CASES = {
    "bilinear forms, bags, norms of images": case(
        lambda d: {
            "bag": nn.EmbeddingBag(20, d),
            "form": nn.Bilinear(d, d, d),
            "conv": nn.Conv2d(1, d, (1, 2)),
            "norm": nn.InstanceNorm2d(d, affine=True),
            "o": nn.Linear(d, 3),
        },
        lambda m, t: m.o(m.form(m.bag(t), m.norm(m.conv(t[:, None, None].float())).mean((-2, -1)))),
        TOKENS,
        {
            "bag.weight": embedding(1, 1),
            "form.weight": ("hidden", 48 * 48, (1, 2), (0,)),
            "form.bias": VECTOR,
            "conv.weight": embedding(2),
            "conv.bias": VECTOR,
            "norm.weight": VECTOR,
            "norm.bias": VECTOR,
            "o.weight": reads("output", 48),
            "o.bias": SCALAR,
        },
    ),
    "raw parameters, positions, a class token": case(
        lambda d: {
            "e": nn.Embedding(20, d),
            "pos": raw(1, 8, d),
            "token": raw(1, 1, d),
            "H": raw(d, 4 * d),
            "G": raw(4 * d, d),
            "W": raw(d, 10),
            "g": raw(d),
            "alpha": raw(),
        },
        lambda m, t: (
            (
                m.g * (torch.cat([m.token.expand(2, -1, -1), m.e(t)], 1) + m.pos)
                + m.alpha * (torch.relu((m.e(t)[:, :1]) @ m.H) @ m.G)
            )
            @ m.W
        ),
        TOKENS,
        {
            "e.weight": embedding(1, 1),
            "pos": embedding(1, 2),
            "token": embedding(1, 2),
            "H": hidden(48, 0, 1),
            "G": hidden(192, 0, 1),
            "W": ("output", 48, (0,), ()),
            "g": VECTOR,
            "alpha": SCALAR,
        },
    ),
    "a readout tied by F.linear": case(
        lambda d: {"e": nn.Embedding(20, d), "n": nn.LayerNorm(d)},
        lambda m, t: nn.functional.linear(m.n(m.e(t)), m.e.weight),
        TOKENS,
        {"e.weight": embedding(1, 1), "n.weight": VECTOR},
        ["e.weight: is a readout too (in the module itself)"],
    ),
    "convolutions: depthwise, grouped, transposed": case(
        lambda c: {
            "stem": nn.Conv2d(3, c, 3, padding=1),
            "bn": nn.BatchNorm2d(c),
            "dw": nn.Conv2d(c, c, 3, groups=c, padding=1),
            "eight": nn.Conv2d(c, c, 3, groups=c // 8, padding=1),
            "four": nn.Conv2d(c, 2 * c, 3, groups=4, padding=1),
            "up": nn.ConvTranspose2d(2 * c, c, 2),
            "head": nn.Linear(c, 10),
        },
        lambda m, x: m.head(m.up(m.four(m.eight(m.dw(m.bn(m.stem(x)))))).mean((2, 3))),
        IMAGES,
        {
            "stem.weight": embedding(27),
            "bn.weight": VECTOR,
            "dw.weight": ("vector", 9, (), (0,)),
            "eight.weight": ("vector", 72, (), (0,)),
            "four.weight": hidden(108),
            "up.weight": hidden(384, 0, 1),
            "head.weight": reads("output", 48),
            "head.bias": SCALAR,
        },
    ),
    "grouped-query attention, key-value heads fixed": case(
        lambda d: {
            "i": nn.Linear(5, d),
            "q": nn.Linear(d, d, bias=False),
            "k": nn.Linear(d, 24, bias=False),
            "v": nn.Linear(d, 24, bias=False),
            "o": nn.Linear(d, d),
            "r": nn.Linear(d, 3),
        },
        lambda m, x: m.r(
            m.o(
                nn.functional.scaled_dot_product_attention(
                    *(heads(p(m.i(x))) for p in (m.q, m.k, m.v)), enable_gqa=True
                )
                .transpose(-3, -2)
                .flatten(-2)
            )
        ),
        torch.randn(2, 6, 5),
        {
            "q.weight": hidden(48),
            "k.weight": reads("output", 48),
            "v.weight": reads("output", 48),
            "r.weight": reads("output", 48),
        },
        ["k.weight and 1 more: reads a width and writes none inside"],
    ),
    "experts by bmm and their router": case(
        lambda d: {
            "i": nn.Linear(5, d),
            "router": nn.Linear(d, 8),
            "a": raw(8, d, 4 * d),
            "b": raw(8, 4 * d, d),
            "o": nn.Linear(d, 3),
        },
        lambda m, x: m.o(
            (
                m.router(m.i(x)).softmax(-1).T[..., None]
                * (torch.relu(m.i(x).expand(8, -1, -1) @ m.a) @ m.b)
            ).sum(0)
        ),
        ROWS,
        {
            "router.weight": reads("output", 48),
            "a": hidden(48, 1, 2),
            "b": hidden(192, 1, 2),
        },
        ["router.weight: reads a width"],
    ),
    "einsum over heads": case(
        lambda d: {"i": nn.Linear(5, d), "q": raw(4, d // 4, d), "r": nn.Linear(d, 3)},
        lambda m, x: m.r(torch.einsum("bd,hcd->bhc", m.i(x), m.q).flatten(1)),
        ROWS,
        {"q": hidden(48, 2, 1)},
    ),
    "an LSTM": case(
        lambda d: {
            "e": nn.Embedding(20, d),
            "r": nn.LSTM(d, 2 * d, batch_first=True),
            "o": nn.Linear(2 * d, 20),
        },
        lambda m, t: m.o(m.r(m.e(t))[0]),
        TOKENS,
        {
            "r.weight_ih_l0": hidden(48),
            "r.weight_hh_l0": hidden(96),
            "r.bias_hh_l0": VECTOR,
            "o.weight": reads("output", 96),
        },
    ),
    "weight norm": case(
        lambda d: {
            "i": nn.Linear(5, d),
            "h": nn.utils.parametrizations.weight_norm(nn.Linear(d, d)),
            "o": nn.Linear(d, 3),
        },
        lambda m, x: m.o(torch.relu(m.h(m.i(x)))),
        ROWS,
        {
            "h.parametrizations.weight.original0": VECTOR,
            "h.parametrizations.weight.original1": hidden(48),
        },
    ),
    "a low-rank update merged into its weight": case(
        lambda d: {"i": nn.Linear(5, d), "w": raw(d, d), "a": raw(4, d), "b": raw(d, 4)},
        lambda m, x: nn.functional.linear(m.i(x), m.w + m.b @ m.a),
        ROWS,
        {
            "w": hidden(48),
            "a": reads("output", 48),
            "b": embedding(4),
        },
    ),
    "learned queries and torch's attention": case(
        lambda d: {
            "i": nn.Linear(5, d),
            "queries": raw(1, 3, d),
            "n": nn.LayerNorm(d),
            "attention": nn.MultiheadAttention(d, 4, batch_first=True),
            "o": nn.Linear(d, 3),
        },
        lambda m, x: m.o(m.attention(m.n(m.queries), *[m.i(x)[None]] * 2, need_weights=False)[0]),
        ROWS,
        {
            "queries": embedding(1, 2),
            "n.weight": VECTOR,
            "attention.in_proj_weight": hidden(48),
            "attention.out_proj.weight": hidden(48),
        },
        ["attention: head_dim grows and logits scale as head_dim^-0.5"],
    ),
    "a matrix used both ways round": case(
        lambda d: {"i": nn.Linear(5, d), "w": raw(d, 2 * d), "o": nn.Linear(d, 3)},
        lambda m, x: m.o(torch.relu(m.i(x) @ m.w) @ m.w.T),
        ROWS,
        {"w": hidden(96)},
        ["w: is used both ways round"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_roles_of_modules_of_all_kinds(name):
    make, inputs, expected, told = CASES[name]
    found = roles(make, 48, inputs)
    for parameter, (kind, fan_in, inward, outward) in expected.items():
        each = found.found[parameter]
        seen = (each.role.kind, each.role.fan_in, each.inputs, each.outputs)
        assert seen == (kind, fan_in, inward, outward), parameter
    assert len(found.warnings) == len(told)
    for line, start in zip(found.warnings, told, strict=True):
        assert line.startswith(start), line
    assert str(found).count("\n") == 1 + len(found) + len(told)


SHAPES = {"parameter": (), "buffer": (), "one": (1,), "a head": (2, 1, 1)}


def temperature(width, held):
    """A scale of logits that is a parameter or a buffer has no value on the meta device."""
    parts = {"i": nn.Linear(5, 6 * width), "o": nn.Linear(width, 3)}
    model = Module(parts, attends)
    scale = torch.tensor((width // 2) ** -0.5).expand(SHAPES[held]).clone()
    if held == "buffer":
        model.register_buffer("t", scale)
    else:
        model.t = nn.Parameter(scale)
    return model


def attends(m, x):
    q, k, v = m.i(x).unflatten(-1, (3, 2, -1)).movedim(-3, 0).transpose(-3, -2)
    n = q.shape[-1] // 2
    q, k, v = q[..., :n], k[..., :n], v[..., :n]
    y = nn.functional.scaled_dot_product_attention(q * m.t, k, v, scale=1.0)
    return m.o(y.transpose(-3, -2).flatten(-2))


@pytest.mark.parametrize("held", SHAPES)
def test_a_learned_temperature_is_measured(held):
    found = roles(lambda width: temperature(width, held), 48, torch.randn(2, 7, 5))
    (attention,) = found.attention
    assert attention.exponent == pytest.approx(-1 / 2, abs=1e-6)


def test_sizes_that_are_rounded_have_ratios_of_their_own():
    def make(width):
        inner = round(8 * width / 3 / 16) * 16
        return nn.Sequential(nn.Linear(5, width), nn.Linear(width, inner), nn.Linear(inner, 3))

    model = make(100)
    found = roles(make, 48, ROWS).at(model)
    assert found["1.weight"].width_in == 100 / 48
    assert found["1.weight"].width_out == model[1].out_features / 128
    assert found["2.weight"].fan_in == model[1].out_features


def test_random_numbers_and_values_of_the_user_s_stay():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    found = roles(lambda d: nn.Sequential(nn.Linear(5, d), nn.Linear(d, 3)), 48, ROWS)
    assert torch.equal(torch.get_rng_state(), before)
    assert found["0.weight"].std == pytest.approx(15**-0.5, rel=0.15)
    assert found["0.weight"].distribution == "normal"  # of 240 entries it cannot be told


def plain(width):
    return nn.Sequential(nn.Linear(5, width), nn.Linear(width, 3))


def never_used(width):
    return Module({"i": nn.Linear(5, width), "x": raw(width)}, lambda m, x: m.i(x))


def unknown(width):
    parts = {"i": nn.Linear(5, width), "x": raw(6, width)}
    return Module(parts, lambda m, x: torch.cdist(m.i(x), m.x))


def deeper(width):
    return nn.Sequential(
        nn.Linear(5, width), *(nn.Linear(width, width) for _ in range(width // 48))
    )


def whole_numbers(width):
    parts = {"i": nn.Linear(5, width), "k": nn.Parameter(torch.arange(width), requires_grad=False)}
    return Module(parts, lambda m, x: m.i(x)[:, m.k])


class Ends(BaseException):
    """A user's own, no Exception."""


def ends(width):
    raise Ends("no more")


@pytest.mark.parametrize(
    ("make", "more", "said"),
    [
        (whole_numbers, {}, "k: is torch.int64, which no step trains: make it a buffer"),
        (ends, {}, "make(48) failed: Ends: no more (test_roles.py, line "),
        (plain, {"other": 10**13}, "make(10000000000000) has parameters of "),
        (lambda w: plain(8), {}, "make ignores its width: every shape is the same at 48 and 96"),
        (plain, {"other": 48}, "other=48 is the base width"),
        (lambda w: nn.MultiheadAttention(w, 5), {}, "make(48) failed: AssertionError: embed_dim"),
        (lambda w: w, {}, "make(48) returned int, not a torch.nn.Module"),
        (lambda w: nn.LazyLinear(w), {}, "weight: is built lazily and has no shape yet"),
        (lambda w: nn.ReLU(), {}, "make(48) returned a module without parameters"),
        (unknown, {}, "x: what _cdist_forward does with it is not known here; give"),
        (deeper, {}, "2.bias: only one of make(48) and make(96) has it (2 such parameters)"),
        (plain, {"given": {"weight": "hidden"}}, "given: no parameter is named 'weight': "),
        (plain, {"given": {"0.*": "hiden"}}, "given: 0.*: kind 'hiden': did you mean 'hidden'?"),
        (plain, {"given": {"0.bias": "hidden"}}, "given: 0.bias grows along axes [0], and a"),
        (lambda w: nn.Linear(6, w), {}, "the module of make(48) fails on inputs: RuntimeError: "),
        (
            lambda w: Module({"e": nn.Embedding(w, 8)}, lambda m, x: m.e(x.abs().long())),
            {},
            "e.weight: its axis 0 grows and is looked up, as a vocabulary is: hold it fixed",
        ),
    ],
)
def test_what_cannot_be_told_is_one_line_that_names_the_thing(make, more, said):
    with refused() as error:
        roles(make, 48, ROWS, **more)
    assert said in str(error.value)


def test_a_kind_may_be_given():
    with pytest.warns(
        UserWarning, match=r"x: is never used .* its kind \(vector\) is by its shape"
    ):
        assert roles(never_used, 48, ROWS)["x"].kind == "vector"
    found = roles(never_used, 48, ROWS, given={"x": "vector"})
    assert found["x"].kind == "vector" and found.at(never_used(96))["x"].width_out == 2
    assert "given" in str(found)


class Forces(nn.Sequential):
    """An energy and its gradient."""

    def forward(self, x):
        with torch.enable_grad():
            x = x.clone().requires_grad_()
            energy = super().forward(x)
            return energy, torch.autograd.grad(energy.sum(), x, create_graph=True)[0]


class Codes(nn.Module):
    """The nearest vector of a codebook, the distance written out."""

    def __init__(self, width):
        super().__init__()
        self.layer, self.code = nn.Linear(5, width), nn.Embedding(9, width)
        self.readout = nn.Linear(width, 3)

    def forward(self, x):
        z, e = self.layer(x), self.code.weight
        squares = z.square().sum(-1, keepdim=True) + e.square().sum(-1)
        return self.readout(z + self.code((squares - 2 * z @ e.T).argmin(-1)))


def normed(norm, place):
    def make(width):
        layers = [nn.Linear(5, width), nn.Tanh(), nn.Linear(width, width), nn.Linear(width, 3)]
        layers[place] = norm(layers[place])
        return nn.Sequential(*layers)

    return make


SPECTRAL = nn.utils.parametrizations.spectral_norm
LAST = "3.parametrizations.weight.original"
NOT_TIED = {
    "forces": (lambda w: Forces(*normed(nn.Identity, 1)(w)), ["embedding", "hidden", "output"]),
    "codes": (Codes, ["embedding", "embedding", "output"]),
    "spectral": (normed(SPECTRAL, 0), ["embedding", "hidden", "output"]),
    "old": (normed(nn.utils.spectral_norm, 0), ["embedding", "hidden", "output"]),
    "readout": (normed(SPECTRAL, 3), ["embedding", "hidden", "output"]),
    "weight": (normed(nn.utils.parametrizations.weight_norm, 3), ["embedding", "hidden", "output"]),
}


@pytest.mark.parametrize("case", NOT_TIED)
def test_what_is_read_both_ways_by_no_output_is_no_tied_readout(case):
    """Found in review: all were asked to put a norm before a readout. Of a readout's norm a line
    says that no table suits it."""
    make, kinds = NOT_TIED[case]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = roles(make, 48, ROWS)
    assert not any(each.tied or each.role.own for each in found.found.values())
    known = [role.kind for role in found.values() if role.kind not in ("vector", "scalar")]
    assert sorted(known) == sorted(kinds)
    said = [str(each.message) for each in told if "divided by its norm" in str(each.message)]
    assert len(said) == (case in ("readout", "weight"))


def test_roles_are_of_one_module():
    found = roles(plain, 48, ROWS)
    with refused("the model has no role for 2.bias"):
        found.at(nn.Sequential(*plain(96), nn.Linear(3, 3)))
    with refused(r"1.weight: its shape is \(4, 96\), at the base width"):
        found.at(nn.Sequential(nn.Linear(5, 96), nn.Linear(96, 4)))


def test_a_module_whose_branch_depends_on_values_is_made_in_earnest():
    def run(m, x):
        y = m.i(x)
        return m.o(y) if y.sum() > -1e9 else y

    make = CASES["weight norm"][0]
    parts = lambda d: {"i": nn.Linear(5, d), "o": nn.Linear(d, 3)}  # noqa: E731
    found = roles(lambda d: Module(parts(d), run), 48, ROWS)
    assert found["o.weight"].kind == "output"
    assert roles(make, 48, ROWS)["o.weight"].kind == "output"


def kinds(found):
    return {kind: sum(r.kind == kind for r in found.values()) for kind in KINDS}


@pytest.mark.slow  # imports timm, torchvision and transformers
def test_every_parameter_of_stock_models_has_a_role():
    import timm
    from timm.models import ConvNeXt, MlpMixer, SwinTransformer, VisionTransformer
    from torchvision.models import DenseNet, MobileNetV2

    def vit(width):
        return VisionTransformer(32, 8, embed_dim=width, depth=2, num_heads=4, num_classes=10)

    def swin(width):
        return SwinTransformer(32, 2, 3, 10, "avg", width, (2, 2), (2, 4), window_size=4)

    def resnet(width):
        block, widths = timm.models.resnet.BasicBlock, tuple(width * k for k in (1, 2, 4, 8))
        return timm.models.ResNet(block, [2] * 4, 10, stem_width=width, channels=widths)

    def gpt2(width):
        return hugging_face.gpt2(width, 4)

    def llama(width):
        more = {"num_key_value_heads": width // 24, "intermediate_size": round(width / 6) * 16}
        return hugging_face.llama(width, width // 12, **more)

    images, tokens = torch.randn(2, 3, 32, 32), torch.arange(14).reshape(2, 7)
    convnext = {"depths": (1, 1, 1, 1), "num_classes": 10}
    cases = {  # make, width, other, inputs, number of parameters of KINDS, tied, attention
        "ViT": (vit, 48, 96, images, [3, 8, 1, 19, 1], None, -0.5),
        "Swin": (swin, 24, 48, images, [1, 17, 1, 39, 5], None, -0.5),
        "ConvNeXt": (
            lambda d: ConvNeXt(dims=(d, 2 * d, 4 * d, 8 * d), **convnext),
            *(8, 16, torch.randn(2, 3, 64, 64), [1, 11, 1, 42, 1], None, None),
        ),
        "Mixer": (
            lambda d: MlpMixer(img_size=32, patch_size=8, embed_dim=d, num_blocks=2, num_classes=9),
            # Two write tokens, which do not grow: readouts within.
            *(48, 96, images, [3, 4, 3, 17, 3], None, None),
        ),
        "ResNet-18": (resnet, 16, 32, images, [2, 18, 1, 40, 4], None, None),  # its stem is fixed
        "MobileNetV2": (
            lambda d: MobileNetV2(num_classes=10, width_mult=d),
            # Its last convolution is to 1,280 channels at every width: a readout.
            *(0.5, 1.0, images, [1, 33, 1, 119, 4], None, None),
        ),
        "DenseNet": (
            lambda d: DenseNet(d, (2, 2, 2, 2), 2 * d, num_classes=10),
            *(8, 16, images, [1, 19, 1, 42, 1], None, None),
        ),
        "GPT-2": (gpt2, 48, 96, tokens, [2, 8, 0, 18, 0], "lm_head", -0.5),
        "Llama": (llama, 48, 96, tokens, [1, 14, 1, 5, 0], None, None),
    }
    for name, (make, width, other, inputs, counts, tied, attention) in cases.items():
        found = roles(make, width, inputs, other=other)
        assert [*kinds(found).values()] == counts, name
        inside = [n for n in found.inside if found[n].kind == "output"]
        assert len(inside) == {"Mixer": 2}.get(name, 0), name
        assert len(found) == sum(counts)
        assert {r for f in found.found.values() for r in f.readouts} == ({tied} - {None}), name
        scales = {round(a.exponent, 6) for a in found.attention}
        assert scales == ({attention} - {None}), name


@pytest.mark.parametrize("fill", [nn.init.normal_, nn.init.uniform_, nn.init.trunc_normal_])
def test_few_draws_of_a_large_tensor_have_its_law(fill):
    weight = torch.empty(1_000, 1_037)
    torch.manual_seed(0)
    with FewDraws():
        fill(weight)
    torch.manual_seed(0)
    whole = fill(torch.empty_like(weight))
    # The spread of n values is known to about n^-1/2 of it, their mean to n^-1/2 spreads.
    assert float(weight.std()) == pytest.approx(float(whole.std()), rel=4 * DRAWN**-0.5)
    assert abs(weight.mean() - whole.mean()) < 4 * DRAWN**-0.5 * whole.std()
    assert torch.equal(weight.flatten()[DRAWN : 2 * DRAWN], weight.flatten()[:DRAWN])
    assert torch.linalg.matrix_rank(weight[:300, :300].double()) == 300


def test_small_tensors_are_drawn_whole_and_given_numbers_are_left_alone():
    with FewDraws():
        torch.manual_seed(0)
        small = nn.Linear(300, 300).weight
        filled = nn.init.ones_(torch.empty(DRAWN + 1))
    torch.manual_seed(0)
    assert torch.equal(small, nn.Linear(300, 300).weight)
    assert torch.equal(filled, torch.ones(DRAWN + 1))


@pytest.mark.slow  # imports transformers
def test_a_large_model_on_meta_is_told_from_its_shapes():
    """Of the sizes of Llama 3.2 1B, in 0.4 CPU seconds when it was timed."""
    from transformers import LlamaConfig, LlamaForCausalLM

    def make(width):
        sizes = {"hidden_size": width, "intermediate_size": 4 * width, "num_hidden_layers": 16}
        heads = {"num_attention_heads": width // 64, "num_key_value_heads": width // 256}
        with torch.device("meta"):
            return LlamaForCausalLM(
                LlamaConfig(vocab_size=128_256, tie_word_embeddings=True, **sizes, **heads)
            )

    found = roles(make, 2048, torch.zeros(1, 16, dtype=torch.long))
    assert len(found) == 146 and "spreads are the standard ones" in found.warnings[-1]
