import os
import re
import shlex
import shutil
import sys
import time
from functools import cache
from pathlib import Path

sys.path.insert(0, str(workflow.basedir))

from repro.workflow.interrupt import Interrupt

INTERRUPT = Interrupt()
INTERRUPT.listen()  # before the other imports, which take a while

from repro.workflow import bytecode

bytecode.keep(Path(".snakemake", "bytecode"))

from repro.errors import UserError, did_you_mean, nearest

from repro.products import built, forecast, picture, published, run_table, summary
from repro.core import catalog, discovery
from repro.lineage import checkout, import_check
from repro.workflow import budget, calls, cluster, gpus, jobs
from repro.core import config as settings
from repro.workflow.internals import (
    Call,
    ask_for_no_account,
    print_no_plans,
    refused_in_extra,
    remember_signatures,
    retry_besides,
    say_why_groups_fail,
    submit_when_slurm_answers,
    wait_for_a_place,
    watch_what_nobody_tells_of,
    targets,
)
from repro.core.paths import check_folders
from repro.workflow.progress import Monitor
from repro.core.study import GPU_SCALES
from repro.core.suite import Suite, keep_plans
from repro.workflow.worker import Worker

BEGIN = time.monotonic()
CALL = Call(workflow)
WORKER = Worker()
remember_signatures()
keep_plans()


def to_do():
    """The jobs that this call will run, by number -> the cell of each that trains one."""
    jobs = CALL.to_run().items()
    return {k: cell_of(j.wildcards) if j.rule.name.startswith("train") else None for k, j in jobs}


@cache
def ahead():
    """What this call will do (`repro.workflow.terminal.Ahead`)."""
    here = CALL.is_local and CALL.gpus is None
    return forecast.ahead(SUITE, to_do(), CALL.cores if here else None)


@cache
def priorities():
    """(study, cell) -> what training it has first: the longest chain of jobs that it begins."""
    chains = forecast.longest_chains(ahead().prices, CALL.readers())
    return {(cell.study, cell.name): chains[job] for job, cell in to_do().items() if cell}


def priority(wildcards):
    """That of a training job; a job on a cluster is alone in its call."""
    return 0 if CALL.is_job else priorities()[wildcards.study, wildcards.cell]


LINES = CALL.write_lines(ahead)
if LINES:
    print_no_plans()


configfile: f"{workflow.basedir}/config/config.yaml"


if not os.access(".", os.W_OK):
    sys.exit(f"error: {Path.cwd()}: cannot be written to; give another folder with --directory")

try:
    import_check.check()
    check_folders()
    for file in CALL.configfiles:
        settings.check_keys_once(file)
    config.update(settings.as_typed(CALL.settings, discovery.dataset_names()))
    SUITE = Suite(settings.parse(config, discovery.dataset_names()))
    SELECTED, LEFT_OUT = SUITE.selected()
    SITE = cluster.load_site(Path(workflow.basedir, "profiles", "slurm"))
except UserError as error:
    sys.exit(f"error: {error}")

if LEFT_OUT and not CALL.is_job:
    print(f"without {', '.join(LEFT_OUT)}: no {SUITE.config.scale} scale", file=sys.stderr)

DRY = re.compile("-[a-zA-Z]*n[a-zA-Z]*|--dry-?run")  # -n, also as -np
if not CALL.is_job and not any(map(DRY.fullmatch, sys.argv)):
    if notice := calls.unlock_if_killed():
        print(notice, file=sys.stderr)

# Jobs that work side by side on this machine's GPUs take free ones. An environment variable, because
# another number of them must not make finished jobs run again, as a parameter would.
GPUS = 0 if CALL.is_job else CALL.gpus or 0
SHARING = f"export {gpus.SHARED}={GPUS}; " if GPUS > 1 else ""
PROLOGUE = SITE.prologue() if CALL.is_job else ""
SOURCE = shlex.quote(str(workflow.basedir))
# The Python of this call, which need not be the first on the PATH; a container has its own.
PYTHON = shlex.quote(str(Path(sys.executable).parent))
IMAGE = SITE.container if CALL.runs_containers else ""
if SITE.container and not IMAGE and not CALL.is_job:
    print(
        f"warning: container {SITE.container} of the site file is not used: add --sdm apptainer "
        f"to run jobs in it; they take {sys.executable}",
        file=sys.stderr,
    )
FIRST = "" if IMAGE else f"export PATH={PYTHON}:$PATH; "
# It replaces Snakemake's own prefix, so it too must stop at the first error, also within a pipe.
PREFIX = (
    "set -euo pipefail; "
    f"export REPRO_CHECKOUT={SOURCE} PYTHONPATH={SOURCE}${{PYTHONPATH:+:$PYTHONPATH}}; "
    f"{FIRST}{SHARING}"
)


