"""What a job asks of a cluster, from what its cell costs, and what a site calls it. No torch."""

import math
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from repro import cost
from repro.errors import UserError, did_you_mean
from repro.suite.plan import Cell
from repro.suite.study import SCALES
from repro.tasks import TASKS

# Assumed operations per second, below what is measured, since a job that runs out of time is
# queued again: 40 % of an H100's dense peaks; the smallest models on one core of a CPU.
GPU_RATES = {
    "bfloat16": 0.4 * 989e12,
    "float16": 0.4 * 989e12,
    "tf32": 0.4 * 495e12,
    "float32": 0.4 * 67e12,
}
CPU_RATE = 5e9
STEP_SECONDS = {"gpu": 0.02, "cpu": 0.005}  # a step takes at least this long, even for a tiny model
MARGIN = 2.0  # evaluations, checkpoints, a slower device
START_SECONDS = 300.0  # importing torch from a shared file system, reading data
UNPRICED_MINUTES = 60  # a task without a cost function
WANTED_HOURS = 48.0  # a job that would take longer asks for more GPUs
STREAM_CPUS, STREAM_MINUTES = 16, 7 * 24 * 60  # to tokenize one; a job that ended there goes on
SHORT_MINUTES = 10  # such jobs share one of the cluster's

CPU_MB = 2_000  # torch and its libraries: 0.6 to 0.9 GB, and data
GPU_MB = 8_000  # CUDA's as well


@dataclass(frozen=True)
class Request:
    """What one job asks for; runtime in minutes. layout: of its largest run."""

    cpus: int
    mem_mb: int
    runtime: int
    layout: cost.Layout = field(default_factory=lambda: cost.Layout(0))

    @property
    def gpus(self) -> int:
        """GPUs, all on one node."""
        return self.layout.gpus

    @property
    def is_short(self) -> bool:
        """Whether starting the job would take a good part of its time."""
        return not self.gpus and self.runtime <= SHORT_MINUTES


@dataclass(frozen=True)
class Site:
    """A site's names and limits; what is left out is left to the cluster.

    partition, gpu_partition: where jobs without and with a GPU go. account, qos, extra: passed
    to sbatch. modules: loaded in every job. container: image jobs run in. gpu_scales: scales
    whose training takes a GPU. gpu_model: as Slurm calls it. gpu_memory_gb: of one GPU.
    gpus_per_node: the most one job gets. cpus_per_gpu: CPUs beside each. max_hours: longest job
    the partitions take.
    """

    partition: str = ""
    gpu_partition: str = ""
    account: str = ""
    qos: str = ""
    extra: str = ""
    modules: tuple[str, ...] = ()
    container: str = ""
    gpu_scales: tuple[str, ...] = ("paper",)
    gpu_model: str = ""
    gpu_memory_gb: float = 80.0
    gpus_per_node: int = 8
    cpus_per_gpu: int = 4
    max_hours: float = math.inf

    def names(self, gpus: int = 0) -> dict[str, str]:
        """The resources that name this site's queue, as Snakemake's Slurm plugin calls them."""
        partition = (self.gpu_partition if gpus else "") or self.partition
        named = {
            "slurm_partition": partition,
            "slurm_account": self.account,
            "qos": self.qos,
            "slurm_extra": f"{'--nodes=1' if gpus > 1 else ''} {self.extra}".strip(),
            "gpu_model": self.gpu_model if gpus else "",
        }
        return {key: value for key, value in named.items() if value}

    def prologue(self) -> str:
        """Shell words before a job's command: its modules, and this Python before theirs."""
        if not self.modules:
            return ""
        own = shlex.quote(os.fspath(Path(sys.executable).parent))
        return f"set +u; module load {' '.join(self.modules)}; export PATH={own}:$PATH; set -u; "


