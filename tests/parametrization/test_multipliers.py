"""Parametrizations on the suite's models and on one of a user's: draws, readouts, attention."""

import math

import mup
import pytest
import torch
import torch.nn.functional as F
from refusals import refused
from tiny import MODELS, tiny_run, training_sizes
from torch import nn

import widthwise
from benchmarks.zoo.small import MLP
from repro import models
from repro.core.spec import override
from repro.data.random_data import random_data
from repro.models.readout import scaled
from repro.statistics import slope
from repro.tasks import TASKS
from widthwise import parametrization as p
from widthwise.parametrization import shipped

TIED = ("gpt2", "bart")
# For Adam alone, with two rates where one is tied: their files have no TIED.
UNTIED = {name for name, table in shipped().items() if "TIED" not in table}


def training(model, name, factor):
    """A tiny run of one of the suite's models, `factor` times as wide as its base."""
    task, spec, widths = tiny_run(model, name)
    spec = override(spec, {"model.width": widths[0] * factor})
    return TASKS[task].build(spec, random_data(spec, "cpu"), "cpu")


@pytest.mark.parametrize("name", [*sorted({*shipped()} - {"as-made"}), "hybrid, M"])
@pytest.mark.parametrize("model", MODELS)
def test_every_parametrization_trains_every_model_or_says_why_not(model, name):
    if name in UNTIED and model in TIED:
        with refused(f"^{name}: no multiplier is defined for a tied readout"):
            training(model, name, 2)
        return
    sizes = training_sizes(training(model, name, 2), steps=1).sizes
    assert all(math.isfinite(size) for size in sizes.values())
    assert sizes["", "output change"] > 0


@pytest.mark.parametrize("model", MODELS)
def test_both_forms_of_mup_are_the_same_run_when_drawn_by_their_tables(model):
    """Each draws for itself from the same seed; four times the base's width; four steps of Adam."""
    plain, scaled = (
        training_sizes(training(model, name, 4), steps=4).sizes
        for name in ("muP", "muP-multiplier")
    )
    for quantity in ("output size", "output change"):
        assert scaled["", quantity] == pytest.approx(plain["", quantity], rel=1e-3)


@pytest.mark.parametrize("model", TIED)
def test_a_tied_readout_has_the_multiplier_of_its_parametrization(model):
    powers = {"SP": 0, "muP": -1, "muP-multiplier": -1, "neural-tangent": -0.5, "hybrid": -0.75}
    for name, power in powers.items():
        found = training(model, name, 4).model.output_multiplier
        assert found == pytest.approx(4**power), name


@pytest.mark.parametrize("model", MODELS)
def test_a_multiplier_of_what_the_readout_reads_is_one_of_the_logits(model):
    run = training(model, "SP", 2)
    net = run.model.double().eval()
    # A bias of the readout is not multiplied.
    weights = [p for n, p in net.named_parameters() if n not in ("output.bias", "head.bias")]
    with torch.no_grad():
        for weight in weights:
            weight.normal_(std=0.1)
    batch = next(iter(run.batches.from_step(0)))
    inputs = [x.double() if x.is_floating_point() else x for x in batch]
    inputs = inputs[:-2] if len(inputs) > 2 else inputs[:1]

    def found(multiplier, factor):
        net.output_multiplier = multiplier
        logits = net(*inputs) * factor
        (logits * logits.detach().cos()).sum().backward()
        gradients = [weight.grad for weight in weights]
        net.zero_grad(set_to_none=True)
        return [logits, *gradients]

    torch.testing.assert_close(found(0.3, 1), found(1, 0.3), rtol=1e-12, atol=1e-12)


def test_a_multiplier_of_1_is_no_operation():
    x = torch.ones(2)
    assert scaled(x, 1) is x and scaled(x, 1.0) is x and not torch.equal(scaled(x, 2), x)


def test_an_unknown_parametrization_of_a_tied_readout_is_named():
    with refused("unknown parametrization 'mup'"):
        p.tied_multiplier("mup", 4)


def test_readout_and_init_are_those_of_every_optimizer():
    """So that a model may be built and drawn before its optimizer is known."""
    for name in [*shipped().keys() - UNTIED, "s=0.25", "hybrid, M"]:
        sgd, adam = (p.table(name, family) for family in p.DEGREE)
        for kind in p.KINDS:
            assert sgd[kind].init == adam[kind].init
            assert sgd[kind].multiplier == adam[kind].multiplier


def test_what_the_suite_s_models_have_no_place_for_is_refused(tmp_path):
    with refused("as-made: draws nothing, nor do the suite's models"):
        training("mlp", "as-made", 2)
    path = tmp_path / "tangent.py"
    path.write_text(
        "from dataclasses import replace\nfrom widthwise.parametrization import Power, table\n"
        "def rules(family):\n    rows = table('muP', family)\n"
        "    hidden = replace(rows['hidden'], multiplier=Power(n_in=-1 / 2))\n"
        "    return {**rows, 'hidden': hidden}\n"
    )
    with refused("a factor on the output of a hidden, for which the suite"):
        training("mlp", str(path), 2)


@pytest.mark.parametrize("model", ["vit", "bart"])
def test_attention_that_grows_by_head_dimension_is_a_mean_under_mup(model):
    """Table 1 widens exactly what averages over every width that grows: logits q.k / head_dim."""
    narrow, wide = (training(model, "muP-multiplier", factor).model for factor in (1, 4))

    def make(factor):
        return training(model, "muP-multiplier", factor).model

    batch = next(iter(training(model, "muP-multiplier", 1).batches.from_step(0)))
    inputs = batch[:-2] if len(batch) > 2 else batch[0]
    widthwise.widen(narrow, None, 4, make, inputs)
    scales = {layer.scale for layer in wide.modules() if hasattr(layer, "head_dim")}
    head_dim = wide.width // 2  # two heads
    assert list(scales) == [pytest.approx((head_dim / 4) ** 0.5 / head_dim)]
    for name in ("SP", "LVP", "neural-tangent", "maximal-update"):
        assert p.attention_multiplier(name, 4) == 1


