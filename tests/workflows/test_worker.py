"""A job forked from its call's worker gives what it gives alone, whichever of them is killed."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from repro.lineage.checkout import ROOT
from repro.workflow import handover
from repro.workflow.worker import Worker

pytestmark = pytest.mark.long

CELL = ("upscaling/clipping", "all-a92488de25ee")
TRAIN = ("train", *CELL, "--config", "scale=smoke")
PREFIX = f"export PYTHONPATH={ROOT}; "
OWNER = f"""
import os
from repro.workflow.worker import Worker
worker = Worker()
worker.start("avx2", {PREFIX!r})
print(os.environ["REPRO_WORKER"], worker.process.pid, flush=True)
input()
"""


@pytest.fixture(scope="module")
def worker(children_hear_ctrl_c):
    """A worker's socket and process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        owner = Worker()
        owner.start("avx2", PREFIX)
        address = os.environ.pop(handover.ADDRESS)
        yield address, owner.process.pid
        owner.stop()
        assert not Path(f"/proc/{owner.process.pid}").exists()
        assert not Path(address).parent.exists()


def job(folder, *words, address=None, root=ROOT):
    """A job as a rule starts it, in a folder of its own."""
    folder.mkdir(exist_ok=True)
    threads = dict.fromkeys(handover.THREADS, "1")
    to = {handover.ADDRESS: address} if address else {}
    with open(folder / "log", "w") as file:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "repro", *words],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(root)} | threads | to,
            stdout=file,
            stderr=file,
        )


def made(folder):
    """What a finished cell says, without how long it took."""
    (cell,) = folder.glob(f"results/smoke/*/{CELL[0]}/{CELL[1]}.json")
    runs = json.loads(cell.read_text())["runs"]
    assert runs
    for run in runs:
        del run["provenance"]["seconds"]
    return runs


def children(process):
    """Ids of the processes below one."""
    return [
        int(child)
        for tasks in Path(f"/proc/{process}/task").glob("*/children")
        for child in tasks.read_text().split()
    ]


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.002)
    return found


def runs_of(folder):
    return [*folder.glob("results/smoke/*/runs/*/*.json")]


def is_gone(process):
    """Whether a process ended; one that nobody has waited for yet did."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The folder of a job without a worker."""
    folder = tmp_path_factory.mktemp("alone")
    assert job(folder, *TRAIN).wait() == 0
    return folder


@pytest.mark.slow
def test_a_job_is_the_same_from_the_worker_and_alone(tmp_path, worker, alone):
    address, process = worker
    started = job(tmp_path, *TRAIN, address=address)
    assert wait_for(lambda: children(process))
    assert started.wait() == 0
    assert made(tmp_path) == made(alone)
    (said, last), (_, expected) = (
        (folder / "log").read_text().strip().rsplit("\n", 1) for folder in (tmp_path, alone)
    )
    assert last == expected == "resumed 0 runs, trained 6" and "step 20/20" in said
    assert not children(process)


def test_a_job_on_a_gpu_is_forked_from_what_has_imported_torch(tmp_path, worker):
    """CUDA cannot be used on both sides of a fork: that the worker never did is seen by its child,
    which either trains or, without a GPU, ends with torch's own answer."""
    address, process = worker
    started = job(tmp_path, *TRAIN, "--device", "cuda", address=address)
    assert wait_for(lambda: children(process))
    there = torch.cuda.is_available()
    assert started.wait() == (0 if there else 1)
    last = (tmp_path / "log").read_text().strip().rpartition("\n")[2]
    assert last.startswith("resumed 0 runs" if there else "error: device cuda: "), last
    assert "fork" not in last and not children(process)


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["child", "job"])
def test_after_kill_9_the_job_goes_on_where_it_was(tmp_path, worker, alone, victim):
    address, process = worker
    started = job(tmp_path, *TRAIN, address=address)
    wait_for(lambda: runs_of(tmp_path))
    (child,) = children(process)
    os.kill(child if victim == "child" else started.pid, signal.SIGKILL)
    # As a shell says it of a job that was killed.
    assert started.wait() == (128 + signal.SIGKILL if victim == "child" else -signal.SIGKILL)
    wait_for(lambda: is_gone(child))
    assert not list(tmp_path.glob(f"results/smoke/*/{CELL[0]}/*.json"))
    kept = len(runs_of(tmp_path))
    assert job(tmp_path, *TRAIN, address=address).wait() == 0
    assert f"resumed {kept} runs" in (tmp_path / "log").read_text()
    assert made(tmp_path) == made(alone)


