"""What the suite uses of Snakemake below its documented surface: here alone, each with its reason.

Any release of Snakemake may move one of these. pyproject.toml bounds the releases for this reason,
and `tests/workflows/test_internals.py` names what moved; docs/owner.md has the reports. No torch;
Snakemake is loaded where it is used.
"""

import logging
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from repro.workflow.cluster import transient_reason, why_not_begun
from repro.workflow.terminal import Ahead, Lines

STREAM = "DefaultStreamHandler"  # Snakemake's name for its handler of the terminal

# Of the object `workflow` in a Snakefile, as a path of attributes -> why it is needed. Documented
# are `workflow.basedir`, and `config`, `rules`, `shell.prefix` and the keywords of a rule.
OF_WORKFLOW = {
    "config_settings.configfiles": "a key that stands twice in one of the user's is named",
    "config_settings.config_args": "a folder is the one that was typed, whatever YAML makes of it",
    "local_exec": "only jobs of this machine share its cores and are forked from a worker",
    "remote_exec": "a job on a cluster reads the rules again, but must not speak or lock",
    "executor_plugin.name": "Slurm is looked for before the first job; a lock says who works",
    "cores": "the first line's minutes are of so many",
    "global_resources": "how many GPUs the call offers",
    "output_settings.verbose": "who asks for all that Snakemake says gets it",
    "output_settings.printshellcmds": "so does who asks for the commands",
    "group_settings.group_components": "whether the profile puts short jobs into one submission",
    "group_settings.local_groupid": "a grouped submission on its node has this in their place",
    "parent_groupids": "a group of each stage takes the profile's setting for `short`",
    "deployment_settings.deployment_method": "a container that the site names runs only if asked",
    "rules": "an unknown target ends in one line with the nearest known one",
    "dag.jobs": "which figures a call was asked for, whether or not they had to be made",
    "dag.jobid": "a job's number in the log's records, by which the terminal finds its price",
    "dag.depending": "which jobs wait for one: the longest chain goes first",
    "dag.needrun": "a figure that was up to date counts as built",
    "dag.needrun_jobs": "what a call will do and cost, before it begins",
    "dag.finished": "what was built, and whose log to read when something failed",
    "dag.forcefiles": "what another configuration made is made anew, whatever its file's age",
    "scheduler.job_rate_limiter": "its timers take half of a core after a hundred jobs",
}
OF_JOB = {
    "rule.name": "what the job does",
    "restart_times": "a job that takes several turns of a cluster is queued again as often",
    "rule.is_producer": "whether a rule makes a target",
    "wildcards": "which run, figure or data it is about",
    "log": "where it says why it failed",
}


class Call:
    """A call of Snakemake, by its object `workflow`. What is of jobs is known once all rules are
    read: ask for it in functions that Snakemake calls."""

    def __init__(self, workflow: Any):
        self.workflow = workflow

    @property
    def is_local(self) -> bool:
        """Whether this process runs jobs on this machine."""
        return self.workflow.local_exec

    @property
    def configfiles(self) -> list[Path]:
        """The configuration files that the call named."""
        return [Path(path) for path in self.workflow.config_settings.configfiles]

    @property
    def settings(self) -> list[str]:
        """The `key=value` words that the call gave, or its profile."""
        return [*(self.workflow.config_settings.config_args or ())]

    @property
    def is_job(self) -> bool:
        """Whether this process is a job of a cluster, which only reads the rules again."""
        return self.workflow.remote_exec

    @property
    def executor(self) -> str:
        """What runs the jobs: "local", "slurm"."""
        return self.workflow.executor_plugin.name

    @property
    def cores(self) -> int:
        return self.workflow.cores

    @property
    def says_more(self) -> bool:
        """Whether the call asked for all that Snakemake says, or for the commands."""
        asked = self.workflow.output_settings
        return asked.verbose or asked.printshellcmds

    @property
    def gpus(self) -> int | None:
        """GPUs that the call offers to jobs side by side; None where it says nothing of them."""
        resources = self.workflow.global_resources
        return int(resources["gpu"].value) if "gpu" in resources else None

    @property
    def runs_containers(self) -> bool:
        """Whether jobs run in the container that their rule names (`--sdm apptainer`)."""
        methods = self.workflow.deployment_settings.deployment_method
        return any(method.name == "APPTAINER" for method in methods)

    @property
    def groups_short_jobs(self) -> bool:
        """Whether short jobs go into one submission, or this is such a submission on its node."""
        groups = self.workflow.group_settings
        return "short" in groups.group_components or groups.local_groupid != "local"

    def group_as(self, group: str, parent: str) -> None:
        """Have the profile's setting for a group hold for another one."""
        self.workflow.parent_groupids[group] = parent

    def makers(self) -> dict[str, Callable[[str], bool]]:
        """Name of each rule -> whether it makes a target. Once all rules are read."""
        return {rule.name: rule.is_producer for rule in self.workflow.rules}

    def to_run(self) -> dict[int, Any]:
        """The jobs that this call has yet to run, by their numbers; at its end, those that failed
        or never began."""
        dag = self.workflow.dag
        return {dag.jobid(job): job for job in dag.needrun_jobs()}

    def readers(self) -> dict[int, list[int]]:
        """Number of each job that is to run -> those of the jobs that wait for it."""
        dag = self.workflow.dag
        return {
            number: [dag.jobid(reader) for reader in dag.depending[job]]
            for number, job in self.to_run().items()
        }

    def built(self, rule: str) -> list[tuple[Any, bool]]:
        """The jobs of a rule, each with whether what it makes is there and as it should be."""
        dag = self.workflow.dag
        jobs = [job for job in dag.jobs if job.rule.name == rule]
        return [(job, dag.finished(job) or not dag.needrun(job)) for job in jobs]

    def force(self, paths: Iterable[Path]) -> None:
        """Have the jobs that make these files run, whatever file times and .snakemake/ say.

        Of use in input functions, and so only for targets that were asked for. No file is changed.
        """
        if not self.is_job:
            self.workflow.dag.forcefiles.update(map(str, paths))

    def look_when_a_job_ends(self) -> None:
        """On this machine, drop Snakemake's limit of jobs started a second: for it the scheduler,
        each time that it looks for jobs to start, sets a timer to look again, and each job that
        ends adds a look. After a hundred jobs this takes half of a core (Snakemake 9.27)."""
        if self.is_local:
            self.workflow.scheduler.job_rate_limiter = None

    def write_lines(self, ahead: Callable[[], Ahead]) -> Lines | None:
        """Have the terminal show `Lines`; None where it shows what Snakemake itself says."""
        from snakemake.logging import logger

        return None if self.says_more or self.is_job else attach(logger.handlers, ahead)