BASE, INPUTS, OUTPUTS, WIDTHS = 16, 12, 300, (16, 64, 256, 1024)


class Stock(MLP):
    """A model of a user's, initialized as torch does: U(-fan_in^-1/2, fan_in^-1/2), biases too."""

    def __init__(self, width, readout=nn.Linear):
        super().__init__(width, readout, INPUTS, OUTPUTS)

    def roles(self):
        ratio, bias = self.width / BASE, (3 * BASE) ** -0.5
        stock = {"distribution": "uniform", "std": (3 * self.width) ** -0.5}
        first = {"distribution": "uniform", "std": (3 * INPUTS) ** -0.5, "width_out": ratio}
        return {
            "input.weight": p.Role("embedding", INPUTS, **first),
            "input.bias": p.Role("vector", **first),
            "hidden.weight": p.Role("hidden", self.width, ratio, ratio, **stock),
            "hidden.bias": p.Role("vector", width_out=ratio, std=bias, distribution="uniform"),
            "readout.weight": p.Role("output", self.width, width_in=ratio, **stock),
            "readout.bias": p.Role("scalar", std=bias, distribution="uniform"),
        }

    def logits(self, x, multiplier):
        """Without the readout's bias."""
        return multiplier * F.linear(self.features(x), self.readout.weight)


def drawn(width, name):
    """(logits at initialization, parameter -> spread), drawn by a table or the mup package."""
    x = torch.randn(64, INPUTS, generator=torch.Generator().manual_seed(1))
    torch.manual_seed(0)
    if name == "mup":
        model, multiplier = Stock(width, mup.MuReadout), BASE / width
        mup.set_base_shapes(model, Stock(BASE, mup.MuReadout), delta=Stock(2 * BASE, mup.MuReadout))
    else:
        model, multiplier = Stock(width), p.output_multiplier(name, width / BASE)
        p.plan(model, None, name).init_(torch.Generator().manual_seed(0))
    spreads = {key: float(q.detach().square().mean().sqrt()) for key, q in model.named_parameters()}
    return model.logits(x, multiplier).detach(), spreads


def test_draws_over_widths_are_those_of_the_mup_package():
    """The spread of every parameter, biases too, and the logits' size: slopes and values."""
    found = {w: {name: drawn(w, name) for name in ("muP", "muP-multiplier", "mup")} for w in WIDTHS}
    for width, by_name in found.items():
        logits, spreads = by_name["muP-multiplier"]
        plain_logits, plain = by_name["muP"]
        their_logits, theirs = by_name["mup"]
        torch.testing.assert_close(logits, plain_logits, rtol=1e-4, atol=1e-5)
        assert float(logits.std() / their_logits.std()) == pytest.approx(1, abs=0.25)
        for key, spread in spreads.items():
            few = width if key in ("input.bias", "hidden.bias") else OUTPUTS
            assert spread == pytest.approx(theirs[key], rel=3 / few**0.5), (width, key)
        factor = (width / BASE) ** -1 if width > BASE else 1
        assert plain["readout.weight"] == pytest.approx(factor * spreads["readout.weight"])

    def exponent(size):
        return slope([math.log(w) for w in WIDTHS], [math.log(size(found[w])) for w in WIDTHS])

    expected = {"input.weight": 0, "input.bias": 0, "hidden.weight": -0.5, "hidden.bias": 0}
    expected |= {"readout.weight": 0, "readout.bias": 0}
    for name in ("muP-multiplier", "mup"):
        for key, power in expected.items():
            found_power = exponent(lambda by_name, name=name, key=key: by_name[name][1][key])
            assert found_power == pytest.approx(power, abs=0.1), (name, key)
        size = exponent(lambda by_name, name=name: float(by_name[name][0].std()))
        assert size == pytest.approx(-0.5, abs=0.1), name


def test_a_vector_is_drawn_where_its_role_has_a_std_and_else_left_to_the_model():
    torch.manual_seed(0)
    model = Stock(64)
    stated, torchs = model.roles(), {k: q.detach().clone() for k, q in model.named_parameters()}
    model.roles = lambda: stated | {"input.bias": p.Role("vector", width_out=4)}
    p.plan(model, None, "muP").init_(torch.Generator().manual_seed(0))
    assert torch.equal(model.input.bias, torchs["input.bias"])
    assert not torch.equal(model.hidden.bias, torchs["hidden.bias"])
    with pytest.raises(ValueError, match="vector: no init is stated"):
        p.init_std(model.roles()["input.bias"], p.table("muP", "adam")["vector"])


LLM = {
    "name": "llm",
    "depth": 1,
    "heads": 4,
    "kv_heads": 2,
    "head_dim": 8,
    "rotary_dim": 8,
    "window": 4,
    "inner": 48,
    "base_width": 8,
    "width": 32,
    "vocab_size": 40,
    "sequence_length": 6,
}


def test_the_pretrained_decoder_s_logits_are_the_same_under_both_forms_of_mup():
    tokens = torch.arange(12).reshape(2, 6)
    logits = []
    for name in ("muP", "muP-multiplier", "LVP"):
        model = models.build(LLM, name)
        models.draw(model, name, seed=0)
        logits.append(model(tokens).detach())
    torch.testing.assert_close(logits[0], logits[1], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(logits[0], logits[2], rtol=0.1)