def parse_site(values: object, name: object) -> Site:
    """Validate a site file's content; raises UserError naming the file and the key."""
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
            words = {tuple: "a list of names", str: "text", int: "a whole number above 0"}
            wanted = words.get(type(default), "a number above 0")
            raise UserError(f"{name}: {key} is {value!r}, give {wanted}")
        checked[key] = value
    site = Site(**checked)
    for scale in site.gpu_scales:
        if scale not in SCALES:
            raise UserError(f"{name}: gpu_scales: {scale!r}, {did_you_mean(scale, SCALES)}")
    for module in site.modules:
        if not re.fullmatch(r"[\w.+/-]+", module):
            raise UserError(f"{name}: modules: {module!r} is no module's name")
    return site


def load_site(folder: Path) -> Site:
    """The site of the file that REPRO_SITE names, or of site.yaml in the profile's folder.

    A site that says nothing where neither is there; raises UserError on a faulty file.
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
    """What a cell's job asks for, all its runs counted; an attempt twice the time of the last.

    GPUs are for the training of `gpu_scales`, that is for what reads data: as many as the largest
    run's memory needs, and up to a node's while it would take longer than WANTED_HOURS.
    Memory grows by its first amount an attempt.
    """
    costs = [TASKS[run.task].cost(run.spec) for run in cell.runs]
    spec = cell.runs[0].spec

    def minutes(rate: float, floor: float) -> float:
        seconds = sum(max(c.flops / rate, spec.get("steps", 0) * floor) for c in costs)
        return (START_SECONDS + MARGIN * seconds) / 60

    if any(c.seen for c in costs) and scale in site.gpu_scales:
        rate = GPU_RATES[spec.get("precision", "float32")]
        times = {n: minutes(n * rate, STEP_SECONDS["gpu"]) for n in counts(costs, site)}
        wanted = 60 * min(WANTED_HOURS, site.max_hours)
        gpus = min(times, key=lambda n: (max(times[n], wanted), n))
        largest = max(costs, key=lambda c: c.memory_bytes)
        layout, time = lay_out(largest, gpus, site), times[gpus]
        cpus, mem_mb = site.cpus_per_gpu * gpus, GPU_MB * gpus + 2 * largest.state_bytes / 1e6
    else:
        layout = cost.Layout(0)
        cpus = spec.get("threads", 1)
        mem_mb = CPU_MB + 2 * max(c.memory_bytes for c in costs) / 1e6
        priced = any(c.flops for c in costs)
        time = minutes(CPU_RATE * cpus, STEP_SECONDS["cpu"]) if priced else UNPRICED_MINUTES
    return Request(
        cpus=cpus,
        mem_mb=math.ceil(mem_mb) * attempt,
        runtime=math.ceil(min(time * 2 ** (attempt - 1), 60 * site.max_hours)),
        layout=layout,
    )


def lay_out(each: cost.Cost, gpus: int, site: Site) -> cost.Layout:
    """How a run of this cost lies on so many of a site's GPUs."""
    return cost.layout(each, gpus, 1e9 * site.gpu_memory_gb)


def counts(costs: Sequence[cost.Cost], site: Site) -> list[int]:
    """Numbers of GPUs that share the steps of these runs evenly and hold them: the most a node has
    where none holds them, for activations then are recomputed."""
    even = [n for n in range(1, site.gpus_per_node + 1) if all(c.divides(n) for c in costs)]
    fit = [n for n in even if not any(lay_out(c, n, site).recompute for c in costs)]
    return fit or even[-1:]


def device(gpus: int) -> str:
    """What follows `python -m repro train ... --device`: cpu, cuda, or cuda and its ranks."""
    return f"cuda --ranks {gpus}" if gpus > 1 else "cuda" if gpus else "cpu"


def tokenizing(shard_tokens: int, site: Site) -> dict[str, int]:
    """What a job that tokenizes asks for, as Snakemake's resources.

    shard_tokens: of a streamed corpus, which is read for days, one shard in memory at a time; 0
    for a text.
    """
    if not shard_tokens:
        return {"cpus_per_task": 1, "mem_mb": 2 * CPU_MB, "runtime": 30}
    return {
        "cpus_per_task": STREAM_CPUS,
        "mem_mb": 2 * CPU_MB + math.ceil(4 * shard_tokens / 1e6),
        "runtime": math.ceil(min(STREAM_MINUTES, 60 * site.max_hours)),
    }
