"""A factor that never ran in training is noticed."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import widthwise as ww
from benchmarks.zoo.small import Stack, Transformer, stepwise
from widthwise.errors import UserError
from widthwise.tracing import scaled

TOKENS = torch.randint(50, (4, 9), generator=torch.Generator().manual_seed(0))


Model = partial(Transformer, heads=1, vocabulary=50)


def usual(model):
    return F.cross_entropy(model(TOKENS).flatten(0, 1), TOKENS.flatten())


def fused(model):
    logits = F.linear(model.features(TOKENS), model.readout.weight)
    return F.cross_entropy(logits.flatten(0, 1), TOKENS.flatten())


def trained(tied, recipe, loss, kind=torch.optim.AdamW, change=None, wrap=lambda model: model):
    """A plan and its optimizer, after three steps."""
    scaled.COMPILED.clear()
    roles = ww.roles(partial(Model, tied=tied), 32, TOKENS)
    model = Model(128, tied=tied)
    plan = ww.plan(model, roles, ww.recipe(recipe, kind)).init_()
    if change:
        change(model)
    model.load_state_dict(model.state_dict())
    optimizer = kind(plan.groups(1e-2))
    plan.check(optimizer)  # no step was made
    if kind is torch.optim.AdamW:
        usual(wrap(model))  # a look at it; SGD does not count steps
    for _ in range(3):
        loss(wrap(model)).backward()
        optimizer.step()
        optimizer.zero_grad()
    return plan, optimizer


@pytest.mark.parametrize("kind", [torch.optim.AdamW, torch.optim.SGD])
@pytest.mark.parametrize(("tied", "recipe"), [(True, "muP"), (False, "muP-multiplier")])
def test_a_loss_that_takes_the_weight_itself_is_told(tied, recipe, kind):
    plan, optimizer = trained(tied, recipe, fused, kind)
    with torch.no_grad():  # as an evaluation does
        usual(plan.model)
    with pytest.raises(UserError, match="readout: its factor was not applied in 3 steps"):
        plan.check(optimizer)
    plan, optimizer = trained(tied, recipe, usual, kind)
    plan.check(optimizer)


def test_an_untied_readout_under_mup_has_none_and_any_loss_is_right():
    plan, optimizer = trained(False, "muP", fused)
    plan.check(optimizer)


def test_a_kernel_in_place_of_torch_s_attention_is_told():
    def change(model):
        model.attention.attend = stepwise

    plan, optimizer = trained(False, "muP", usual, change=change)
    with pytest.raises(UserError, match="attention: its factor was not applied"):
        plan.check(optimizer)


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_compiled_model_s_factors_run(fullgraph):
    def wrap(model):
        return torch.compile(model, backend="eager", fullgraph=fullgraph)

    plain = partial(Stack, vocabulary=50)
    torch._dynamo.reset()
    if fullgraph:  # attention's factor breaks the graph: hold it to the readout alone
        roles = ww.roles(plain, 32, TOKENS)
        model = plain(128)
        plan = ww.plan(model, roles, "muP-multiplier").init_()
        optimizer = torch.optim.AdamW(plan.groups(1e-2))
        usual(wrap(model)).backward()
        optimizer.step()
    else:
        plan, optimizer = trained(True, "muP", usual, wrap=wrap)
    plan.check(optimizer)


def test_a_head_that_is_not_trained_is_none_of_it():
    class Heads(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.body = nn.Linear(6, width)
            self.first, self.second = nn.Linear(width, 2), nn.Linear(width, 3)

        def forward(self, x, both=True):
            x = self.body(x).tanh()
            return (self.first(x), self.second(x)) if both else self.first(x)

    rows = torch.randn(5, 6)
    for kind in (torch.optim.AdamW, torch.optim.SGD):
        model, recipe = Heads(64), ww.recipe("muP-multiplier", kind)
        plan = ww.plan(model, ww.roles(Heads, 16, rows), recipe).init_()
        optimizer = kind(plan.groups(1e-2))
        model(rows, both=False).sum().backward()
        optimizer.step()
        plan.check(optimizer)
