"""What a type checker of a user's says of `widthwise`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from repro.lineage.checkout import ROOT

SCRIPT = (Path(__file__).parent / "consumer.py").read_text()
# Each is refused when it runs too, by a line of its own; an editor says it as it is written.
WRONG = (
    'ww.plan(3, roles, "muP")',
    'ww.plan(model, "roles", "muP")',
    "ww.plan(model, roles, 3)",
    'plan.groups(lr="0.01")',
    'ww.widen(model, "AdamW", 2, make, inputs)',
    "ww.clip_grad_norm_(model.parameters(), 1.0, roles)",
    'ww.resume(nn.Linear, model, {"param_groups": []})',
    "sgd: torch.optim.SGD = ww.widen(model, optimizer, 2, make, inputs)[1]",
)


@pytest.mark.slow  # downloads a checker
def test_a_strict_checker_passes_over_a_script_and_finds_each_mistake(tmp_path):
    (tmp_path / "right.py").write_text(SCRIPT)
    (tmp_path / "wrong.py").write_text(SCRIPT + "\n".join(WRONG) + "\n")
    config = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    call = ["uv", "run", "--only-group", "types", "basedpyright", "--outputjson"]
    call += ["--project", str(tmp_path), "--pythonpath", sys.executable]
    environment = {**os.environ, "UV_PROJECT_ENVIRONMENT": ".venv-types"}
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, env=environment)
    found = json.loads(done.stdout)["generalDiagnostics"]
    errors = [(Path(e["file"]).name, e["range"]["start"]["line"]) for e in found]
    first = len(SCRIPT.splitlines())
    assert set(errors) == {("wrong.py", first + i) for i in range(len(WRONG))}, done.stdout