def attach(handlers: Iterable[logging.Handler], ahead: Callable[[], Ahead]) -> Lines | None:
    """Have Snakemake's handler of the terminal write `Lines`; None where there is none, because the
    call asked for a logger of its own. A logger plugin is half as much again (docs/owner.md)."""
    for handler in handlers:
        if handler.name == STREAM and handler.formatter:
            stream = getattr(handler, "stream", None)
            on_terminal = bool(stream and stream.isatty())
            lines = Lines(handler.formatter, ahead, on_terminal)
            handler.setFormatter(lines)
            handler.addFilter(lines.filter)
            return lines
    return None


def targets() -> list[str]:
    """The targets on the command line, which `workflow` has only once all of them are known."""
    from snakemake.cli import get_argument_parser

    return get_argument_parser().parse_known_args()[0].targets


def ask_for_no_account() -> None:
    """Keep the Slurm plugin from asking sacct for an account: where there is no sacct, every
    submission would end with it."""
    import snakemake_executor_plugin_slurm as plugin

    plugin.get_account = lambda logger: None


def refused_in_extra(extra: str) -> str:
    """Why the Slurm plugin would refuse every job for a site's words to sbatch; "" if it will
    not."""
    from snakemake_executor_plugin_slurm.validation import get_forbidden_slurm_options

    for pattern, what in get_forbidden_slurm_options().items():
        if found := re.search(pattern, extra):
            return f"{found[0]} ({what}) is set by the suite and the plugin; take it out"
    return ""


def remember_signatures() -> None:
    """Have Snakemake look at the arguments of each function of the rules once; for every job and
    keyword anew it takes an eighth of a dry run (Snakemake 9.27)."""
    from snakemake import common, rules

    common.get_function_params = rules.get_function_params = cache(common.get_function_params)


def print_no_plans() -> None:
    """Have a dry run put no job into words that `Lines` then leaves out."""
    from snakemake.executors.dryrun import Executor

    Executor.printjob = lambda self, job: None


def say_why_groups_fail() -> None:
    """Have Snakemake print why a submission of several jobs failed, as it does of one (9.27 leaves
    out what sbatch said)."""
    from snakemake.jobs import GroupJob
    from snakemake.logging import logger

    log_error = GroupJob.log_error

    def with_reason(self, msg=None, **kwargs):
        if msg:
            logger.error(msg)
        log_error(self, msg=msg, **kwargs)

    GroupJob.log_error = with_reason


MISSED = 3  # answers without a job that Slurm had told of, after which it counts as ended


