from dataclasses import replace

import golden
import pytest
from golden import SPECS, near, records, saved
from refusals import refused

from repro.tasks import TASKS

pytestmark = pytest.mark.long


def test_what_is_written_is_what_is_missing_named_or_of_another_version(monkeypatch):
    assert [task for task in SPECS if golden.is_due(task, ["deep_linear"])] == ["deep_linear"]
    monkeypatch.setitem(TASKS, "transfer", replace(TASKS["transfer"], version=99))
    monkeypatch.setattr(golden, "FOLDER", golden.FOLDER / "nowhere")
    assert all(golden.is_due(task, []) for task in SPECS)
    monkeypatch.undo()
    monkeypatch.setitem(TASKS, "transfer", replace(TASKS["transfer"], version=99))
    assert [task for task in SPECS if golden.is_due(task, [])] == ["transfer"]


def test_every_task_has_a_golden_cell():
    assert set(SPECS) == set(TASKS)


@pytest.mark.parametrize("task", TASKS)
def test_results_do_not_move_without_the_version(task, tmp_path):
    expected = saved(task)
    assert TASKS[task].version == expected["version"], "write it anew: python tests/golden.py"
    found = records(task, tmp_path)
    assert found == [near(record) for record in expected["records"]], "raise the task's version"


def test_a_run_gives_the_same_bytes_every_time(tmp_path):
    first, second = (records("language_model", tmp_path / name) for name in "ab")
    assert first == second


def test_bfloat16_is_near_float32(tmp_path, monkeypatch):
    exact = records("language_model", tmp_path / "a")
    monkeypatch.setitem(
        SPECS, "language_model", SPECS["language_model"] | {"precision": "bfloat16"}
    )
    rounded = records("language_model", tmp_path / "b")
    assert rounded != exact
    for got, want in zip(rounded, exact, strict=True):
        assert got["train_loss"] == pytest.approx(want["train_loss"], rel=0.02)


def test_an_unknown_precision_is_named(tmp_path, monkeypatch):

    changed = SPECS["language_model"] | {"precision": "float8"}
    monkeypatch.setitem(SPECS, "language_model", changed)
    with refused("precision 'float8' is unknown"):
        records("language_model", tmp_path)


def test_a_rate_that_diverges_is_recorded_as_diverged(tmp_path, monkeypatch):
    lr = {"embedding": 0.05, "hidden": 1e30, "output": 1e30}
    monkeypatch.setitem(SPECS, "language_model", SPECS["language_model"] | {"lr": lr})
    found = records("language_model", tmp_path)
    assert [r["step"] for r in found] == [4, 8, 12]
    assert found[-1]["train_loss"] == float("inf")
