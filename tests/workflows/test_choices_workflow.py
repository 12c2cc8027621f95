"""A choice is a job between the cells of a stage and those of the next."""

import os
import shutil
import subprocess
import sys

import pytest
from workflow import SMOKE, build

TASK = '''"""A loss that is lowest at rate 2. No torch."""


def run(*, lr, seed, inputs, device, progress, checkpoint):
    return [{"step": 1, "train_loss": (lr - 2) ** 2 + seed}]
'''
STUDY = '''"""Two stages."""

from repro.core.study import SCALES, Best, Scale, Study

SPEC = {"lr": 1.0, "seed": 0}
BEST = {"lr": Best("tune", "lr", over=("lr", "seed")), "seed": 0}
EVERYWHERE = dict.fromkeys(SCALES, Scale())
STAGES = {
    "tune": Study("bowl", SPEC, {"lr": [1.0, 2.0, 4.0]}, EVERYWHERE),
    "after": Study("bowl", BEST, {"seed": [1, 2]}, EVERYWHERE),
}
'''
CELLS = """
from repro.core.suite import load
suite = load(["scale=smoke"])
print(*[suite.paths.cell(cell) for cell in suite.cells("transfer/chosen/after")])
"""


@pytest.fixture
def chosen(clone):
    """A clone with a study whose second stage chooses among three cells; files of that stage."""
    (clone / "repro/tasks/bowl.py").write_text(TASK)
    (clone / "studies/transfer/chosen.py").write_text(STUDY)
    with open(clone / "repro/tasks/__init__.py", "a") as tasks:
        records = "recorded.Records(recorded.TRAINED)"
        tasks.write(f'\nTASKS["bowl"] = Task(1, "repro.tasks.bowl", _nothing, _free, {records})\n')
    suite = clone / "repro/core/suite.py"
    suite.write_text(suite.read_text().replace("FEW = 8", "FEW = 2"))
    call = [sys.executable, "-c", CELLS]
    return subprocess.run(
        call, cwd=clone, capture_output=True, text=True, check=True
    ).stdout.split()


@pytest.mark.slow
def test_cells_wait_for_one_choice_which_is_made_again_when_a_cell_is_another(clone, chosen):
    said = build(*chosen, *SMOKE, "-n", root=clone)
    counts = dict(line.split() for line in said.splitlines() if len(line.split()) == 2)
    assert {rule: counts.get(rule) for rule in ("train", "choose")} == {"train": "5", "choose": "1"}
    build(*chosen, *SMOKE, root=clone)
    results = clone / "results/smoke/embedded"
    (choice,) = results.glob("choices/transfer/chosen/after/*.json")
    made = choice.stat().st_mtime_ns
    assert all('"lr": 2.0' in (clone / name).read_text() for name in chosen)

    (first, *_) = results.glob("transfer/chosen/tune/*.json")
    os.utime(first, (1_577_836_800,) * 2)  # of 2020: another machine's, older than the choice
    (clone / chosen[0]).unlink()
    build(*chosen, *SMOKE, root=clone)
    assert choice.stat().st_mtime_ns > made, "forced, whatever the file's age"

    assert all((clone / name).exists() for name in chosen), "what was missing is made too"

    kept = {name: (clone / name).stat().st_mtime_ns for name in chosen}
    choice.unlink()
    shutil.rmtree(clone / ".snakemake")  # as where the cells were unpacked
    said = build(*chosen, *SMOKE, root=clone)
    assert "Nothing to be done" in said, said
    assert kept == {name: (clone / name).stat().st_mtime_ns for name in chosen}
