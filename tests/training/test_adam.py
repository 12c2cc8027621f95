"""Both places of Adam's eps, against formulas written out."""

import math

import pytest
import torch
from refusals import refused

from repro.training.optimizer import make_optimizer

LR, BETAS, EPS, DECAY = 0.1, (0.9, 0.998), 1e-2, 0.05
GRADIENTS = [[0.003, -0.2, 1e-5], [0.01, 0.1, -1e-4], [-0.02, 0.3, 0.0]]


def optimizer(weights, convention, **group):
    groups = [{"params": [weights], "lr": LR, "weight_decay": DECAY, "eps": EPS} | group]
    settings = {"name": "adamw", "betas": BETAS, "eps_convention": convention}
    return make_optimizer(groups, settings)


def stepped(weights, made, gradients):
    for gradient in gradients:
        weights.grad = torch.tensor(gradient, dtype=torch.float64)
        made.step()
    return weights.tolist()


@pytest.mark.parametrize("convention", ["torch", "fairseq"])
@pytest.mark.parametrize("steps", [1, 3])
def test_a_step_is_the_formula(convention, steps):
    weights = torch.ones(3, dtype=torch.float64, requires_grad=True)
    found = stepped(weights, optimizer(weights, convention), GRADIENTS[:steps])
    for i, value in enumerate(found):
        w, m, v = 1.0, 0.0, 0.0
        for t in range(1, steps + 1):
            g = GRADIENTS[t - 1][i]
            m, v = 0.9 * m + 0.1 * g, 0.998 * v + 0.002 * g**2
            c1, c2 = 1 - 0.9**t, 1 - 0.998**t
            w -= LR * DECAY * w
            if convention == "fairseq":
                w -= LR * math.sqrt(c2) / c1 * m / (math.sqrt(v) + EPS)
            else:
                w -= LR * (m / c1) / (math.sqrt(v / c2) + EPS)
        assert value == pytest.approx(w, rel=1e-12)


def test_the_conventions_differ_by_the_notes_ratios():
    """|g| = 5e-6, eps 1e-6: fairseq's step over torch's, t = 1 and 100."""
    for steps, ratio in ((1, 0.22), (100, 0.82)):
        moved = {}
        for convention in ("torch", "fairseq"):
            w = torch.zeros(1, dtype=torch.float64, requires_grad=True)
            made = optimizer(w, convention, eps=1e-6, weight_decay=0.0)
            stepped(w, made, [[5e-6]] * (steps - 1))
            before = w.item()
            moved[convention] = stepped(w, made, [[5e-6]])[0] - before
        assert moved["fairseq"] / moved["torch"] == pytest.approx(ratio, abs=0.02)


def test_the_state_goes_on_where_it_was():
    straight = torch.ones(3, dtype=torch.float64, requires_grad=True)
    expected = stepped(straight, optimizer(straight, "fairseq"), GRADIENTS)
    first = torch.ones(3, dtype=torch.float64, requires_grad=True)
    made = optimizer(first, "fairseq")
    stepped(first, made, GRADIENTS[:2])
    second = first.detach().clone().requires_grad_()
    again = optimizer(second, "fairseq")
    again.load_state_dict(made.state_dict())
    assert stepped(second, again, GRADIENTS[2:]) == expected


def test_another_convention_is_refused():
    with refused("eps_convention 'apex' is unknown"):
        optimizer(torch.ones(1, requires_grad=True), "apex")
