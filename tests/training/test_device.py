"""The same code on every device: golden runs and number formats, on a GPU where there is one.

Where the test plugins are missing: python -m pytest -o addopts= tests/training/test_device.py
"""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch
from golden import SPECS, near, records, saved
from refusals import refused
from simulated_device import NOT_SIMULATED, STEPS, TRAINED

from repro import backend

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


TOO_OLD = """The NVIDIA driver on your system is too old (found version 12040).
Please update your GPU driver"""


@pytest.mark.parametrize("warns", [False, True])
def test_why_there_is_no_cuda_is_said_in_torch_s_words(monkeypatch, warns):
    """An old driver, of which torch warns or raises; a GPU that is hidden; a torch without CUDA."""

    def fail():
        if warns:
            warnings.warn(TOO_OLD, stacklevel=1)
        else:
            raise RuntimeError(TOO_OLD)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "init", fail)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(backend, "driver", lambda: "550.54.15")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    with refused() as told:
        backend.select("cuda", 1)
    assert str(told.value) == (
        f"device cuda: torch {torch.__version__} (CUDA 13.0, driver 550.54.15, "
        "CUDA_VISIBLE_DEVICES='3') says: The NVIDIA driver on your system is too old (found "
        "version 12040). Please update your GPU driver; see what nvidia-smi says, and "
        "docs/running.md for an older driver; or run with --device cpu"
    )
    monkeypatch.setattr(torch.version, "cuda", None)
    with refused("is built without CUDA"):
        backend.select("cuda", 1)


def test_the_driver_is_the_kernel_module_s(monkeypatch, tmp_path):
    said = (
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (x)\n"
        "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"
    )
    file = tmp_path / "version"
    monkeypatch.setattr(backend, "DRIVER", str(file))
    assert backend.driver() is None
    file.write_text(said)
    assert backend.driver() == "570.124.06"


def python(*arguments: str) -> subprocess.CompletedProcess:
    """A Python process of its own, in this folder."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=Path(__file__).parents[1], capture_output=True, text=True
    )


def simulated(what: str) -> dict:
    """What `simulated_device.py` prints of it."""
    done = python("simulated_device.py", what)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_every_task_stays_on_its_device():
    """No operator mixes tensors of the device with the CPU's, and the numbers are the CPU's."""
    found = simulated("golden")
    assert found.keys() == SPECS.keys() - NOT_SIMULATED
    for task in found:
        assert found[task] == [near(record) for record in saved(task)["records"]]


@pytest.mark.slow
def test_a_step_waits_for_no_gpu_but_at_float16_for_the_scale_s_flag():
    """A GPU that is waited for in every step stands still meanwhile. float16 has to know whether a
    gradient overflowed before it takes the step."""
    found = simulated("waits")
    flag = "repro/training/loss_scale.py: overflow = any(float(flag) for flag in flags)"
    halves = {name for name in found if name.endswith("float16")}
    assert len(halves) == len(TRAINED) < len(found)
    for name, sites in found.items():
        expected = {f"{flag} (aten._local_scalar_dense.default)": STEPS} if name in halves else {}
        assert sites == expected, name


def test_an_upscaled_run_goes_on_with_its_fused_optimizer():
    """Every state of AdamW lies on the parameter's device, its number of steps too."""
    found = simulated("upscaled")
    assert found["simulated"] == pytest.approx(found["cpu"], rel=1e-4)


MIXES = """
there, here = torch.ones(2, device="simulated"), torch.ones(2)
assert (there + here.to("simulated")).cpu().tolist() == [2, 2]
assert (there + torch.tensor(1.0)).cpu().tolist() == [2, 2], "a single number may come from the CPU"
there + here
"""
STEPS_BY_A_COUNT_OF_THE_CPU = """
p = torch.nn.Parameter(torch.ones(2, device="simulated"))
p.grad = torch.ones_like(p)
optimizer = torch.optim.AdamW([p], fused=True)
optimizer.step()
optimizer.state[p]["step"] = optimizer.state[p]["step"].cpu()
optimizer.step()
"""
WAITED_FOR = {
    "float(x.sum())": 1,
    "bool((x == 1).all())": 1,
    "x[x > 0]": 1,
    "x[torch.tensor([0])]": 1,
    "torch.tensor(1.0, device='simulated')": 1,
    "x.new_tensor(1.0)": 1,
    "torch.ones(2).to(x.device)": 1,
    "x.cpu()": 1,
    "x.copy_(torch.ones(2))": 1,
    "torch.ones(2).to(x.device, non_blocking=True)": 0,
    "x.new_full((), 1.0) + x": 0,
    "x[torch.zeros(1, dtype=torch.int64, device=x.device)]": 0,
    "torch.nn.functional.softmax(x, 0).sum().sqrt()": 0,
}


@pytest.fixture(scope="module")
def on_the_simulated_device() -> dict[str, object]:
    """Of each piece of code its error, or how often a GPU would be waited for: one process."""
    pieces = [MIXES, STEPS_BY_A_COUNT_OF_THE_CPU, *WAITED_FOR]
    done = python("simulated_device.py", "pieces", json.dumps(pieces))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_simulated_device_does_not_mix_with_the_cpu(on_the_simulated_device):
    error = on_the_simulated_device[MIXES]
    assert error.startswith("RuntimeError: aten.add.Tensor: tensors of simulated and of the CPU")


def test_the_simulated_device_refuses_a_fused_step_counted_on_the_cpu(on_the_simulated_device):
    error = on_the_simulated_device[STEPS_BY_A_COUNT_OF_THE_CPU]
    assert error.startswith("RuntimeError: aten._fused_adamw_.default: tensors of simulated and of")


def test_the_simulated_device_counts_what_a_gpu_would_be_waited_for(on_the_simulated_device):
    assert {code: on_the_simulated_device[code] for code in WAITED_FOR} == WAITED_FOR
