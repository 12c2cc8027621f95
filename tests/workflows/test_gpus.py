"""Jobs side by side on the GPUs of one machine, without a GPU: who takes which, and who waits."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from workflow import SMOKE, snakemake

from repro.errors import UserError
from repro.lineage.checkout import ROOT
from repro.workflow import gpus

VISIBLE = gpus.VISIBLE


@pytest.fixture(autouse=True)
def _own_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(gpus, "folder", lambda: tmp_path / "locks")
    monkeypatch.setattr(gpus, "WAIT", 0.01)


def job(total, **more):
    """The environment of a job of its own."""
    return {gpus.SHARED: str(total), **more}


def test_jobs_side_by_side_have_a_gpu_each():
    one, two, both = job(2), job(2), job(2)
    with gpus.claimed(1, one), gpus.claimed(1, two):
        assert (one[VISIBLE], two[VISIBLE]) == ("0", "1")
    assert VISIBLE not in one, "the job has ended"
    with gpus.claimed(2, both):
        assert both[VISIBLE] == "0,1"


def test_those_the_user_shows_are_taken_by_their_names():
    mine = job(2, **{VISIBLE: "GPU-a,GPU-b,GPU-c"})
    with gpus.claimed(1, mine), gpus.claimed(1, other := job(2, **{VISIBLE: "GPU-a,GPU-b"})):
        assert (mine[VISIBLE], other[VISIBLE]) == ("GPU-a", "GPU-b")
    assert mine[VISIBLE] == "GPU-a,GPU-b,GPU-c"


def test_a_job_waits_for_a_free_one_and_keeps_none_meanwhile():
    first, second, third = job(2), job(2), job(2)
    begun = threading.Event()

    def wait():
        with gpus.claimed(2, second):
            begun.set()

    with gpus.claimed(1, first):
        thread = threading.Thread(target=wait)
        thread.start()
        assert not begun.wait(0.1)
        with gpus.claimed(1, third):
            assert third[VISIBLE] == "1"
    thread.join(10)
    assert begun.is_set()


def test_a_gpu_of_a_job_that_was_killed_is_free(tmp_path):
    held = (
        "import time; from pathlib import Path; from repro.workflow import gpus\n"
        f"gpus.folder = lambda: Path({str(tmp_path / 'locks')!r})\n"
        "with gpus.claimed(1):\n    print('has it', flush=True); time.sleep(60)"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT), gpus.SHARED: "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", held], env=env, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "has it\n"
    process.kill()
    process.wait()
    process.stdout.close()
    with gpus.claimed(1, mine := job(1)):
        assert mine[VISIBLE] == "0"


def test_more_gpus_than_are_shown_are_refused():
    with pytest.raises(UserError, match=r"gpu=4: CUDA_VISIBLE_DEVICES shows 2 GPUs; give gpu=2"):
        with gpus.claimed(1, job(4, **{VISIBLE: "0,1"})):
            pass


def test_nothing_is_done_where_nothing_is_shared():
    mine = {VISIBLE: "3"}
    with gpus.claimed(1, mine):
        assert mine == {VISIBLE: "3"}


# Jobs that would use CUDA train on the CPU and note which GPU they had, when, and who forked them.
INSTEAD = """

import json, os, time

_train = train

def train(suite, cell, place):
    assert place.device == "cuda"
    begun = time.time()
    _train(suite, cell, Place())
    forked = "repro.workflow.worker" in Path(f"/proc/{os.getppid()}/cmdline").read_text()
    had = os.environ["CUDA_VISIBLE_DEVICES"], begun, time.time(), forked
    with open(os.environ["NOTES"], "a") as file:
        file.write(json.dumps(had) + "\\n")
"""


@pytest.mark.slow
def test_the_profile_runs_a_job_a_gpu(tmp_path, clone, monkeypatch):
    """Six jobs on two GPUs: no two at once have the same one, both are used, and none of them
    imports torch by itself."""
    with open(clone / "repro" / "workflow" / "jobs.py", "a") as file:
        file.write(INSTEAD)
    notes = tmp_path / "notes"
    monkeypatch.setenv("NOTES", str(notes))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    two = ("--resources", "gpu=2")
    place = {"directory": tmp_path / "work", "profile": "gpu", "root": clone}
    done = snakemake("figures/embedding_lr/fig3.pdf", *SMOKE, *two, **place)
    assert done.returncode == 0, done.stdout
    had = [json.loads(line) for line in Path(notes).read_text().splitlines()]
    assert len(had) == 6 and {name for name, *_ in had} == {"0", "1"}
    assert all(forked for *_, forked in had)
    for i, (name, begun, ended, _) in enumerate(had):
        others = had[:i] + had[i + 1 :]
        assert not any(n == name and b < ended and begun < e for n, b, e, _ in others)
