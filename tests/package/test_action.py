"""The GitHub Action of `widthwise check`: its steps, run here as a runner runs them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from repro.lineage.checkout import ROOT
from widthwise.__main__ import parser

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = ACTION["runs"]["steps"]
MODEL = """
import torch
from torch import nn
WIDTHS = [64, 128]
def make(width):
    layers = nn.Linear(6, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
    return nn.Sequential(*layers, nn.Linear(width, 4))
def batches(seed):
    x = torch.randn(64, 6, generator=torch.Generator().manual_seed(seed))
    return [(x, x[:, :4])]
"""


def carry_out(folder, path=os.environ["PATH"], **given):
    """Its steps in a folder, with inputs: (status, what was printed, the job's summary)."""
    inputs = {name: each.get("default", "") for name, each in ACTION["inputs"].items()} | given
    values = {"github.action_path": str(ROOT)} | {f"inputs.{k}": v for k, v in inputs.items()}
    summary, printed = folder / "summary.md", ""
    summary.touch()
    runner = {"RUNNER_TEMP": str(folder), "GITHUB_STEP_SUMMARY": str(summary), "PATH": path}
    for step in STEPS:
        own = {
            name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: values[found[1]], value)
            for name, value in step["env"].items()
        }
        call = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        env = os.environ | runner | own
        done = subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True)
        printed += done.stdout + done.stderr
        if done.returncode:
            break
    return done.returncode, printed, summary.read_text()


@pytest.fixture
def echoing(tmp_path):
    """A PATH whose `python` prints its words, one a line, and ends well."""
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text('#!/bin/bash\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    return f"{tmp_path / 'bin'}:{os.environ['PATH']}"


def words_of(printed):
    return printed[printed.index("check\n") :].splitlines()


def test_inputs_become_the_command_s_words(tmp_path, echoing):
    status, printed, _ = carry_out(tmp_path, echoing, file="a b.py:make", recipe="my recipe.py")
    words = words_of(printed)
    assert status == 0
    assert words == ["check", "a b.py:make", "--recipe", "my recipe.py", "--seeds", "4"]
    given = {"optimizer": "muon", "widths": "64 128 256", "lr": "0.02", "seeds": "2"}
    _, printed, _ = carry_out(tmp_path, echoing, file="m.py:make", **given)
    read = parser().parse_args(words_of(printed))
    assert (read.what, read.recipe, read.optimizer) == ("m.py:make", "muP", "muon")
    assert (read.widths, read.lr, read.seeds) == ([64, 128, 256], 0.02, 2)


def test_an_input_is_never_shell_text(tmp_path, echoing):
    """What is put into `run:` by GitHub's own braces is carried out."""
    assert not any("${{" in step["run"] for step in STEPS)
    used = " ".join(value for step in STEPS for value in step["env"].values())
    assert set(re.findall(r"inputs\.(\w+)", used)) == set(ACTION["inputs"])
    hostile = {"file": '$(touch x)"; touch x', "widths": "$(touch x) `touch x`", "lr": "; touch x"}
    carry_out(tmp_path, echoing, **hostile)
    assert not (tmp_path / "x").exists()


@pytest.mark.slow  # two processes that load torch
def test_a_right_model_passes_and_a_wrong_one_fails_with_the_reason(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    status, printed, summary = carry_out(tmp_path, path, file="model.py:make", lr="0.02")
    assert status == 0 and "::error" not in printed and "right" in summary, printed
    wrong = carry_out(tmp_path, path, file="model.py:make", recipe="as-made", lr="0.02")
    status, printed, summary = wrong
    assert status == 1, printed
    error = printed.splitlines()[-1]
    assert error.startswith("::error file=model.py::coordinate-check: model.py:make: wrong")
    assert "grows with the width" in error and "grows with the width" in summary