def test_ctrl_c_and_a_scheduler_s_signal_reach_the_job(tmp_path, worker):
    address, _ = worker
    for number, said in ((signal.SIGINT, "interrupted; run"), (signal.SIGTERM, "ended by SIGTERM")):
        for attempt in range(5):
            folder = tmp_path / f"{number.name}-{attempt}"
            started = job(folder, *TRAIN, address=address)
            wait_for(lambda: runs_of(folder))  # noqa: B023
            started.send_signal(number)
            status = started.wait()
            if status:  # else it was done before the signal came
                break
        assert status == 128 + number
        assert said in (folder / "log").read_text()
        assert not list(folder.rglob(".*.json*")), "a file is half-written"


def test_a_job_runs_the_code_on_the_disk(tmp_path, clone, monkeypatch):
    """Not what an earlier job loaded; and its status and its last line are the child's."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.delenv(handover.ADDRESS, raising=False)
    worker, file = Worker(), clone / "repro" / "core" / "catalog.py"
    worker.start("avx2", PREFIX.replace(str(ROOT), str(clone)))
    address = os.environ[handover.ADDRESS]
    try:
        for said in ("unknown figure", "unheard-of figure"):
            file.write_text(file.read_text().replace("unknown figure", said))
            words = ("make", "upscaling/none", "--config", "scale=smoke")
            assert job(tmp_path, *words, address=address, root=clone).wait() == 1
            assert f"error: {said} 'upscaling/none'" in (tmp_path / "log").read_text()
    finally:
        worker.stop()
    assert handover.ADDRESS not in os.environ


@pytest.fixture
def owned(monkeypatch):
    """A call with a worker, to be killed: its process, the worker's id and socket."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    call = [sys.executable, "-P", "-c", OWNER]
    with subprocess.Popen(
        call, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        address, process = owner.stdout.readline().split()
        yield owner, int(process), address


@pytest.mark.slow
def test_where_the_worker_is_killed_a_job_goes_on_by_itself(tmp_path, owned, alone):
    _, process, address = owned
    started = job(tmp_path, *TRAIN, address=address)
    wait_for(lambda: runs_of(tmp_path))
    (child,) = children(process)
    os.kill(process, signal.SIGKILL)
    wait_for(lambda: is_gone(child))
    kept = len(runs_of(tmp_path))
    assert started.wait() == 0
    assert f"resumed {kept} runs" in (tmp_path / "log").read_text()
    assert made(tmp_path) == made(alone)


@pytest.mark.slow
def test_where_the_call_is_killed_nothing_is_left(tmp_path, owned):
    owner, process, address = owned
    started = job(tmp_path, *TRAIN, address=address)
    wait_for(lambda: runs_of(tmp_path))
    (child,) = children(process)
    owner.kill()
    assert started.wait() == 128 + signal.SIGKILL
    wait_for(lambda: is_gone(child) and is_gone(process))
    wait_for(lambda: not Path(address).parent.exists())


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        (("show", "cost"), {}),
        ((*TRAIN, "--device", "cuda", "--ranks", "2"), {}),
        (TRAIN, {"OMP_NUM_THREADS": "2"}),
        (TRAIN, {handover.ADDRESS: "/nowhere"}),
        ((), {}),
    ],
    ids=["of a person", "by two ranks", "with two threads", "no worker is there", "no command"],
)
def test_what_was_not_tried_is_not_handed_over(tmp_path, monkeypatch, words, changed):
    for name in handover.THREADS:
        monkeypatch.setenv(name, "1")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(tmp_path / "socket"))
        listener.listen()
        listener.setblocking(False)
        monkeypatch.setenv(handover.ADDRESS, str(tmp_path / "socket"))
        for name, value in changed.items():
            monkeypatch.setenv(name, value)
        handover.hand_over([*words])
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert handover.ADDRESS not in os.environ, "what it starts is no job"
