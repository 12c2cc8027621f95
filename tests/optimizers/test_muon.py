"""Muon beside AdamW as one optimizer, held against torch's own of either."""

import copy

import pytest
import torch
from golden import SPECS
from refusals import refused

from repro import models
from repro.core.spec import override
from repro.tasks.identity import trained
from repro.training.optimizer import make_groups, make_optimizer
from widthwise.optimizers._muon_adamw import (
    COEFFICIENTS,
    EPS,
    ITERATIONS,
    orthogonalized,
)
from widthwise.parametrization import ONE, table

MUON = {
    "name": "muon",
    "betas": [0.9, 0.95],
    "eps": 1e-8,
    "momentum": 0.95,
    "adjust_lr_fn": "original",
    "weight_decay": 0.1,
    "clip": None,
}
SIZES = {"vocab_size": 30, "sequence_length": 8}
LR = 0.01


def network():
    settings = SPECS["transfer"]["model"] | {"width": 32, "base_width": 16}
    net = models.build(settings, "muP", **SIZES)
    models.draw(net, "muP", seed=1)
    return net


def stepped(net, optimizers, steps=3):
    """Weights after a few steps on the same tokens."""
    tokens = torch.randint(30, (4, 9), generator=torch.Generator().manual_seed(0))
    for _ in range(steps):
        net.zero_grad()
        logits = net(tokens[:, :-1]).flatten(0, 1)
        torch.nn.functional.cross_entropy(logits, tokens[:, 1:].flatten()).backward()
        for optimizer in optimizers:
            optimizer.step()
    return {name: p.detach().clone() for name, p in net.named_parameters()}


# torch has a Muon from 2.9 on.
WITH_TORCH_S = pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="torch has no Muon")


@WITH_TORCH_S
@pytest.mark.parametrize("adjust", ["original", "match_rms_adamw"])
def test_it_is_torch_s_muon_and_torch_s_adamw_side_by_side(adjust, monkeypatch):
    """But for torch's precision, bfloat16, whose iterates are compared below."""
    iterates = "torch.optim._muon._zeropower_via_newtonschulz"
    monkeypatch.setattr(iterates, lambda grad, *settings: orthogonalized(grad))
    settings = MUON | {"adjust_lr_fn": adjust}
    ours, theirs = network(), network()
    found = stepped(ours, [make_optimizer(make_groups(ours, "muP", settings, LR), settings)])
    rows, hidden, others = table("muP", "adam"), [], []
    for name, parameter in theirs.named_parameters():
        role = theirs.roles()[name]
        if role.kind == "hidden":
            hidden.append(parameter)
            continue
        rule = rows[role.kind]
        rates = {"lr": LR * rule.lr(role), "weight_decay": 0.1 * rule.weight_decay(role)}
        others.append({"params": [parameter], "eps": 1e-8 * rule.eps(role), **rates})
    decay = {"weight_decay": 0.1, "momentum": 0.95, "adjust_lr_fn": adjust}
    optimizers = [
        torch.optim.Muon(hidden, lr=LR, **decay),
        torch.optim.AdamW(others, betas=(0.9, 0.95)),
    ]
    for name, expected in stepped(theirs, optimizers).items():
        torch.testing.assert_close(found[name], expected, rtol=1e-5, atol=1e-6)


@WITH_TORCH_S
@pytest.mark.parametrize("shape", [(48, 48), (96, 24), (24, 96)])
def test_iterates_are_torch_s_to_the_precision_of_bfloat16(shape):
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    expected = torch.optim._muon._zeropower_via_newtonschulz(matrix, COEFFICIENTS, ITERATIONS, EPS)
    off = (orthogonalized(matrix) - expected).norm() / expected.norm()
    assert off < 0.05


@pytest.mark.parametrize("shape", [(24, 24), (96, 24), (24, 96)])
def test_singular_values_come_near_one_and_their_vectors_stay(shape):
    generator = torch.Generator().manual_seed(0)
    matrix = torch.randn(shape, generator=generator, dtype=torch.float64)
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    core = u.T @ orthogonalized(matrix) @ v.T
    values = core.diagonal()
    assert values.min() > 0.6 and values.max() < 1.3
    torch.testing.assert_close(core, values.diag(), atol=1e-10, rtol=0)


def test_the_rate_of_a_hidden_matrix_is_its_own_at_every_width():
    rows = table("muP", "muon")
    assert rows["hidden"].lr == rows["hidden"].weight_decay == ONE
    assert {k: r for k, r in rows.items() if k != "hidden"} == {
        k: r for k, r in table("muP", "adam").items() if k != "hidden"
    }
    groups = make_groups(network(), "muP", MUON, LR)
    assert {group["lr"] for group in groups if "momentum" in group} == {LR}


def test_a_run_goes_on_from_what_was_saved():
    whole, cut, rest = network(), network(), network()
    expected = stepped(whole, [make_optimizer(make_groups(whole, "muP", MUON, LR), MUON)], 4)
    first = make_optimizer(make_groups(cut, "muP", MUON, LR), MUON)
    stepped(cut, [first], 2)
    saved = copy.deepcopy((cut.state_dict(), first.state_dict()))
    second = make_optimizer(make_groups(rest, "muP", MUON, LR), MUON)
    rest.load_state_dict(saved[0])
    second.load_state_dict(saved[1])
    found = stepped(rest, [second], 2)
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_the_adjustment_is_part_of_a_run_s_id():
    spec = override(SPECS["transfer"], {"optimizer": MUON})
    other = override(spec, {"optimizer.adjust_lr_fn": "match_rms_adamw"})
    assert trained(spec) != trained(other)


def test_what_muon_cannot_update_is_refused():
    with refused("adjust_lr_fn 'both' is unknown: choose from original"):
        both = MUON | {"adjust_lr_fn": "both"}
        make_optimizer(make_groups(network(), "muP", both, LR), both)
    resnet = {"name": "resnet", "classes": 3, "width": 0.0625, "base_width": 0.0625}
    with refused("has 4 axes and is no matrix"):
        make_groups(models.build(resnet, "SP"), "SP", MUON, LR)
