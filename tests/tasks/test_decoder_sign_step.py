"""The first sign step of a decoder, against small steps that are really taken."""

import golden
import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F

from figures.embedding_lr import mechanism
from repro import models
from repro.data.loading import load_data
from repro.tasks import TASKS

TASK = "decoder_sign_step"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return golden.text_inputs(tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_derivative_is_what_a_small_step_does(inputs, norm):
    spec = golden.SPECS[TASK]
    spec = spec | {"model": spec["model"] | {"norm": norm}}
    found = TASKS[TASK].run(spec, inputs=inputs, device="cpu", progress=None, checkpoint=None)
    loaded = load_data(spec, inputs, torch.device("cpu"))
    tokens, labels = next(loaded.batches.from_step(0))

    def loss_of(logits):
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())

    for record in found:
        net = models.build(spec["model"], spec["parametrization"], **loaded.data_settings)
        models.draw(net, spec["parametrization"], spec["seed"], spec["init"])
        net.double()
        before = net(tokens)
        loss_of(before).backward()
        rate = 1e-7
        with torch.no_grad():
            weight = getattr(net, record["layer"]).weight
            weight -= rate * weight.grad.sign()
            after = net(tokens)
        change = (after - before).square().mean().sqrt() / rate
        assert record["change"] == pytest.approx(float(change.detach()), rel=1e-4)
        residual = before.detach().softmax(-1) - F.one_hot(labels, before.shape[-1])
        fall = (loss_of(before) - loss_of(after)) / rate / residual.square().mean().sqrt()
        assert record["along_residual"] == pytest.approx(float(fall.detach()), rel=1e-4)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_the_exponent_of_the_balancing_ratio_is_that_of_the_changes(exponent):
    rows = [
        {"seed": s, "model.width": d, "layer": layer, "change": change * (1 + 0.01 * s)}
        for s in (0, 1, 2)
        for d in (32, 64, 128)
        for layer, change in (("embedding", 3.0), ("output", 2.0 * d**exponent))
    ]
    found = mechanism.exponent(pd.DataFrame(rows), "change")
    assert found.value == pytest.approx(exponent) and found.n == 3
    assert np.isfinite([found.low, found.high]).all()
