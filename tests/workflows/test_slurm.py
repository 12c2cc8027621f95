"""The cluster profile on a real Slurm: one node, this machine, of Debian's packages.

Asked for by REPRO_SLURM=1, since it installs packages and starts daemons; they end with the test.
"""

import fcntl
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

import pytest
from workflow import SMOKE, build, table_of

from repro.lineage.checkout import ROOT

pytestmark = pytest.mark.slurm

PROGRAMS = ("munged", "slurmctld", "slurmd")
ETC = Path("/etc/slurm/slurm.conf")
GRES = ETC.with_name("gres.conf")
LIMIT = 540  # seconds of one workflow

CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=1000
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
GresTypes=gpu
PriorityType=priority/basic
ReturnToService=2
KillWait=5
MinJobAge=300
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} Gres=gpu:2 State=UNKNOWN
PartitionName=only Nodes=ALL Default=NO MaxTime=INFINITE State=UP
"""


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def installed():
    return all(shutil.which(name, path=f"/usr/sbin:{os.environ['PATH']}") for name in PROGRAMS)


def require_slurm():
    """Skip with the reason, or return with Debian's Slurm installed and none running."""
    if os.environ.get("REPRO_SLURM") != "1":
        pytest.skip("starts a Slurm on this machine: ask for it with REPRO_SLURM=1")
    if os.geteuid():
        pytest.skip("a Slurm of one node is started by root only")
    for path in (ETC, GRES):
        if path.exists() and not path.is_symlink():
            pytest.skip(f"{path} is there: this machine belongs to a cluster")
    if not installed():
        if not shutil.which("apt-get"):
            pytest.skip("no Slurm here, and no apt-get to install it")
        apt("update")
        said = apt("install", "--no-install-recommends", "slurm-wlm", "munge")
        if not installed():
            pytest.skip(f"apt-get could not install slurm-wlm and munge: {said}")


def apt(*words):
    """Call apt-get, which gives up soon where there is no network; the end of what it said."""
    soon = ["-oAcquire::Retries=0", "-oAcquire::http::Timeout=20", "-oAcquire::https::Timeout=20"]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            ["apt-get", "-y", *soon, *words],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "it did not end in 300 s"
    return " ".join(done.stdout.split()[-40:])


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="module")
def site(children_hear_ctrl_c):
    """A running Slurm of one node; the file that names its partition."""
    require_slurm()
    one_at_a_time = Path(tempfile.gettempdir()) / "repro-slurm.lock"  # /etc/slurm is one
    with open(one_at_a_time, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = Path(tempfile.mkdtemp(prefix="repro-slurm-"))
        folder.chmod(0o755)  # munge refuses a socket that not all can reach
        pids = {name: folder / f"{name}.pid" for name in PROGRAMS}
        try:
            start(folder, pids)
            (folder / "site.yaml").write_text("partition: only\n")
            yield folder / "site.yaml"
            subprocess.run(["scancel", "--user=root"], check=False)
        finally:
            for name in reversed(PROGRAMS):
                if pids[name].exists():
                    stop(int(pids[name].read_text()))
            ETC.unlink(missing_ok=True)
            GRES.unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)


def start(folder, pids):
    (folder / "state").mkdir()
    (folder / "spool").mkdir()
    key = folder / "munge.key"
    key.touch(0o600)
    key.write_bytes(os.urandom(128))
    # Two jobs of workstation scale side by side ask for more than some machines have, and use none.
    memory = max(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20, 2**15)
    host = socket.gethostname().split(".")[0]
    ETC.parent.mkdir(exist_ok=True)
    ETC.unlink(missing_ok=True)  # a link of a test that was killed
    conf = folder / "slurm.conf"
    conf.write_text(
        CONF.format(
            host=host, folder=folder, ports=free_ports(2), cpus=os.cpu_count(), memory=memory - 512
        )
    )
    ETC.symlink_to(conf)
    # Two GPUs to Slurm, which asks for character devices and only hands out their numbers.
    for number in range(2):
        os.mknod(folder / f"gpu{number}", 0o666 | stat.S_IFCHR, os.stat(os.devnull).st_rdev)
    (folder / "gres.conf").write_text(
        f"AutoDetect=off\nNodeName={host} Name=gpu File={folder}/gpu[0-1]\n"
    )
    GRES.unlink(missing_ok=True)
    GRES.symlink_to(folder / "gres.conf")
    munge = [f"--key-file={key}", f"--socket={folder}/munge.socket", f"--pid-file={pids['munged']}"]
    munge += [f"--log-file={folder}/munged.log", f"--seed-file={folder}/munge.seed"]
    for program in (["munged", *munge], ["slurmctld"], ["slurmd"]):
        started = subprocess.run([f"/usr/sbin/{program[0]}", *program[1:]], check=False)
        if started.returncode:
            pytest.skip(f"{program[0]} does not start here")
    deadline = time.monotonic() + 30
    while (
        "idle" not in subprocess.run(["sinfo", "-ho", "%T"], capture_output=True, text=True).stdout
    ):
        if time.monotonic() > deadline:
            logs = "\n".join(path.read_text()[-2000:] for path in folder.glob("*.log"))
            pytest.skip(f"Slurm does not start here: {logs}")
        time.sleep(0.2)


