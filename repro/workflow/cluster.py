"""What a job asks of a Slurm cluster, by its runs' costs and the cluster's site file. No torch."""

import math
import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from repro import cost
from repro.core.schedule import Cell
from repro.core.study import GPU_SCALES, SCALES
from repro.errors import UserError, did_you_mean

# Assumed operations per second of a CPU: the rate that the smallest models reach on one core. As
# `cost.GPU_RATES`, lower than measured, because a job that runs out of time has to queue again.
CPU_RATE = 5e9
STEP_SECONDS = 0.005  # a step takes at least this long, even for a tiny model
# Evaluations, checkpoints, a slower device; on a CPU also what goes through memory.
MARGIN = {"gpu": 1.5, "cpu": 2.0}
START_SECONDS = 300.0  # importing torch from a shared file system, reading data
UNPRICED_MINUTES = 60  # a task without a cost function
WANTED_HOURS = 48.0  # a job that would take longer asks for more GPUs
MOST_DAYS = 30.0  # a longer job is refused unless the configuration allows it (`max_days`)
# To tokenize a streamed corpus; a job that ran out of time continues where it stopped.
STREAM_CPUS, STREAM_MINUTES = 16, 7 * 24 * 60
SHORT_MINUTES = 10  # jobs up to this long share one Slurm job

CPU_MB = 2_000  # host memory: torch and its libraries take 0.6 to 0.9 GB, the rest is for data
GPU_MB = 8_000  # host memory per GPU, with CUDA's libraries


# What sbatch says, besides a limit on submitted jobs by name, where it would take the job later.
LATER = re.compile(
    "job submit limit|Socket timed out.*|Unable to contact slurm controller.*"
    "|Resource temporarily unavailable|Slurm temporarily unable.*"
)
CONSTRAINT = re.compile(r"(?:^|\s)(?:--constraint[=\s]|-C\s*)\s*('[^']*'|\"[^\"]*\"|\S+)")


@dataclass(frozen=True)
class Request:
    """What one job asks for. mem_mb: host memory. runtime: minutes. gpus: all on one node.

    turns: how many jobs of the site's `max_hours` it takes, each going on from the last checkpoint.
    """

    cpus: int
    mem_mb: int
    runtime: int
    gpus: int = 0
    turns: int = 1

    @property
    def is_short(self) -> bool:
        """Whether starting the job would be a large part of its time, so that jobs are grouped."""
        return not self.gpus and self.runtime <= SHORT_MINUTES


@dataclass(frozen=True)
class Site:
    """A cluster's names and limits; for a name left empty, Slurm's own default holds.

    partition, gpu_partition: where jobs without and with a GPU go. account, qos: passed to sbatch.
    extra: passed to it too, what no other key says and --constraint=FEATURE. modules: environment
    modules to load in every job. container: image that jobs run in.
    gpu_scales: the scales whose training runs on GPUs. gpu_model: as Slurm calls it.
    gpu_memory_gb: of one GPU. gpus_per_node: also the most that one job gets. cpus_per_gpu: CPUs to
    ask for with each GPU. max_hours: the longest job that the partitions accept.
    """

    partition: str = ""
    gpu_partition: str = ""
    account: str = ""
    qos: str = ""
    extra: str = ""
    modules: tuple[str, ...] = ()
    container: str = ""
    gpu_scales: tuple[str, ...] = GPU_SCALES
    gpu_model: str = ""
    gpu_memory_gb: float = 80.0
    gpus_per_node: int = 8
    cpus_per_gpu: int = cost.CORES
    max_hours: float = math.inf

    def slurm_resources(self, gpus: int = 0) -> dict[str, str]:
        """Partition, account and so on, under the names that Snakemake's Slurm plugin gives them;
        without those left empty. gpus: how many GPUs the job asks for."""
        partition = (self.gpu_partition if gpus else "") or self.partition
        constraint = CONSTRAINT.search(self.extra)
        resources = {
            "slurm_partition": partition,
            "slurm_account": self.account,
            "qos": self.qos,
            "constraint": constraint[1].strip("'\"") if constraint else "",
            "slurm_extra": " ".join(CONSTRAINT.sub(" ", self.extra).split()),
            "gpu_model": self.gpu_model if gpus else "",
        }
        return {key: value for key, value in resources.items() if value}

    def prologue(self) -> str:
        """Shell commands that load the modules and keep this Python before theirs; or ""."""
        if not self.modules:
            return ""
        # set +u: module scripts may read unset variables.
        python = shlex.quote(os.fspath(Path(sys.executable).parent))
        return f"set +u; module load {' '.join(self.modules)}; export PATH={python}:$PATH; set -u; "


