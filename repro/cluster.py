"""What a job asks of a cluster, from what its cell costs, and what a site calls it. No torch."""

import math
import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from repro.config import did_you_mean
from repro.errors import UserError
from repro.study import SCALES, Cell
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
STEP_SECONDS = {"gpu": 0.02, "cpu": 0.005}  # a step takes no less, however small the model
MARGIN = 2.0  # evaluations, checkpoints, a slower device
START_SECONDS = 300.0  # importing torch from a shared file system, reading data
UNPRICED_MINUTES = 60  # a task without a cost function
SHORT_MINUTES = 10  # such jobs share one of the cluster's

CPU_MB = 2_000  # torch and its libraries: 0.6 to 0.9 GB, and data
GPU_MB = 8_000  # CUDA's as well
GPU_SHARE = 0.95  # of a GPU's memory that runs may fill


@dataclass(frozen=True)
class Request:
    """What one job asks for; runtime in minutes."""

    cpus: int
    gpus: int
    mem_mb: int
    runtime: int

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
    cpus_per_gpu: CPUs beside each. max_hours: longest job the partitions take.
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
    cpus_per_gpu: int = 4
    max_hours: float = math.inf

    def names(self, gpus: int = 0) -> dict[str, str]:
        """The resources that name this site's queue, as Snakemake's Slurm plugin calls them."""
        partition = (self.gpu_partition if gpus else "") or self.partition
        named = {
            "slurm_partition": partition,
            "slurm_account": self.account,
            "qos": self.qos,
            "slurm_extra": self.extra,
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
    try:
        content = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is no YAML ({' '.join(str(error).split())})") from None
    return parse_site({} if content is None else content, path)


def request(cell: Cell, scale: str, site: Site, attempt: int = 1) -> Request:
    """What a cell's job asks for, all its runs counted; an attempt twice the time of the last.

    GPUs are for the training of `gpu_scales`, that is for what reads data, as many as the largest
    run's memory needs. Memory grows by its first amount an attempt.
    """
    costs = [TASKS[run.task].cost(run.spec) for run in cell.runs]
    priced = any(cost.flops for cost in costs)
    memory = max(cost.memory_bytes for cost in costs)
    wanted = any(cost.seen for cost in costs) and scale in site.gpu_scales
    gpus = math.ceil(memory / (GPU_SHARE * site.gpu_memory_gb * 1e9)) if wanted else 0
    spec = cell.runs[0].spec
    threads = spec.get("threads", 1)
    if gpus:
        rate, floor = gpus * GPU_RATES[spec.get("precision", "float32")], STEP_SECONDS["gpu"]
        cpus = site.cpus_per_gpu * gpus
        mem_mb = GPU_MB + 2 * max(cost.state_bytes for cost in costs) / 1e6
    else:
        rate, floor = CPU_RATE * threads, STEP_SECONDS["cpu"]
        cpus, mem_mb = threads, CPU_MB + 2 * memory / 1e6
    if priced:
        seconds = sum(max(c.flops / rate, spec.get("steps", 0) * floor) for c in costs)
        minutes = (START_SECONDS + MARGIN * seconds) / 60
    else:
        minutes = UNPRICED_MINUTES
    return Request(
        cpus=cpus,
        gpus=gpus,
        mem_mb=math.ceil(mem_mb) * attempt,
        runtime=math.ceil(min(minutes * 2 ** (attempt - 1), 60 * site.max_hours)),
    )
