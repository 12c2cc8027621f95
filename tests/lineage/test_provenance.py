"""What is written down of the code a run came from."""

import os
import subprocess
import time
from types import SimpleNamespace

import pytest
from refusals import refused
from repositories import forget, git

from repro.cost import Layout
from repro.lineage import foreign, history
from repro.lineage.provenance import (
    code_versions,
    commit,
    doubts,
    mixture,
    of_gpu,
    provenance,
    standing,
    stopwatch,
)


@pytest.fixture
def checkout(tmp_path):
    """A checkout of a suite of one file, git's answers forgotten."""
    root = tmp_path / "suite"
    (root / "repro").mkdir(parents=True)
    (root / "repro" / "train.py").write_text("lr = 1\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    yield root
    forget()


def found(root, files=("repro", "studies", "widthwise")):
    forget()
    return commit(files, root)


def test_a_clean_checkout_has_its_commit(checkout):
    assert found(checkout) == git(checkout, "rev-parse", "HEAD")
    (checkout / "results").mkdir()
    (checkout / "results" / "cell.json").write_text("{}")
    assert not found(checkout).endswith("+dirty"), "what is no code makes nothing dirty"


@pytest.mark.parametrize("name", ["repro/train.py", "widthwise/rules.py", "studies/mine.py"])
def test_changed_and_untracked_code_is_dirty_for_what_depends_on_it(checkout, name):
    before = found(checkout)
    (checkout / name).parent.mkdir(exist_ok=True)
    (checkout / name).write_text("lr = 2\n")
    assert found(checkout) == before + "+dirty"
    assert found(checkout, ["repro/other.py"]) == before


def test_a_repository_around_the_suite_is_not_the_suite_s(checkout, monkeypatch):
    """Found in review: an unpacked archive had the commit of whatever lay around it."""
    inside = checkout / "unpacked" / "suite"
    (inside / "repro").mkdir(parents=True)
    (inside / "repro" / "train.py").write_text("lr = 1\n")
    assert found(inside) is None
    monkeypatch.setenv("GIT_DIR", str(checkout / ".git"))
    assert found(inside) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another owner")
def test_another_owner_s_checkout_has_its_commit(checkout):
    subprocess.run(["chown", "-R", "65534", str(checkout)], check=True)
    assert found(checkout) is not None


def test_without_git_there_is_no_commit(checkout, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert found(checkout) is None


def made(digest, runs=1, modules=("repro.tasks.transfer",), **more):
    """A provenance as `provenances` merges them."""
    entry = {"modules": [*modules], "code_sha256": digest * 64, "commit": "c" * 40, "runs": runs}
    return entry | more


def test_runs_of_two_versions_of_one_task_s_code_are_a_mixture():
    """Found in review: the rate tripled, 2 runs resumed, 2 trained, and no word."""
    other = made("b", 3, modules=["repro.tasks.parameter_table"])
    assert mixture([made("a", 2), made("a", 2, host_cpu="x"), other]) == ""
    said = mixture([made("a", 2), made("b"), other])
    assert said == (
        "runs of several versions of their code: "
        "repro.tasks.transfer aaaaaaaaaaaa (2 runs), bbbbbbbbbbbb (1 run)"
    )


def test_of_old_runs_it_is_not_known_whether_they_are_of_the_same_code_as_new_ones():
    old = {"code": "d" * 64, "commit": "c" * 40, "runs": 2}
    assert code_versions([old]) == {"every file": {"d" * 64: 2}}
    assert mixture([old]) == "" and "every file dddddddddddd (2 runs)" in mixture([old, made("a")])


def test_dirty_and_unknown_commits_are_doubts():
    assert doubts([made("a", 2)]) == []
    dirty, unknown = made("a", 3, commit=f"{'c' * 40}+dirty"), made("a", 1, commit=None)
    assert doubts([made("a", 2), dirty, unknown]) == [
        "3 of 6 runs of a commit with changed files (+dirty)",
        "1 of 6 runs of no commit, made without git",
    ]


def test_runs_stand_in_a_history_by_their_commit_or_by_their_trees(checkout, monkeypatch):
    forget()
    here, tree = history.head(checkout), history.tree("repro", checkout)
    runs = [
        made("a", 1, commit=here),
        made("a", 2, commit=f"{here}+dirty"),
        made("a", 4),
        made("a", 8, trees={"repro": tree}),
        made("a", 16, trees={"repro": "0" * 40}),
    ]
    said = "commits not in this history: 20 of 31 runs; dirty: 2"
    assert standing(runs, checkout) == said
    forget()
    monkeypatch.setenv("PATH", "")
    assert standing(runs, checkout) == "unknown"


def test_a_gpu_s_runs_name_its_software_and_how_they_used_it():
    """Two runs that differ in these differ in their last digits. A CPU's name nothing more."""
    layout = Layout(gpus=2, compile=True, microbatches=None, augment=True)
    cost = SimpleNamespace(microbatches=3)
    found = of_gpu("cuda", layout, cost)
    assert found["layout"] == {
        "gpus": 2,
        "compile": True,
        "microbatches": 6,
        "augment": True,
    }
    assert found["gpu"].keys() == {"driver", "cuda", "cudnn", "triton"}
    assert of_gpu("cpu", layout, cost) == {}
    setup = {"device": "nvidia-h100", "arithmetic": "cuda", "inputs": {}}
    made = provenance(setup, {"commit": None}, 2, 1.0, found)
    foreign.check_provenance(made, "a run")
    assert made | found == made
    with refused("gpu"):
        foreign.check_provenance(made | {"gpu": {"driver": "<b>"}}, "a run")


def test_what_a_machine_does_beside_a_run_is_no_part_of_its_seconds():
    """Asleep stands for waiting for a core that another process has."""
    on_cpu, on_gpu = stopwatch("cpu"), stopwatch("cuda")
    time.sleep(0.2)
    assert on_cpu() < 0.1 < 0.2 <= on_gpu()
    begin = time.process_time()
    while time.process_time() - begin < 0.1:
        pass
    assert on_cpu() >= 0.1