def literal(text):
    """Text for a shell command with braces doubled, for Snakemake reads {name} as a variable."""
    return text.replace("{", "{{").replace("}", "}}")


shell.prefix(literal(PROLOGUE + PREFIX))
if IMAGE:

    container: IMAGE


MONITOR = Monitor(
    Path("logs"),
    overall=LINES.progress_line if LINES else str,
    longest=LINES.longest if LINES else str,
)
NOT_BEGUN = {}  # log of a job that Slurm did not begin -> why
RESULTS = SUITE.paths.results.as_posix()
CONFIG = f"--config {shlex.join(SUITE.config.arguments())}"
PAGES = catalog.pages()
TARGETS = {f"figures/{name}.pdf" for name in [*catalog.figure_names(), *PAGES]}


def checked(name):
    """The name of a figure or page that can be built; otherwise ends the call with one line.

    Called in input functions: they see every target, however it was asked for.
    """
    if fault := checkout.misplaced().get(f"figures/{name}.py"):
        sys.exit(f"error: {fault}")
    target = f"figures/{name}.pdf"
    if target not in TARGETS:
        sys.exit(f"error: unknown figure {target}: {did_you_mean(target, TARGETS)}")
    for figure in PAGES.get(name, [name]):
        if fault := SUITE.fault(figure):
            sys.exit(f"error: {fault}")
    return name


def of_selected(pattern):
    """An input function: this file of every configured figure."""
    return lambda wildcards: expand(pattern, figure=map(checked, SELECTED))


wildcard_constraints:
    figure="[^/]+/[^/]+",
    page="[^/]+",
    study="[^/]+/[^/]+(/[^/]+)?",
    cell="[^/]+-[0-9a-f]{12}",
    dataset="[^/]+",
    choice="[0-9a-f]{12}",
    digest="[0-9a-f]{12}",
    key="[0-9a-f]{12}",
    paper="[^/]+",
    name="[^/]+",


def one_of(names):
    """A regular expression that matches these names; nothing if there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


def config_parameter(wildcards):
    """CONFIG as a parameter: in a shell string, braces in a folder's name would be a variable."""
    return CONFIG


@cache
def folder_of(figure):
    """The folder of a figure's files, found once for all of its jobs. What lies there and is not
    what its name says is made anew, whatever its age (`built.outdated`)."""
    CALL.force(built.outdated(SUITE, checked(figure)))
    return picture.folder_of(SUITE, figure)


def cells_of(wildcards):
    """The files of the cells behind a figure, which is asked for by the present key."""
    figure = f"{wildcards.paper}/{wildcards.name}"
    if not CALL.is_job and folder_of(figure).name != wildcards.key:
        sys.exit(f"error: {figure}: the present settings and code make another one")
    return run_table.cell_paths(SUITE, figure)


def picture_inputs(wildcards):
    """What is copied to figures/; forces a copy that is not of the present picture to be made anew:
    the file that is there is as young as it likes, of another scale or edited."""
    figure = f"{wildcards.paper}/{wildcards.name}"
    folder = folder_of(figure)
    CALL.force(published.others(folder, figure))
    return [folder / name for name in (*published.files(figure), published.MANIFEST)]


def manifests(wildcards):
    """The manifests of the selected figures."""
    return [folder_of(name) / published.MANIFEST for name in SELECTED]


def page_inputs(wildcards):
    """The figures of a page; forces a rerun if the page that exists is not what was made of those
    that are there."""
    made = built.page_files(checked(wildcards.page))
    note = built.page_note(SUITE, wildcards.page)
    if not published.is_noted(note, made, built.page_of(wildcards.page)):
        CALL.force(path for path in made if path.exists())
    return [f"figures/{name}.pdf" for name in PAGES[wildcards.page]]


def cell_of(wildcards):
    """The cell (`repro.core.schedule.Cell`) that a training job makes."""
    return SUITE.cell(wildcards.study, wildcards.cell)


def choice_inputs(wildcards):
    """What a job reads that chooses; forces it to run if its file was made from others."""
    choice = SUITE.choice(wildcards.study, wildcards.choice)
    path = SUITE.paths.choice(choice)
    if path.exists() and not jobs.is_chosen(SUITE, choice):
        CALL.force([path])
    return SUITE.files(choice.cells)


def tokenizing(wildcards):
    """The resources that a tokenizing job asks a cluster for."""
    corpus = getattr(discovery.dataset(wildcards.dataset), "CORPUS", None)
    embedded = SUITE.source(wildcards.dataset).kind == "embedded"
    return cluster.resources_to_tokenize(
        corpus.shard_tokens if corpus and not embedded else 0, SITE
    )


