"""A planned model is the same function where it is wrapped: DDP, FSDP2, torch.compile.

Slow: ranks are processes, and a compiler runs.
"""

import shutil

import pytest
import ranks
import torch
from refusals import refused
from test_scaling import BASE, MODELS, Transformer, made, tied, traced

import widthwise
from widthwise.upscaling.checks import check_module

pytestmark = pytest.mark.slow


def scaled(make, inputs, name="muP-multiplier"):
    """A model of four times the base's width, whose weights hold its factors."""
    model = made(make, 4 * BASE)
    return widthwise.plan(model, traced(make, inputs), name).init_().model


def loss(model, inputs):
    return model(inputs).square().mean()


def under_ddp():
    from torch.nn.parallel import DistributedDataParallel

    make, inputs = MODELS["tied"]
    alone, model = scaled(make, inputs), DistributedDataParallel(scaled(make, inputs))
    loss(alone, inputs).backward()
    loss(model, inputs).backward()
    pairs = zip(alone.parameters(), model.module.parameters(), strict=True)
    return (
        float((alone(inputs) - model(inputs)).abs().max().detach()),
        max(float((a.grad - b.grad).abs().max()) for a, b in pairs),
    )


def under_fsdp():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    make, inputs = MODELS["tied"]
    alone, model = scaled(make, inputs), scaled(make, inputs)
    names = list(model.state_dict())
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    difference = float((alone(inputs) - model(inputs)).abs().max().detach())
    assert list(model.state_dict()) == names
    with refused("fully_shard: gather the full parameters"):
        check_module(model)
    loss(model, inputs).backward()
    return difference


def test_under_ddp_outputs_and_gradients_are_the_same(tmp_path):
    outputs, gradients = ranks.carry_out(2, under_ddp, folder=tmp_path)
    assert outputs == 0 and gradients <= 1e-7


def test_under_fsdp2_outputs_are_the_same(tmp_path):
    assert ranks.carry_out(2, under_fsdp, folder=tmp_path) <= 1e-6


@pytest.mark.skipif(not shutil.which("g++"), reason="torch.compile needs a compiler")
@pytest.mark.parametrize("make", [Transformer, tied], ids=["plain", "tied"])
def test_compiled_outputs_are_the_same(make):
    inputs = MODELS["tied"][1]
    model = scaled(make, inputs)
    expected = model(inputs).detach()
    compiled = torch.compile(model)
    torch.testing.assert_close(compiled(inputs), expected, rtol=1e-5, atol=1e-6)
    loss(compiled, inputs).backward()
    plain = made(make, 4 * BASE)(inputs)
    assert not torch.allclose(expected, plain, rtol=1e-2)
