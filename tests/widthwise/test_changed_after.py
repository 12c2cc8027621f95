"""A model whose parameters changed after its plan was made: one line, no bare KeyError."""

import pytest
import torch
import torch.nn.utils.prune as prune
from refusals import refused
from torch import nn

import widthwise as ww
from benchmarks.zoo import hugging_face
from benchmarks.zoo.small import Tied

TOKENS = torch.randint(11, (4, 9), generator=torch.Generator().manual_seed(0))


class Adapted(nn.Module):
    """A layer within another, as adapters have it."""

    def __init__(self, layer):
        super().__init__()
        self.base_layer, self.down = layer, nn.Linear(layer.in_features, 2)


CHANGES = {
    "to_empty unties": (
        lambda m: m.to("meta").to_empty(device="cpu"),
        "readout.weight was tied to embedding.weight and is not now, as after to_empty: tie the "
        "weights again",
    ),
    "pruned": (lambda m: prune.identity(m.hidden, "weight"), "hidden.weight_orig is not among"),
    "normalized": (
        lambda m: nn.utils.parametrizations.weight_norm(m.hidden),
        "hidden.parametrizations.weight.original0 is not among",
    ),
    "a layer more": (lambda m: m.add_module("x", nn.Linear(50, 3)), "x.weight is not among"),
    "an adapter": (
        lambda m: setattr(m, "hidden", Adapted(m.hidden)),
        "hidden.base_layer.weight is not among",
    ),
}
METHODS = {
    "init_": lambda p: p.init_(torch.Generator()),
    "init_ as made": lambda p: p.init_(),
    "groups": lambda p: p.groups(1e-3),
    "check": lambda p: p.check(torch.optim.AdamW(p.model.parameters())),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("method", METHODS)
def test_what_changed_is_named(change, method):
    model = Tied(64)
    plan = ww.plan(model, ww.roles(Tied, 32, TOKENS), "muP")
    plan.groups(1e-3)
    CHANGES[change][0](model)
    with refused() as told:
        METHODS[method](plan)
    assert CHANGES[change][1] in str(told.value)
    assert str(told.value).startswith(method.partition(" ")[0])


def test_clipping_asks_for_a_plan():
    model, roles = Tied(64), ww.roles(Tied, 32, TOKENS)
    with refused("clip_grad_norm_: Roles does not say"):
        ww.clip_grad_norm_(model.parameters(), 1.0, roles)


def test_a_tied_model_of_hugging_face_is_told_to_tie_its_weights_again():
    pytest.importorskip("transformers")

    def llama(width):
        return hugging_face.llama(width, width // 16, 1, tied=True)

    roles = ww.roles(llama, 32, TOKENS)
    with torch.device("meta"):
        model = llama(64)
    plan = ww.plan(model, roles, "muP")
    model.to_empty(device="cpu")
    with refused("lm_head.weight was tied to model.embed_tokens.weight"):
        plan.init_(torch.Generator())
    model.tie_weights()
    plan.init_(torch.Generator())
    assert model(TOKENS).logits.isfinite().all()
