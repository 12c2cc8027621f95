"""Factors stay where code that was compiled for another model of the same class is at hand."""

import copy
import pickle
from dataclasses import replace
from functools import partial

import pytest
import torch

import widthwise
from benchmarks.zoo.small import Stack, Tied, Transformer
from widthwise.parametrization import ONE, Power, Rule, table
from widthwise.tracing import scaled

BASE = 16
TOKENS = torch.arange(16).reshape(2, 8) % 11
net = partial(Stack, vocabulary=11)
functional = partial(Tied, layer=False)


def on_embeddings():
    rows = dict(table("muP", "adam"))
    rows["embedding"] = Rule(init=ONE, lr=ONE, multiplier=Power(n_out=-1 / 2))
    return replace(widthwise.recipe("muP"), name="mine", rules=rows)


def deep(size):
    return net(size["width"], size["depth"])


# Place of a factor -> make, the base, the size compared, recipe, what `plan` takes besides.
PLACES = {
    "a readout": (net, BASE, 4 * BASE, "muP-multiplier", {}),
    "a tied readout": (partial(net, tied=True), BASE, 4 * BASE, "muP", {}),
    "an embedding": (net, BASE, 4 * BASE, on_embeddings(), {}),
    "what a readout reads": (functional, BASE, 4 * BASE, "muP", {"readout": "norm"}),
    "residual branches": (
        deep,
        {"width": BASE, "depth": 1},
        {"width": BASE, "depth": 3},
        widthwise.recipe("muP", depth="1/L"),
        {},
    ),
    "attention": (partial(Transformer, heads=1), BASE, 4 * BASE, "muP", {}),
}


def case(place):
    """(a model without a plan, one with it, one of other factors), of the same values."""
    make, base, size, recipe, more = PLACES[place]
    other = {**base, "depth": 2} if isinstance(base, dict) else 2 * base
    models = []
    for at in (None, base, other):
        torch.manual_seed(0)
        model = make(size)
        if at is not None:
            widthwise.plan(model, widthwise.roles(make, at, TOKENS), recipe, **more)
        models.append(model)
    return models


@pytest.mark.parametrize("place", PLACES)
def test_a_model_that_was_compiled_before_takes_no_factor_away(place):
    torch._dynamo.reset()
    models = case(place)
    with torch.no_grad():
        plain, *planned = [model(TOKENS) for model in models]
    assert all(not torch.allclose(plain, each, rtol=1e-3) for each in planned)
    for model, expected in zip(models, [plain, *planned], strict=True):
        compiled = torch.compile(model, backend="eager")
        torch.testing.assert_close(compiled(TOKENS), expected)


@pytest.mark.parametrize("place", PLACES)
def test_copies_and_a_forward_of_the_module_s_own_keep_the_factor(place):
    _, model, _ = case(place)
    expected = model(TOKENS)
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        torch.testing.assert_close(copied(TOKENS), expected)
    make, base, size, recipe, more = PLACES[place]
    if place == "attention":
        return  # its factor cannot reach such a forward: `Plan.check` says so
    torch.manual_seed(0)
    model = make(size)
    for module in model.modules():  # as accelerate does
        module.forward = module.forward
    widthwise.plan(model, widthwise.roles(make, base, TOKENS), recipe, **more)
    torch.testing.assert_close(model(TOKENS), expected)


def test_a_factor_and_attention_s_are_on_one_module():
    tied = partial(Transformer, tied=True)
    roles = widthwise.roles(tied, 32, TOKENS)
    model = widthwise.plan(tied(64).eval(), roles, "muP").model
    attention = next(m for m in model.modules() if hasattr(m, "widthwise_logits"))
    before, kind = model(TOKENS), type(attention)
    scaled.put(attention, scaled.Scale("output", 0.5))
    after = model(TOKENS)
    assert not torch.allclose(before, after)
    torch.testing.assert_close(pickle.loads(pickle.dumps(model))(TOKENS), after)
    scaled.take(attention, "output")
    assert type(attention) is kind
    torch.testing.assert_close(model(TOKENS), before)