def request(wildcards, attempt=1):
    """What a training job asks a cluster for (`repro.workflow.cluster.Request`)."""
    return request_of(wildcards.study, wildcards.cell, attempt)


@cache
def request_of(study, cell, attempt):
    """The same, once for all the resources that Snakemake asks for one by one."""
    try:
        return cluster.request(SUITE.cell(study, cell), SUITE.config.scale, SITE, attempt)
    except UserError as error:  # no GPU of the site holds it
        sys.exit(f"error: {error}")


def turns_left(job):
    """How often a job will be queued again because it takes longer than a cluster lets a job run
    (`cluster.Request.turns`)."""
    if job.rule.name == "tokenize":
        return tokenizing(job.wildcards)["turns"] - 1
    return request(job.wildcards).turns - 1 if job.rule.name.startswith("train") else 0


def short_group(wildcards):
    """The group of a short training job: that of its stage, if the profile groups short jobs.

    A group has jobs of one stage only: these do not depend on each other.
    """
    if not CALL.groups_short_jobs or not request(wildcards).is_short:
        return None
    name = f"short-{wildcards.study}"
    CALL.group_as(name, "short")
    return name


def prepare_slurm():
    """With the Slurm executor: stop on a machine without Slurm; on one without sacct, keep the
    plugin from asking it for an account, which would end every submission; and have it say what
    Slurm refuses, and bear a controller that is away for a while."""
    if CALL.executor != "slurm":
        return
    if not shutil.which("sbatch"):
        sys.exit(
            "error: profiles/slurm: this machine has no sbatch: give the command on a login node "
            "of a Slurm cluster, or --workflow-profile profiles/default"
        )
    if not shutil.which("sacct"):
        ask_for_no_account()
    if fault := refused_in_extra(SITE.slurm_resources().get("slurm_extra", "")):
        sys.exit(f"error: the site file: extra: {fault}")
    retry_besides(turns_left)
    say_why_groups_fail()
    submit_when_slurm_answers()
    wait_for_a_place(NOT_BEGUN)
    watch_what_nobody_tells_of()


def start_worker():
    """Have jobs of this machine forked from one process (`repro.workflow.worker`)."""
    if CALL.is_local and not IMAGE:
        WORKER.start(SUITE.config.arithmetic, PREFIX)


def refuse_if_too_costly():
    """At a scale for GPUs: stop unless max_gpu_hours allows the cost of the jobs to run, which the
    call's first line says, and max_days the longest of them."""
    if SUITE.config.scale not in GPU_SCALES:
        return
    jobs = [job for job in CALL.to_run().values() if job.rule.name.startswith("train")]
    if not jobs:
        return
    hours = SUITE.gpu_hours(cell_of(job.wildcards) for job in jobs)
    limit = SUITE.config.max_gpu_hours
    if limit is None or hours > limit:
        sys.exit(
            f"error: {SUITE.config.scale} scale: {len(jobs)} jobs, {budget.on_h100(hours)}, more "
            f"than max_gpu_hours={limit}: allow it with "
            f"--config max_gpu_hours={max(1, round(hours * 1.1))}, or use scale=reduced"
        )
    if fault := budget.refusal(SUITE, (cell_of(job.wildcards) for job in jobs), SITE):
        sys.exit(f"error: {fault}")


def refuse_unknown_targets():
    """Stop with one line where a target is made by no rule. Called once all rules are known."""
    if CALL.is_job:
        return
    makers = CALL.makers()
    for target in map(os.path.normpath, targets()):
        if target in makers or any(makes(target) for makes in makers.values()):
            continue
        if os.path.exists(target):
            continue
        full = f"figures/{target.removeprefix('figures/')}.pdf"
        near = full if full in TARGETS else nearest(target, {*TARGETS, *makers})
        hint = (
            f"did you mean {near!r}?" if near else "`uv run python -m repro show` names the figures"
        )
        sys.exit(f"error: unknown target {target}: {hint}")


def finish():
    """At the end: print what failed and why, what was built, how each test fared, and the time."""
    calls.forget()
    WORKER.stop()
    MONITOR.stop()
    if INTERRUPT.came:
        return
    logs = {Path(log) for job in CALL.to_run().values() for log in job.log}
    for line in MONITOR.failures(logs - (LINES.told if LINES else set()), NOT_BEGUN):
        print(line, file=sys.stderr)
    jobs = CALL.built("publish")
    figures = {f"{job.wildcards.paper}/{job.wildcards.name}": done for job, done in jobs}
    if figures:
        print(summary.summary(SUITE, figures, time.monotonic() - BEGIN), file=sys.stderr)
