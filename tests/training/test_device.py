"""The same code on every device: golden runs and number formats, on a GPU where there is one.

Where the test plugins are missing: python -m pytest -o addopts= tests/training/test_device.py
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from golden import SPECS, near, records, saved
from simulated_device import NOT_SIMULATED

pytestmark = pytest.mark.long

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
    ),
]


def losses(found):
    return [record["train_loss"] for record in found]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("precision", ["float32", "tf32", "bfloat16", "float16"])
def test_training_is_near_the_golden_run(tmp_path, monkeypatch, device, precision):
    """Another device draws other initial weights from the same seed, so the loss is only near."""
    changed = SPECS["language_model"] | {"precision": precision}
    monkeypatch.setitem(SPECS, "language_model", changed)
    found = losses(records("language_model", tmp_path, device))
    assert found == pytest.approx(losses(saved("language_model")["records"]), rel=0.03)
    assert found[-1] < found[0]


@pytest.mark.parametrize("device", DEVICES)
def test_a_sign_sgd_step_is_near_its_prediction(tmp_path, device):
    embedding, *output = records("sign_sgd_step", tmp_path, device)
    assert embedding["ratio"] == pytest.approx(1, abs=0.1)
    assert output[-1]["ratio"] == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("device", DEVICES)
def test_the_tables_hold(tmp_path, device):
    found = {r["kind"]: r for r in records("parametrization_exponents", tmp_path, device)}
    assert found["embedding"]["lr"] == pytest.approx(16**-0.5)
    assert found["hidden"]["lr"] == found["output"]["lr"] == pytest.approx(1 / 16)
    assert found["embedding"]["init_variance"] == pytest.approx(1 / 16, rel=0.3)


def python(*arguments: str) -> subprocess.CompletedProcess:
    """A Python process of its own, in this folder."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=Path(__file__).parents[1], capture_output=True, text=True
    )


@pytest.mark.slow
def test_every_task_stays_on_its_device():
    """No operator mixes tensors of the device with the CPU's, and the numbers are the CPU's."""
    done = python("simulated_device.py")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.keys() == SPECS.keys() - NOT_SIMULATED
    for task in found:
        assert found[task] == [near(record) for record in saved(task)["records"]]


def test_the_simulated_device_does_not_mix_with_the_cpu():
    code = """
import torch, simulated_device
kept = simulated_device.register()
there, here = torch.ones(2, device="simulated"), torch.ones(2)
assert (there + here.to("simulated")).cpu().tolist() == [2, 2]
there + here
"""
    done = python("-c", code)
    assert "RuntimeError: aten.add.Tensor: tensors of simulated and of the CPU" in done.stderr
