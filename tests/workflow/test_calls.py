import os
import subprocess
import sys

import pytest

from repro.files import read_json, write_json
from repro.workflow import calls


@pytest.fixture
def killed(tmp_path, monkeypatch):
    """A work folder whose one call was killed: its lock and its note."""
    monkeypatch.chdir(tmp_path)
    lock = calls.STATE / "locks" / "0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("figures/fig1.pdf")
    calls.note("local")
    (note,) = (calls.STATE / "calls").iterdir()
    note = note.rename(note.with_name("killed.json"))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    write_json(note, read_json(note) | {"process": ended.pid})
    return lock, note


def test_the_lock_of_a_killed_call_is_removed(killed):
    assert calls.unlock_if_killed().startswith("an earlier call was killed")
    assert not any(path.exists() for path in killed)
    assert calls.unlock_if_killed() is None


@pytest.mark.parametrize(
    "change",
    [
        {"process": os.getpid()},
        {"process": 1},  # another user's, where this is not root
        {"machine": "another one"},
        {"executor": "slurm"},
        {"executor": "kubernetes"},
    ],
    ids=["this process", "another user's", "another machine", "Slurm, unasked", "another's queue"],
)
def test_the_lock_of_a_call_that_may_live_stays(killed, change, monkeypatch):
    lock, note = killed
    monkeypatch.setenv("PATH", "/nowhere")  # so that no squeue answers
    write_json(note, read_json(note) | change)
    assert calls.unlock_if_killed() is None
    assert lock.exists() and note.exists()


@pytest.mark.parametrize("restarted", [False, True])
def test_slurm_is_asked_whether_jobs_of_a_killed_call_live(killed, monkeypatch, restarted):
    """Found in review: the next call ended with Snakemake's LockException whoever lived."""
    lock, note = killed
    content = read_json(note) | {"executor": "slurm"}
    if restarted:  # a login node that was started again: its processes have other numbers
        node, _, space = content["machine"].split()
        content |= {"machine": f"{node} another-start {space}", "process": os.getpid()}
    write_json(note, content)
    squeue = note.parents[2] / "bin" / "squeue"
    squeue.parent.mkdir()
    monkeypatch.setenv("PATH", f"{squeue.parent}:/usr/bin:/bin")

    def says(text):
        squeue.write_text(f"#!/bin/sh\n{text}\n")
        squeue.chmod(0o755)

    says("exit 1")
    assert calls.unlock_if_killed() is None and lock.exists()
    says(f"echo 7 {os.getcwd()}; echo 8 /elsewhere")
    said = calls.unlock_if_killed()
    assert "still in Slurm's queue (7); wait for them or scancel them" in said and lock.exists()
    says("echo 8 /elsewhere")
    assert calls.unlock_if_killed().startswith("an earlier call was killed")
    assert not lock.exists() and not note.exists()


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", "1", '{"process": "x"}'])
def test_a_damaged_note_is_named_and_its_lock_stays(killed, text):
    lock, note = killed
    note.write_text(text)
    said = calls.unlock_if_killed()
    assert said.startswith(f"warning: {note}: is no whole note of a call; if no other call works")
    assert lock.exists() and note.exists()
    assert said.endswith("delete it") and "\n" not in said


def test_a_lock_that_nobody_noted_stays(killed):
    lock, note = killed
    note.unlink()
    assert calls.unlock_if_killed() is None and lock.exists()


def test_the_lock_of_a_call_that_has_just_begun_stays(killed):
    lock, note = killed
    late = note.stat().st_mtime_ns + 1
    os.utime(lock, ns=(late, late))
    assert calls.unlock_if_killed() is None and lock.exists()


def test_a_second_call_that_lives_keeps_the_lock(killed):
    lock, _ = killed
    calls.note("local")
    assert calls.unlock_if_killed() is None and lock.exists()
    calls.forget()
    assert calls.unlock_if_killed() and not lock.exists()


def test_a_job_that_outlived_its_call_is_named(killed):
    lock, _ = killed
    job = subprocess.Popen(
        [sys.executable, "-c", "input('works')", "repro"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    job.stdout.read(len("works"))  # Linux shows an empty command line until a process has started
    try:
        said = calls.unlock_if_killed()
        assert f"(processes {job.pid}); wait for them or end them" in said and lock.exists()
    finally:
        job.communicate(b"\n")