def parse_site(values: object, name: object) -> Site:
    """Validate what a site file holds; raises UserError naming the file and the key."""
    known = {field.name: field for field in fields(Site)}
    if not isinstance(values, Mapping):
        raise UserError(f"{name}: give `key: value` lines, see site.example.yaml beside it")
    checked = {}
    for key, value in values.items():
        if key not in known:
            raise UserError(f"{name}: unknown key {key!r}, {did_you_mean(str(key), known)}")
        default = known[key].default
        if isinstance(default, tuple):
            fitting = isinstance(value, list) and all(isinstance(v, str) for v in value)
            value = tuple(value) if fitting else value
        elif isinstance(default, str):
            value = str(value) if isinstance(value, int) else value
            fitting = isinstance(value, str)
        else:
            fitting = isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
            fitting = fitting and (isinstance(default, float) or isinstance(value, int))
        if not fitting:
            kinds = {tuple: "a list of names", str: "text", int: "a whole number above 0"}
            wanted = kinds.get(type(default), "a number above 0")
            raise UserError(f"{name}: {key} is {value!r}, give {wanted}")
        checked[key] = value
    site = Site(**checked)
    for scale in site.gpu_scales:
        if scale not in SCALES:
            raise UserError(f"{name}: gpu_scales: {scale!r}, {did_you_mean(scale, SCALES)}")
    if not re.fullmatch(r"[A-Za-z0-9_.]*", site.gpu_model):  # the Slurm plugin's, 2.8
        raise UserError(
            f"{name}: gpu_model: {site.gpu_model!r}: Snakemake's Slurm plugin takes letters, "
            "digits, _ and . alone; give extra: --constraint=FEATURE in its place"
        )
    for module in site.modules:
        if not re.fullmatch(r"[\w.+/-]+", module):
            raise UserError(f"{name}: modules: {module!r} is no module's name")
    return site


def load_site(folder: Path) -> Site:
    """The site in the file that REPRO_SITE names, or in site.yaml in this folder (the profile's).

    Where there is neither, a Site of defaults. Raises UserError on a faulty file.
    """
    import yaml

    named = os.environ.get("REPRO_SITE")
    path = Path(named) if named else folder / "site.yaml"
    if not path.exists():
        if named:
            raise UserError(f"REPRO_SITE: {named} does not exist")
        return Site()
    if path.is_dir():
        raise UserError(f"{path}: is a folder where the site's file should be")
    try:
        content = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is no YAML ({' '.join(str(error).split())})") from None
    return parse_site({} if content is None else content, path)


