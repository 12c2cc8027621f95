"""The best rate of deep linear networks, against torch's own gradients and the limit."""

import numpy as np
import pytest
import torch

from repro.tasks import TASKS, best_rate
from studies.rate_transfer._networks import SPEC


def network(width=24, depth=3, features=5, samples=4, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    weights = [normal(width, width) / width**0.5 for _ in range(depth)]
    h_nm = normal(width, features) @ normal(features, samples) / features**0.5
    return weights, normal(width) / width, h_nm, normal(samples)


def by_autograd(weights, v_n, h_nm, y_m, steps, rate):
    """The loss after some steps, by gradients that torch finds."""
    own = [weight.clone().requires_grad_() for weight in weights]

    def loss():
        hidden = h_nm
        for weight in own:
            hidden = weight @ hidden
        return (v_n @ hidden - y_m).square().mean() / 2

    for _ in range(steps):
        gradients = torch.autograd.grad(loss(), own)
        own = [
            (w - rate * g).detach().requires_grad_() for w, g in zip(own, gradients, strict=True)
        ]
    return loss().item()


@pytest.mark.parametrize("steps", [1, 3])
def test_losses_are_those_of_gradient_descent(steps):
    case, rates = network(), torch.tensor([0.1, 1.0, 3.0], dtype=torch.float64)
    expected = [by_autograd(*case, steps, float(rate)) for rate in rates]
    assert best_rate.after(*case, steps, rates) == pytest.approx(expected, rel=1e-9)


def test_the_best_rate_of_one_step_is_where_the_loss_first_stops_falling():
    case = network(seed=3)
    best = best_rate.best_of_one_step(*case)
    rates = torch.tensor(best * 2.0 ** np.arange(-3, 0.31, 0.02))
    losses = best_rate.after(*case, 1, rates)
    lowest = int(np.argmin(losses))
    assert float(rates[lowest]) == pytest.approx(best, rel=0.02)
    assert (np.diff(losses[: lowest + 1]) < 0).all()
    assert best_rate.best_of_several(*case, 1, 0.8 * best) == pytest.approx(best, rel=0.01)


def found(**settings):
    spec = SPEC | {"draws": 6, **settings}
    records = TASKS["best_rate"].run(
        spec, inputs={}, device="cpu", progress=lambda *_: None, checkpoint=None
    )
    return np.array([record["rate"] / record["limit"] for record in records])


def test_mup_comes_to_the_limit_and_sp_to_zero():
    assert np.median(found(width=512)) == pytest.approx(1, abs=0.1)
    narrow, wide = (np.median(found(parametrization="SP", width=n)) for n in (64, 256))
    assert wide / narrow == pytest.approx(1 / 4, rel=0.4)


def test_ntp_has_mup_s_constant_for_one_input_and_none_for_unequal_ones():
    one = found(parametrization="NTP", width=512, samples=1)
    several = found(parametrization="NTP", width=512)
    assert np.abs(one - 1).max() < 0.3 and np.ptp(np.log2(several)) > 2 * np.ptp(np.log2(one))
