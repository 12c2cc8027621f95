"""What is run: studies, their grids and scales, and the identity of every run. No torch."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from repro.errors import UserError
from repro.files import canonical_json, sha256

SCALES = ("smoke", "reduced", "paper")


@dataclass(frozen=True)
class Scale:
    """What one scale changes: spec entries, whole axes of the grid, and how runs share a job.

    `together` names the axes trained one after another in one process. It is no part of a
    run's identity: the same runs may be cut into jobs another way.
    """

    spec: Mapping[str, object] = field(default_factory=dict)
    grid: Mapping[str, Sequence] = field(default_factory=dict)
    together: tuple[str, ...] = ()


@dataclass(frozen=True)
class Study:
    """A task run over a grid.

    task: a name in `repro.tasks.TASKS`.
    spec: the task's settings at paper scale; dotted keys reach into nested settings.
    grid: axis -> values; the runs are the product of the axes. An axis is a (dotted) key of the
        spec, or any name whose values are mappings of several keys that change together.
    scales: one Scale for each of `SCALES`.
    """

    task: str
    spec: Mapping[str, object]
    grid: Mapping[str, Sequence]
    scales: Mapping[str, Scale]

    def __post_init__(self):
        if set(self.scales) != set(SCALES):
            raise ValueError(f"a study states each of {SCALES}, not {tuple(self.scales)}")
        for name, scale in self.scales.items():
            unknown = (set(scale.grid) | set(scale.together)) - set(self.grid)
            if unknown:
                raise ValueError(f"scale {name} names axes outside the grid: {sorted(unknown)}")


def override(spec: Mapping, changes: Mapping[str, object]) -> dict:
    """A copy of `spec` with dotted keys replaced; raises KeyError on a key that is not there."""
    result = {key: dict(v) if isinstance(v, Mapping) else v for key, v in spec.items()}
    for path, value in changes.items():
        *parents, last = path.split(".")
        node = result
        for parent in parents:
            node = node[parent]
        if last not in node:
            raise KeyError(f"{path} is not a setting of this spec; it has {sorted(node)}")
        node[last] = value
    return result


@dataclass(frozen=True)
class Run:
    """One run of a task: its settings, what it reads, and its id."""

    task: str
    task_version: int
    spec: Mapping[str, object]
    axes: Mapping[str, object]
    datasets: Mapping[str, object]

    @cached_property
    def id(self) -> str:
        """SHA-256 of the resolved spec, the task's version and the datasets' identities."""
        identity = {
            "task": self.task,
            "version": self.task_version,
            "spec": self.spec,
            "datasets": self.datasets,
        }
        return sha256(canonical_json(identity))


@dataclass(frozen=True)
class Cell:
    """The runs of one job; its file is named `<axes>-<id>`."""

    study: str
    axes: Mapping[str, object]
    runs: tuple[Run, ...]

    @cached_property
    def id(self) -> str:
        """SHA-256 of the runs' ids."""
        return sha256(canonical_json([run.id for run in self.runs]))

    @property
    def name(self) -> str:
        """The file's stem: the axes for a reader, the id for the suite."""
        described = ",".join(f"{key.split('.')[-1]}={_short(v)}" for key, v in self.axes.items())
        return f"{described or 'all'}-{self.id[:12]}"


def _short(value: object) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return "".join(c if c.isalnum() or c in ".+-_" else "_" for c in text)


def _flat(axis: str, value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, Mapping) else {axis: value}


def cells(name: str, study: Study, scale: str, task_version: int, datasets: Mapping) -> list[Cell]:
    """Every cell of a study at a scale, in the grid's order, each run exactly once.

    Raises UserError when two points of the grid are the same run.
    """
    chosen = study.scales[scale]
    grid = {axis: tuple(chosen.grid.get(axis, values)) for axis, values in study.grid.items()}
    base = override(study.spec, chosen.spec)
    outer = [axis for axis in grid if axis not in chosen.together]
    inner = [axis for axis in grid if axis in chosen.together]
    result, seen = [], set()
    for outer_values in itertools.product(*(grid[axis] for axis in outer)):
        shared = {
            key: v
            for axis, value in zip(outer, outer_values, strict=True)
            for key, v in _flat(axis, value).items()
        }
        runs = []
        for inner_values in itertools.product(*(grid[axis] for axis in inner)):
            axes = dict(shared)
            for axis, value in zip(inner, inner_values, strict=True):
                axes |= _flat(axis, value)
            run = Run(study.task, task_version, override(base, axes), axes, datasets)
            if run.id in seen:
                raise UserError(f"study {name}, scale {scale}: {axes} is in the grid twice")
            seen.add(run.id)
            runs.append(run)
        result.append(Cell(name, shared, tuple(runs)))
    return result
