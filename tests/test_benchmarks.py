"""Every benchmark takes one tiny step, so that a change of what it measures does not break it."""

import json
import subprocess
import time
from importlib.util import module_from_spec, spec_from_file_location

import pytest
import torch

from repro.lineage import arithmetic
from repro.lineage.checkout import ROOT

pytestmark = pytest.mark.long

TINY_STEP = ["--repeats", "1", "--repeat-seconds", "0", "--batch", "2"]
CALLS = {
    **{
        f"step {model}": ["step", "--model", model, "--widths", width, *TINY_STEP]
        for model, width in {
            "decoder": "32",
            "mlp": "16",
            "resnet": "0.0625",
            "gpt2": "16",
            "vit": "64",
            "bart": "48",
            "r2c2": "96",
        }.items()
    },
    "step llm": ["step", "--model", "llm", "--length", "16", *TINY_STEP],
    "warm_start": [
        *("warm_start", "--threads", "1", "--widths", "16", "--rounds", "1"),
        *("--steps", "1", "--rows", "4000"),
    ],
    "loading": ["loading", "--tokens", "400e3"],
    "corpora": ["corpora", "--megabytes", "1"],
    "workflow": ["workflow", "--dry-run"],
    "calibration": ["calibration", "--only", "MLP by hand, SGD"],
    "architectures": ["architectures", "--cases", "gpt2, untied", "phi3"],
    "hyperball": [
        "hyperball",
        "--only",
        "adamw",
        "muon",
        "ADAM",
        "--widths",
        "8",
        "16",
        "--seeds",
        "2",
    ],
    "life": ["life", "--cases", "LSTM", "gemma"],
    "rates": ["rates", "--cases", "gpt2, untied", "phi3"],
    "recipes": [
        "recipes",
        "--only",
        "transformers, GPT-2",
        "--widths",
        "64",
        "128",
        "--seeds",
        "2",
    ],
    "key_values": [
        "key_values",
        "--widths",
        "32",
        "64",
        "--rates",
        "0.01",
        "--steps",
        "2",
        "--seeds",
        "2",
    ],
    "optimizers": ["optimizers", "--only", "RMSprop"],
}


def test_every_benchmark_is_called():
    names = {path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py")}
    assert {words[0] for words in CALLS.values()} == names
    choices = {name.removeprefix("step ") for name in CALLS if name.startswith("step ")}
    assert choices == set(benchmark("step").MODELS)


def benchmark(name):
    """The module of a script under benchmarks/."""
    spec = spec_from_file_location(f"benchmark_{name}", ROOT / "benchmarks" / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Prepare data, build a large model or import models of others first.
LONG = (
    "workflow",
    "step llm",
    "architectures",
    "life",
    "rates",
    "recipes",
    "hyperball",
    "optimizers",
)


@pytest.mark.parametrize(
    "call", [pytest.param(c, marks=pytest.mark.slow) if c in LONG else c for c in CALLS]
)
def test_a_tiny_step_prints_a_table(call, capsys):
    name, *words = CALLS[call]
    benchmark(name).main(words)
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(rows) >= 3 and len({row.count("|") for row in rows}) == 1, rows


def test_a_compiled_step_compiles_our_blocks_and_the_plain_model(capsys, monkeypatch):
    """Each once, however many loops are timed; that it gives kernels is for a GPU to show."""
    given = []
    monkeypatch.setattr(torch, "compile", lambda function: given.append(function) or function)
    benchmark("step").main(["--model", "gpt2", "--widths", "16", "--compile", *TINY_STEP])
    plain = [function for function in given if isinstance(function, torch.nn.Module)]
    blocks = [function.__self__ for function in given if function not in plain]
    assert len(plain) == 1 and len(blocks) == len(set(blocks)) > 0
    titles, _, row = (line for line in capsys.readouterr().out.splitlines() if line[0] == "|")
    shares = dict(zip(titles.split(" | "), row.split(" | "), strict=True))
    assert shares["of peak"].endswith("%") and shares["plain of peak"].endswith("%")


def test_a_step_is_timed_in_the_arithmetic_and_the_numbers_of_jobs(capsys):
    """bfloat16 ran at 0.4 GFLOP/s on a CPU under avx2, and nothing said why."""
    with pytest.raises(SystemExit):
        benchmark("step").main(["--precision", "bfloat16", *TINY_STEP])
    assert "--precision bfloat16: on a CPU jobs take float32" in capsys.readouterr().err
    assert arithmetic.in_force("cpu").startswith(arithmetic.choose(arithmetic.DEFAULT)[0])


def test_a_peak_is_that_of_some_machine():
    from benchmarks._peak import matmul_peak

    assert 1e8 < matmul_peak(repeats=1) < 1e14


def test_a_stage_that_is_late_has_not_failed():
    from benchmarks import _gpu
    from benchmarks._gpu_bench import Bench

    def sleeping(bench):
        time.sleep(5)

    found = _gpu.carry_out(sleeping, Bench(torch.device("cpu")), 0.05)
    assert found["late"] == "took longer than 0 s" and "error" not in found


@pytest.mark.slow
def test_every_stage_of_a_gpu_passes_on_a_cpu(tmp_path):
    """What a GPU is to show, at toy size: that the stages do what they say."""
    file = tmp_path / "cpu.jsonl"
    call = ["bash", str(ROOT / "benchmarks" / "gpu.sh"), "--cpu", "--out", str(file)]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {line["stage"]: line for line in map(json.loads, file.read_text().splitlines())}
    assert [name for name, line in found.items() if "left_out" in line] == ["waits"]
    assert found["tests"]["passed"] > 5 and found["tests"]["failed"] == 0
    assert found["figure"]["verify"].startswith("upscaling/fig7: ")
    models = {(step["model"], step["precision"]) for step in found["steps"]["steps"]}
    assert {("mlp", "float32"), ("gpt2", "float32"), ("resnet", "tf32")} <= models
    assert found["steps"]["without"] == {}


def test_an_unknown_stage_of_a_gpu_is_named(tmp_path):
    call = ["bash", str(ROOT / "benchmarks" / "gpu.sh"), "--cpu", "speed"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "speed: no such stage, choose from machine" in done.stderr
    assert not (tmp_path / "gpu.jsonl").exists()