def stop(pid):
    """End a daemon and wait for it."""
    os.kill(pid, signal.SIGTERM)
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists():
            return
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)


class Workflow:
    """Snakemake under the cluster profile, ended by SIGINT past a limit: it cancels its jobs."""

    def __init__(self, site, directory, *words):
        directory.mkdir()
        environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "REPRO_SITE": str(site),
        }
        self.before = set(states())
        self.log = directory / "log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                # In the foreground, or it passes a signal on twice: a second SIGINT ends Snakemake
                # as it cancels.
                ["timeout", "--foreground", "--signal=INT", "--kill-after=30", str(LIMIT),
                 sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"),
                 "--workflow-profile", str(ROOT / "profiles" / "slurm"),
                 "--directory", str(directory), "--latency-wait", "10",
                 "--slurm-init-seconds-before-status-checks", "2", *words],
                cwd=ROOT,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )  # fmt: skip

    def wait_for(self, condition):
        while not (found := condition()):
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.02)
        return found

    def running(self, word):
        """The running job whose comment has a word, None before it runs."""
        listed = output("squeue", "-h", "--states=RUNNING", "-o", "%i %k").splitlines()
        return next((line.split()[0] for line in listed if word in line), None)

    def end(self):
        """Its jobs' states, once it is through; what it said."""
        assert self.process.wait() == 0, self.log.read_text()
        return {k: v for k, v in states().items() if k not in self.before}, self.log.read_text()


def states():
    """Job -> state, of all jobs Slurm remembers."""
    lines = output("squeue", "-h", "--states=all", "-o", "%i %T").splitlines()
    return dict(line.split() for line in lines)


def results(directory, name):
    """What a figure is made of and says, byte by byte."""
    data, short = table_of(directory, name), name.split("/")[1]
    kept = [data.with_name(each) for each in ("results.json", f"{short}.pdf", f"{short}.png")]
    return [path.read_bytes() for path in (data, *kept, directory / "figures" / f"{name}.pdf")]


def times(job):
    """Seconds a job waited, and ran."""
    shown = dict(re.findall(r"(\w+)=(\S*)", output("scontrol", "show", "job", job)))
    keys = ("SubmitTime", "StartTime", "EndTime")
    submitted, started, ended = (datetime.fromisoformat(shown[key]) for key in keys)
    return (started - submitted).total_seconds(), (ended - started).total_seconds()


def repro(command, *words, directory):
    """Carry out a command of the suite; returns its seconds."""
    directory.mkdir(exist_ok=True)
    begin = time.monotonic()
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "repro", *command.split(), *words]
    subprocess.run(words, cwd=directory, env=environment, check=True)
    return time.monotonic() - begin


JOBS = 1 + 5 + 1  # of Figure 1 at smoke scale: its tokenizer, its five stages, and the figure


def test_a_job_cancelled_and_then_preempted_goes_on_and_ends_with_the_same_checksums(
    site, tmp_path, suite, text_folder
):
    """Training killed by a person, queued again by Snakemake, preempted, queued again by Slurm."""
    name, words = "embedding_lr/fig1", (*SMOKE, f"wikitext2={text_folder}")
    here, work = tmp_path / "here", tmp_path / "cluster"
    (cell,) = suite.cells("embedding_lr/width")
    begin = time.monotonic()
    workflow = Workflow(site, work, f"figures/{name}.pdf", *words)

    def in_flight(finished, before=None):
        """The training job after `before`, once more runs than these are finished, and not all."""
        files = {path.stem for path in (work / suite.paths.runs).rglob("*.json")}
        done = sum(run.id in files for run in cell.runs)
        job = (
            workflow.running("embedding_lr/width_train")
            if finished < done < len(cell.runs)
            else None
        )
        return (job, done) if job not in (None, before) else None

    cancelled, done = workflow.wait_for(lambda: in_flight(0))
    subprocess.run(["scancel", cancelled], check=True)
    preempted, done = workflow.wait_for(lambda: in_flight(done, cancelled))
    subprocess.run(["scontrol", "requeue", preempted], check=True)
    # Started before its processes are gone, Slurm refuses it a step, and it fails.
    workflow.wait_for(
        lambda: states()[preempted] == "PENDING" and output("sinfo", "-ho", "%T").strip() == "idle"
    )
    subprocess.run(["scontrol", "update", f"jobid={preempted}", "StartTime=now"], check=True)
    ended, said = workflow.end()
    seconds = time.monotonic() - begin

    assert ended.pop(cancelled) == "CANCELLED"
    failed = [job for job, state in ended.items() if state != "COMPLETED"]
    logs = [path.read_text() for job in failed for path in work.glob(f"logs/slurm/**/{job}.log")]
    print(*logs, sep="\n")
    # Seen once in some ten runs, on a slower machine: the preempted job fails as it starts again,
    # and Snakemake queues it once more.
    assert set(failed) <= {preempted} and len(ended) == JOBS + len(failed), ended
    assert said.count("Trying to restart job") == 1 + len(failed)
    assert "Restarts=1" in output("scontrol", "show", "job", preempted)
    assert list(work.glob(f"logs/slurm/**/{cancelled}.log")), "a failed job's log is kept"
    (log,) = work.glob("logs/train/smoke/embedding_lr/width/*.log")
    assert int(re.search(r"resumed (\d+) runs", log.read_text()).group(1)) >= done

    repro("fetch wikitext2", *words, directory=here)
    (tokens,) = suite.needs(cell)
    alone = repro("fetch wikitext2", str(tokens.vocab_size), *words, directory=here)
    build(f"figures/{name}.pdf", *words, directory=here)
    assert results(work, name) == results(here, name)
    waited, ran = times(min(ended, key=int))
    print(
        f"{len(ended) + 1} jobs, one of them twice: {seconds:.0f} s. The first, tokenize, waited "
        f"{waited:.0f} s and ran {ran:.0f} s, {alone:.1f} s without Slurm"
    )


