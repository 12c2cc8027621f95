"""What the suite uses of Snakemake below its documented surface is where it is expected."""

import asyncio
import inspect
import logging
import os
import re
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from workflow import SMOKE, build

from repro.lineage.checkout import ROOT
from repro.workflow import internals, terminal
from repro.workflow.cluster import transient_reason

# A workflow of one job that says which of `paths` an object has not. Of its scheduler and its jobs
# only a handler knows.
SNAKEFILE = """
def lacks(thing, paths):
    for path in paths:
        found = thing
        for name in path.split("."):
            if not hasattr(found, name):
                yield path
                break
            found = getattr(found, name)

onstart:
    (job,) = workflow.dag.needrun_jobs()
    print("looked at", workflow.dag.jobid(job), "and", workflow.global_resources["gpu"].value)
    for path in lacks(workflow, OF_WORKFLOW):
        print("moved: workflow." + path)
    for path in lacks(job, OF_JOB):
        print("moved: job." + path)

rule one:
    log: "one.log"
    shell: "echo > {log}"
"""


def test_what_is_used_of_a_running_workflow_is_there(tmp_path):
    names = {"OF_WORKFLOW": [*internals.OF_WORKFLOW], "OF_JOB": [*internals.OF_JOB]}
    text = "".join(f"{name} = {paths!r}\n" for name, paths in names.items()) + SNAKEFILE
    (tmp_path / "Snakefile").write_text(text)
    call = [sys.executable, "-m", "snakemake", "--cores", "1", "--resources", "gpu=3"]
    done = subprocess.run(
        call, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert re.findall("moved: (.+)", said) == []
    assert done.returncode == 0 and "looked at 0 and 3" in said, said


def test_what_is_used_besides_is_there():
    from snakemake.cli import get_argument_parser
    from snakemake_interface_logger_plugins.common import LogEvent

    assert get_argument_parser().parse_known_args(["x"])[0].targets == ["x"]
    assert callable(import_module("snakemake_executor_plugin_slurm").get_account)
    assert "printjob" in vars(import_module("snakemake.executors.dryrun").Executor)
    names = {event.value for event in LogEvent}
    read = {"run_info", "job_info", "job_finished", "job_error"}
    assert read | terminal.EVENTS_LEFT_OUT <= names


def test_the_terminal_s_handler_is_found(tmp_path):
    """With another name the lines would be Snakemake's own."""
    said = build("figures/embedding_lr/table2.pdf", "-n", *SMOKE, directory=tmp_path)
    assert re.search(r"^\d+ jobs, ", said, re.MULTILINE) and "Building DAG" not in said


def test_all_that_is_used_is_listed_and_used_in_one_file():
    source = inspect.getsource(internals.Call)
    paths = re.findall(r"(?:self\.workflow|dag|asked|groups)((?:\.\w+)+)", source)
    used = {name for path in paths for name in path.split(".")[1:]}
    listed = {name for path in internals.OF_WORKFLOW for name in path.split(".")}
    assert used - {"update"} == listed
    for rule in [ROOT / "Snakefile", *(ROOT / "workflows").rglob("*.smk")]:
        text = rule.read_text()
        assert {*re.findall(r"(?<!repro\.)\bworkflow\.(\w+)", text)} <= {"basedir"}, rule
        assert {*re.findall(r"(?:from|import) (snakemake\S*)", text)} <= {"snakemake.utils"}, rule


def test_the_lowest_release_is_stated_twice_alike():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (bounds,) = [
        each for each in project["dependency-groups"]["suite"] if str(each).startswith("snakemake>")
    ]
    (lowest,) = re.findall(r'^min_version\("(.+)"\)', (ROOT / "Snakefile").read_text(), re.M)
    assert bounds == f"snakemake>={lowest},<10"


class Executor:
    """As the Slurm plugin's: it asks once, and drops every job where there is no answer."""

    def __init__(self):
        self.reported, self.logger = [], logging.getLogger("repro")

    async def check_active_jobs(self, active_jobs):
        import snakemake_executor_plugin_slurm as plugin

        answer, _ = await plugin.query_job_status("squeue", self.logger)
        for job in active_jobs if answer is not None else ():
            state = answer.get(job.external_jobid, "unknown")
            if state == "COMPLETED":
                self.report_job_success(job)
            elif state == "FAILED":
                self.report_job_error(job, msg="why")
            else:
                yield job

    def report_job_success(self, job):
        self.reported.append(job.external_jobid)

    def report_job_error(self, job, msg):
        self.reported.append(job.external_jobid)


@pytest.fixture
def plugin(monkeypatch):
    """The plugin, with this executor, a controller that is late at first, and its `answers`."""
    import snakemake_executor_plugin_slurm as plugin

    ages, answers = iter([None, 300, None]), []

    async def answer(command, logger):
        return answers.pop(0), None

    monkeypatch.setattr(plugin, "Executor", type("Watching", (Executor,), dict(vars(Executor))))
    monkeypatch.setattr(plugin, "get_min_job_age", lambda: next(ages))
    monkeypatch.setattr(plugin, "query_job_status", answer)
    monkeypatch.setattr(plugin, "answers", answers, raising=False)
    internals.watch_what_nobody_tells_of()
    return plugin


def watched(executor, ids):
    async def once():
        jobs = [SimpleNamespace(external_jobid=number) for number in ids]
        return [job.external_jobid async for job in executor.check_active_jobs(jobs)]

    return asyncio.run(once())


def test_a_job_of_which_slurm_tells_nothing_stays_watched(plugin, caplog):
    """Found in review: a controller that started again lost every job, and the call never ended."""
    executor = plugin.Executor()
    plugin.answers += [{"1": "RUNNING", "2": "COMPLETED", "3": "FAILED"}, None, {"1": "COMPLETED"}]
    assert watched(executor, ["1", "2", "3", "4"]) == ["1", "4"]
    assert executor.reported == ["2", "3"] and not caplog.text
    assert watched(executor, ["1", "4"]) == ["1", "4"], "the controller is away"
    assert "Slurm's controller does not answer; 2 jobs stay watched" in caplog.text
    assert watched(executor, ["1", "4"]) == ["4"], "not yet told of"
    assert executor.reported == ["2", "3", "1"]


def test_a_job_that_slurm_has_forgotten_counts_as_ended(plugin, caplog):
    """It ended, and the answers since are without it: without this the call would wait for ever."""
    executor = plugin.Executor()
    plugin.answers += [{"1": "RUNNING"}, {}, None, {}, {}]
    for _ in range(4):
        assert watched(executor, ["1", "2"]) == ["1", "2"]
    assert watched(executor, ["1", "2"]) == ["2"], "a job that was never told of is yet to come"
    assert executor.reported == ["1"] and "Slurm has forgotten job 1" in caplog.text


def test_how_long_slurm_remembers_a_job_is_asked_until_it_is_answered(plugin):
    assert [plugin.get_min_job_age() for _ in range(3)] == [None, 300, 300]


def test_a_submission_waits_for_a_controller_that_is_away(tmp_path, monkeypatch):
    import snakemake_executor_plugin_slurm as plugin

    monkeypatch.setattr(plugin, "get_submit_command", lambda job: f"echo submit {job}")
    internals.submit_when_slurm_answers()
    said = {"scontrol": "echo >> asked; [ $(wc -l < asked) -gt 2 ] && echo Slurmctld is UP"}
    for name, script in (said | {"sleep": "echo slept"}).items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    def submitted(path):
        call = ["/bin/sh", "-c", plugin.get_submit_command("job")]
        done = subprocess.run(
            call, cwd=tmp_path, env={"PATH": path}, capture_output=True, text=True
        )
        return done.stdout.split("\n")[:-1]

    assert submitted(f"{tmp_path}:/usr/bin:/bin") == ["slept", "slept", "submit job"]
    assert submitted("/nowhere") == ["submit job"], "a machine without scontrol"


LIMIT = """SLURM sbatch failed. The error message was 'sbatch: error: AssocMaxSubmitJobLimit
sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, \
user's size and/or time limits)'.
    sbatch call:
        sbatch --wrap="QOSMaxSubmitJobPerUserLimit" """


@pytest.mark.parametrize(
    ("said", "later"),
    [
        (LIMIT, "AssocMaxSubmitJobLimit"),
        (LIMIT.replace("AssocMax", "QOSGrp"), "QOSGrpSubmitJobLimit"),
        (LIMIT.replace("SubmitJob", "WallDurationPerJob"), ""),
        (LIMIT.replace("sbatch: error: AssocMaxSubmitJobLimit\n", ""), "job submit limit"),
        (
            "was 'sbatch: error: Batch job submission failed: Socket timed out on send/recv'.",
            "Sock",
        ),
        ("'sbatch: error: Batch job submission failed: Invalid account or partition'.", ""),
    ],
)
def test_what_slurm_will_take_later_is_told_from_what_it_never_will(said, later):
    found = transient_reason(said)
    assert found.startswith(later) and bool(found) == bool(later)


def test_a_job_refused_for_a_limit_waits_and_one_that_never_began_is_said_to_be_that(
    tmp_path, monkeypatch, caplog
):
    """Found in review: every try of every job was gone within seconds, and `killed` was said."""
    import snakemake_executor_plugin_slurm as plugin

    taken, failed = [], []
    answers = [LIMIT, LIMIT, "", LIMIT.replace("SubmitJob", "WallDurationPerJob")]

    class Slurm:
        logger = logging.getLogger("repro")

        def __init__(self):
            self._job_submission_executor = ThreadPoolExecutor(1)

        def run_job(self, job):
            if said := answers.pop(0):
                info = SimpleNamespace(job=job, external_jobid=None)
                self._report_job_error_threadsafe(info, said)
            else:
                taken.append(job)

        def _report_job_error_threadsafe(self, job_info, msg):
            self.report_job_error(job_info, msg=msg)

        def report_job_error(self, job_info, msg=None, aux_logs=()):
            failed.append(job_info.job)

    def job(log):
        return SimpleNamespace(log=[log], is_group=lambda: False)

    monkeypatch.setattr(plugin, "Executor", Slurm)
    monkeypatch.setattr(internals, "AGAIN_SECONDS", 0)
    not_begun = {}
    internals.wait_for_a_place(not_begun)
    slurm, (first, second, third) = Slurm(), map(job, ("a.log", "b.log", "c.log"))
    slurm.run_job(first)
    while not taken:
        time.sleep(0.01)
    assert taken == [first] and not failed and not not_begun
    assert caplog.text.count("Slurm takes no job of yours now (AssocMaxSubmitJobLimit)") == 1
    slurm.run_job(second)
    gone = {"slurm_logfile": tmp_path / "gone.log"}
    status = "SLURM-job '7' failed, SLURM status is: 'CANCELLED'."
    slurm.report_job_error(SimpleNamespace(job=third, external_jobid="7", aux=gone), msg=status)
    assert failed == [second, third]
    taken_by = not_begun[Path("b.log")]
    assert taken_by.startswith("Slurm did not take it: AssocMaxWallDurationPerJobLimit: Batch job")
    assert not_begun[Path("c.log")] == "Slurm ended it before it began: CANCELLED"
    (tmp_path / "gone.log").touch()
    slurm.report_job_error(SimpleNamespace(job=third, external_jobid="7", aux=gone), msg=status)
    assert {*not_begun} == {Path("b.log")}


def test_a_job_of_several_turns_is_queued_again_as_often(monkeypatch):
    from snakemake.jobs import GroupJob, Job

    monkeypatch.setattr(Job, "restart_times", Job.restart_times)
    internals.retry_besides(lambda job: job.turns - 1)
    jobs = [Job.__new__(Job) for _ in range(2)]
    for job, turns in zip(jobs, (1, 31), strict=True):
        job.rule, job.turns = SimpleNamespace(restart_times=3), turns
    assert [job.restart_times for job in jobs] == [3, 33]
    group = GroupJob.__new__(GroupJob)
    group.jobs = jobs
    assert group.restart_times == 33


def test_the_plugin_watches_by_what_is_wrapped():
    import snakemake_executor_plugin_slurm as plugin

    for name in (
        *("check_active_jobs", "report_job_success", "report_job_error"),
        *("run_job", "_report_job_error_threadsafe"),
    ):
        assert callable(getattr(plugin.Executor, name))
    assert "self._job_submission_executor" in inspect.getsource(plugin.Executor)
    assert inspect.isasyncgenfunction(plugin.Executor.check_active_jobs)
    assert inspect.iscoroutinefunction(plugin.query_job_status)
    assert callable(plugin.get_min_job_age)
    assert callable(plugin.get_submit_command)
