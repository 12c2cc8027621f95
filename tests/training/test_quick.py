"""The quick step is torch's to the last bit, and is torch's own wherever it has to be."""

import copy

import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from repro.training import quick
from repro.training.adam import FairseqAdamW

SHAPES = [(16, 54), (16,), (16, 16), (16,), (7, 16), (7,), (), (3, 1, 2)]
KINDS = {
    "sgd": (torch.optim.SGD, {"momentum": 0.0}),
    "momentum": (torch.optim.SGD, {"momentum": 0.9}),
    "nesterov": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    "dampened": (torch.optim.SGD, {"momentum": 0.9, "dampening": 0.1, "maximize": True}),
    "adam": (torch.optim.Adam, {"betas": (0.9, 0.99)}),
    "amsgrad": (torch.optim.Adam, {"amsgrad": True}),
    "decoupled adam": (torch.optim.Adam, {"decoupled_weight_decay": True}),
    "adamw": (torch.optim.AdamW, {"betas": (0.9, 0.95), "maximize": True}),
    "adamw, amsgrad": (torch.optim.AdamW, {"amsgrad": True}),
    "fairseq": (FairseqAdamW, {"betas": (0.9, 0.98)}),
}


def made(name, groups=3, **changes):
    kind, settings = KINDS[name]
    torch.manual_seed(0)
    parameters = [torch.nn.Parameter(torch.randn(shape)) for shape in SHAPES]
    listed = [
        {"params": parameters[i::groups], "lr": 0.1 / (i + 1), "weight_decay": 0.01 * i}
        for i in range(groups)
    ]
    return parameters, kind(listed, **({"lr": 1e-3, "fused": True} | settings | changes))


def give(parameters, step, without=()):
    rng = torch.Generator().manual_seed(step)
    for number, parameter in enumerate(parameters):
        gradient = torch.randn(parameter.shape, generator=rng)
        parameter.grad = None if number in without else gradient


def bits(parameters, optimizer):
    states = [optimizer.state.get(p, {}) for p in parameters]
    kept = [{k: v.tolist() if v is not None else v for k, v in s.items()} for s in states]
    return [p.tolist() for p in parameters], kept


def move(optimizer):
    """One parameter goes from the first group to the last."""
    optimizer.param_groups[-1]["params"].append(optimizer.param_groups[0]["params"].pop())


def halve(optimizer):
    for group in optimizer.param_groups:
        group["lr"] /= 2


def reload(optimizer):
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))


def join(optimizer):
    """A parameter in a group of its own, which has no state."""
    torch.manual_seed(9)
    extra = torch.nn.Parameter(torch.randn(5))
    extra.grad = torch.ones(5)
    optimizer.add_param_group({"params": [extra], "lr": 0.3})
    if isinstance(optimizer, FairseqAdamW):
        optimizer.param_groups[-1] |= {"stated_eps": 1e-8, "updates": 0}


def other_moments(optimizer):
    for state in optimizer.state.values():
        for name, value in state.items():
            state[name] = None if value is None else value.clone() * 2


CHANGES = {"nothing": lambda optimizer: None} | {
    each.__name__: each for each in (halve, move, reload, join, other_moments)
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("name", KINDS)
def test_steps_are_torch_s_to_the_last_bit(name, groups, change):
    # torch's fused SGD fails where one of a group had no gradient at its first step.
    lacking = (4,) if KINDS[name][0] is torch.optim.SGD else (0, 4)
    found = []
    for take in (lambda optimizer: optimizer.step(), quick.step):
        parameters, optimizer = made(name, groups)
        for step in range(6):
            if step == 3:
                CHANGES[change](optimizer)
            give(parameters, step, without=(1, 4) if step in lacking else ())
            take(optimizer)
        found.append(bits([p for g in optimizer.param_groups for p in g["params"]], optimizer))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", KINDS)
def test_once_there_is_state_torch_s_step_is_not_called(name, monkeypatch):
    parameters, optimizer = made(name)
    give(parameters, 0)
    quick.step(optimizer)
    monkeypatch.setattr(type(optimizer), "step", None)
    give(parameters, 1, without=(2,))
    before = parameters[0].tolist()
    quick.step(optimizer)
    assert parameters[0].tolist() != before


def test_a_torch_that_lacks_what_it_never_promised_steps_itself(monkeypatch):
    steps = []
    monkeypatch.setattr(quick, "PRIVATE", (*quick.PRIVATE, (torch, "_fused_adamw_renamed_")))
    parameters, optimizer = made("adamw")
    optimizer.step = lambda: steps.append(1)
    monkeypatch.setattr(quick, "_is_watched", lambda optimizer: False)
    for step in range(2):
        give(parameters, step)
        quick.step(optimizer)
    assert len(steps) == 2


def test_who_watches_every_optimizer_of_a_process_is_told():
    """As the library does once a model has a factor: its count of steps is right, and no model of
    the process is slower for it."""
    parameters, optimizer = made("adamw")
    give(parameters, 0)
    seen = []
    handle = register_optimizer_step_post_hook(lambda *told: seen.append(told))
    try:
        quick.step(optimizer)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(optimizer), "step", None)
            quick.step(optimizer)
    finally:
        handle.remove()
    by_torch, by_us = seen
    assert by_torch == by_us


def hook(parameters, optimizer):
    optimizer.register_step_post_hook(lambda *_: None)


def patch(parameters, optimizer):
    whole = optimizer.step
    optimizer.step = lambda: whole()


def scaler(parameters, optimizer):
    optimizer.grad_scale = None


def forget(parameters, optimizer):
    optimizer.state.clear()


def unfused(parameters, optimizer):
    for group in optimizer.param_groups:
        group["fused"] = False


def sparse(parameters, optimizer):
    parameters[2].grad = parameters[2].grad.to_sparse()


def double(parameters, optimizer):
    parameters[0].data = parameters[0].data.double()


@pytest.mark.parametrize("why", [hook, patch, scaler, forget, unfused, sparse, double])
def test_torch_steps_where_it_has_to(why, monkeypatch):
    parameters, optimizer = made("adamw")
    give(parameters, 0)
    optimizer.step()
    give(parameters, 1)
    called = []
    monkeypatch.setattr(type(optimizer), "step", lambda self: called.append(self))
    why(parameters, optimizer)
    quick.step(optimizer)
    assert called == [optimizer]


def test_a_kind_of_one_s_own_takes_its_own_step():
    class Own(torch.optim.AdamW):
        def step(self):
            self.taken = True

    weights = torch.nn.Parameter(torch.ones(2))
    optimizer = Own([weights], fused=True)
    quick.step(optimizer)
    assert optimizer.taken


def test_no_gradient_is_left():
    parameters, optimizer = made("sgd")
    give(parameters, 0)
    quick.zero_grad(optimizer)
    assert [p.grad for p in parameters] == [None] * len(SHAPES)