AWAY = 30  # seconds


def test_a_figure_outlives_a_controller_that_is_away(site, tmp_path, suite, text_folder):
    """Found in review: after one look without an answer the call waited for ever."""
    name, words = "embedding_lr/fig1", (*SMOKE, f"wikitext2={text_folder}")
    here, work = tmp_path / "here", tmp_path / "cluster"
    workflow = Workflow(site, work, f"figures/{name}.pdf", *words)
    # Not while Slurm starts a job, which needs its controller: that job would fail and be repeated.
    workflow.wait_for(lambda: list((work / suite.paths.runs).rglob("*.json")))
    stop(int((site.parent / "slurmctld.pid").read_text()))
    begin = time.monotonic()
    try:
        workflow.wait_for(lambda: "controller does not answer" in workflow.log.read_text())
        time.sleep(max(0.0, AWAY - (time.monotonic() - begin)))
    finally:
        subprocess.run(["/usr/sbin/slurmctld"], check=True)
    ended, said = workflow.end()
    assert {*ended.values()} == {"COMPLETED"} and len(ended) == JOBS, ended
    assert re.search(r"[1-5] jobs stay watched", said) and "Trying to restart" not in said
    assert "never awaited" not in said, "Snakemake warns where a resource hangs on sizes of input"
    build(f"figures/{name}.pdf", *words, directory=here)
    assert results(work, name) == results(here, name)
    print(f"away for {time.monotonic() - begin:.0f} s with all that followed")


# A job that would train notes its device and the GPUs that Slurm gave it, and trains nothing.
INSTEAD = """
import os, sys, time

if "train" in sys.orig_argv:
    from repro.workflow import jobs

    def note(suite, cell, place):
        with open(os.environ["NOTES"], "a") as file:
            print(os.environ["SLURM_JOB_ID"], place.device, place.ranks,
                  os.environ.get("CUDA_VISIBLE_DEVICES"), file=file, flush=True)
        time.sleep(600)

    jobs.train_beside_others = note
"""


def test_workstation_scale_gets_a_gpu_a_job(site, tmp_path, monkeypatch):
    """Two GPUs to Slurm: two jobs side by side, each with one that the other does not have."""
    (tmp_path / "sitecustomize.py").write_text(INSTEAD)
    notes = tmp_path / "notes"
    monkeypatch.setenv("NOTES", str(notes))
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{tmp_path}")
    with_gpus = tmp_path / "site.yaml"
    with_gpus.write_text("partition: only\ngpu_partition: only\ncpus_per_gpu: 1\n")
    words = ("--config", "scale=workstation", "data=embedded", "max_gpu_hours=24")
    workflow = Workflow(with_gpus, tmp_path / "work", "figures/embedding_lr/fig1.pdf", *words)

    def noted():
        lines = notes.read_text().splitlines() if notes.exists() else []
        return lines if len(lines) == 2 else None

    had = [line.split() for line in workflow.wait_for(noted)]
    assert {tuple(words[1:3]) for words in had} == {("cuda", "1")}
    assert {words[3] for words in had} == {"0", "1"}
    training = [
        line.split()[0] for line in output("squeue", "-ho", "%i %k").splitlines() if "train" in line
    ]
    assert {words[0] for words in had} < set(training), "the others wait for a GPU"
    for job in training:
        assert "TresPerJob=gres:gpu:1" in output("scontrol", "show", "job", job)

    # A job that Slurm has and Snakemake has not noted yet would be left.
    workflow.wait_for(
        lambda: set(training) <= set(re.findall(r"SLURM jobid (\d+)", workflow.log.read_text()))
    )
    workflow.process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + 60
    while left := {k: v for k, v in states().items() if k in training and v != "CANCELLED"}:
        assert time.monotonic() < deadline, (left, workflow.log.read_text()[-2000:])
        time.sleep(0.2)
    assert workflow.process.wait() != 0