def watch_what_nobody_tells_of() -> None:
    """Have the Slurm plugin keep watching every job of which it was told nothing. Where the
    controller does not answer, as while it starts again, the plugin (2.8.0) asks a database that
    may not be there, and drops all jobs that it watches: the call would wait for ever. So it would
    for a job that Slurm has forgotten: that one counts as ended, and Snakemake looks for what it
    was to make."""
    import snakemake_executor_plugin_slurm as plugin

    executor = plugin.Executor
    check, ask = executor.check_active_jobs, plugin.query_job_status
    answers: list[Mapping] = []  # of this look at the jobs
    missed: dict[str, int] = {}  # job that Slurm told of -> how many answers since were without it

    def noting(report: Callable) -> Callable:
        def told(self, job, *given, **options):
            vars(self).setdefault("told", set()).add(job.external_jobid)
            return report(self, job, *given, **options)

        return told

    async def asked(command, logger):
        answer = await ask(command, logger)
        if answer[0] is not None:
            answers.append(answer[0])
        return answer

    async def watched(self, active_jobs):
        self.told = set()
        answers.clear()
        kept = [job async for job in check(self, active_jobs)]
        kept += [j for j in active_jobs if j.external_jobid not in self.told and j not in kept]
        if active_jobs and not answers:
            self.logger.warning(
                f"Slurm's controller does not answer; {len(kept)} jobs stay watched, and it is "
                "asked again"
            )
        for job in kept:
            name = job.external_jobid
            if any(name in answer for answer in answers):
                missed[name] = 0
            elif answers and name in missed:
                missed[name] += 1
            if missed.get(name, 0) < MISSED:
                yield job
            else:
                self.logger.warning(f"Slurm has forgotten job {name}; it counts as ended")
                self.report_job_success(job)

    executor.check_active_jobs = watched
    executor.report_job_success = noting(executor.report_job_success)
    executor.report_job_error = noting(executor.report_job_error)
    plugin.query_job_status = asked
    plugin.get_min_job_age = once_answered(plugin.get_min_job_age)


# Of a shell: goes on as soon as a controller answers, after five minutes in any case.
ANSWERED = (
    "for _ in $(seq 60); do command -v scontrol > /dev/null || break; "
    "scontrol ping 2> /dev/null | grep -q ' UP' && break; sleep 5; done; "
)


def submit_when_slurm_answers() -> None:
    """Have the Slurm plugin wait for the controller before it submits: it takes an sbatch that
    found none for a job that failed, and all tries of a job would be gone within seconds."""
    import snakemake_executor_plugin_slurm as plugin

    command = plugin.get_submit_command
    plugin.get_submit_command = lambda *given, **options: ANSWERED + command(*given, **options)


AGAIN_SECONDS = 20  # until it is asked again
SAID_SECONDS = 600  # until the terminal says again that jobs wait


def wait_for_a_place(not_begun: dict[Path, str]) -> None:
    """Have the Slurm plugin (2.8.0) submit a job again where Slurm takes no more of them now: it
    counts that as a failure, and all tries of a hundred jobs would be gone within seconds.

    not_begun: gets why a job never began, by its log; without it the log is empty for no reason.
    """
    import snakemake_executor_plugin_slurm as plugin

    executor = plugin.Executor
    refuse, report = executor._report_job_error_threadsafe, executor.report_job_error
    told = [-math.inf]

    def refused(self, submitted, msg):
        found = transient_reason(msg)
        pool = self._job_submission_executor
        if found and time.monotonic() > told[0] + SAID_SECONDS:
            told[0] = time.monotonic()
            self.logger.warning(
                f"Slurm takes no job of yours now ({found}): those that are ready "
                f"are submitted again every {AGAIN_SECONDS} s; --jobs N has at most N in the queue"
            )
        for _ in range(AGAIN_SECONDS if found else 0):
            if pool._shutdown:
                break
            time.sleep(1)
        try:
            if found:
                pool.submit(self.run_job, submitted.job)
                return
        except RuntimeError:  # the call ends
            pass
        refuse(self, submitted, msg)

    def reported(self, submitted, msg=None, **options):
        why = why_not_begun(submitted, msg or "")
        job = submitted.job
        for log in (Path(p) for each in (job.jobs if job.is_group() else [job]) for p in each.log):
            not_begun.pop(log, None)
            if why:
                not_begun[log] = why
        return report(self, submitted, msg=msg, **options)

    executor._report_job_error_threadsafe = refused
    executor.report_job_error = reported


def retry_besides(more: Callable[[Any], int]) -> None:
    """Have a job be queued again so many times more than the profile says. more: job -> times."""
    from snakemake.jobs import Job

    usual = Job.restart_times.fget
    Job.restart_times = property(lambda job: usual(job) + more(job))


def once_answered(ask: Callable[[], Any]) -> Callable[[], Any]:
    """A question that is asked until it has an answer, which is kept: how long the controller
    remembers ended jobs does not change because it is late once."""
    answers: list[Any] = []

    def answer() -> Any:
        if not answers and (found := ask()) is not None:
            answers.append(found)
        return answers[0] if answers else None

    return answer