def request(cell: Cell, scale: str, site: Site, attempt: int = 1) -> Request:
    """What the job of a cell asks for: the time of all its runs, the memory of the largest.

    It gets GPUs if its runs train on data at one of the site's `gpu_scales`: as few as hold the
    largest run, or more, up to a node's, as long as it would take longer than WANTED_HOURS.
    attempt: the n-th asks for 2^(n - 1) times the time and n times the memory of the first; the
        memory of a job of several turns grows once they are spent, which are no failures.
    Raises UserError where the site's GPUs cannot hold a run.
    """
    costs = [run.cost for run in cell.runs]
    steps = [run.spec.get("steps", 0) for run in cell.runs]

    def minutes(seconds: Iterable[float], kind: str) -> float:
        least = (max(s, n * STEP_SECONDS) for s, n in zip(seconds, steps, strict=True))
        return (START_SECONDS + MARGIN[kind] * sum(least)) / 60

    if any(c.seen for c in costs) and scale in site.gpu_scales:
        alone = [3600 * cost.gpu_hours(c, site.cpus_per_gpu) for c in costs]
        times = {n: minutes((each / n for each in alone), "gpu") for n in gpu_counts(cell, site)}
        wanted = 60 * min(WANTED_HOURS, site.max_hours)
        # The fewest GPUs that finish in time; if none do, the fastest.
        gpus = min(times, key=lambda n: (max(times[n], wanted), n))
        largest = max(costs, key=lambda c: c.memory_bytes)
        time = times[gpus]
        cpus, mem_mb = site.cpus_per_gpu * gpus, GPU_MB * gpus + 2 * largest.state_bytes / 1e6
    else:
        gpus = 0
        cpus = cell.runs[0].spec.get("threads", 1)
        mem_mb = CPU_MB + 2 * max(c.memory_bytes + c.cpu_bytes for c in costs) / 1e6
        priced = any(c.flops for c in costs)
        alone = [c.flops / (CPU_RATE * cpus) for c in costs]
        time = minutes(alone, "cpu") if priced else UNPRICED_MINUTES
    turns = max(1, math.ceil(time / (60 * site.max_hours)))
    return Request(
        cpus=cpus,
        mem_mb=math.ceil(mem_mb) * (1 + (attempt - 1) // turns),
        runtime=math.ceil(min(time * 2.0 ** (attempt - 1), 60 * site.max_hours)),
        gpus=gpus,
        turns=turns,
    )


def gpu_counts(cell: Cell, site: Site) -> list[int]:
    """The numbers of GPUs that can share every step of a cell's runs evenly and hold them.

    Raises UserError where none does.
    """
    memory = 1e9 * site.gpu_memory_gb
    needed = needed_memory(cell, site)
    if fit := [count for count, each in needed.items() if each <= memory]:
        return fit
    fault = cost.too_small(min(needed.values()), memory)
    raise UserError(f"{cell.study}: {fault} (gpu_memory_gb of the site's file)")


def needed_memory(cell: Cell, site: Site) -> dict[int, float]:
    """Number of GPUs that can share every step of a cell's runs evenly -> bytes of each of them."""
    costs = [run.cost for run in cell.runs]
    even = [n for n in range(1, site.gpus_per_node + 1) if all(c.divides(n) for c in costs)]
    return {n: max(cost.least_memory(each, n) for each in costs) for n in even}


def device(gpus: int) -> str:
    """The words after `--device` in a call of `python -m repro train`, for a job on these GPUs."""
    return f"cuda --ranks {gpus}" if gpus > 1 else "cuda" if gpus else "cpu"


def resources_to_tokenize(shard_tokens: int, site: Site) -> dict[str, int]:
    """What a job that tokenizes asks for, as Snakemake's resources; and in how many `turns`.

    shard_tokens: tokens in a shard of a streamed corpus, which takes days, one shard in memory at a
        time; 0 for a text that is tokenized as a whole.
    """
    if not shard_tokens:
        return {"cpus_per_task": 1, "mem_mb": 2 * CPU_MB, "runtime": 30, "turns": 1}
    return {
        "cpus_per_task": STREAM_CPUS,
        "mem_mb": 2 * CPU_MB + math.ceil(4 * shard_tokens / 1e6),
        "runtime": math.ceil(min(STREAM_MINUTES, 60 * site.max_hours)),
        "turns": max(1, math.ceil(STREAM_MINUTES / (60 * site.max_hours))),
    }


def transient_reason(said: str) -> str:
    """Why Slurm did not take a job that it would take later; "" where it never will."""
    said = said.partition("sbatch call:")[0]
    if named := re.search(r"error: ([A-Z]\w+)\W*$", said, re.MULTILINE):
        return named[1] if "Submit" in named[1] else ""
    found = LATER.search(said)
    return found[0] if found else ""


def why_not_begun(submitted: Any, said: str) -> str:
    """Why a job of Slurm's that failed never began; "" if it did. said: the plugin's words."""
    if submitted.external_jobid is None:
        said = said.partition("sbatch call:")[0]
        words = re.findall(r"sbatch: (?:error: )?([^\n']+)", said) or [" ".join(said.split())]
        return f"Slurm did not take it: {': '.join(words)}"
    log = (submitted.aux or {}).get("slurm_logfile")
    status = re.search(r"status is: '(\w+)'", said)
    if log and status and not Path(log).exists():
        return f"Slurm ended it before it began: {status[1]}"
    return ""
