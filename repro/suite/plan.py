"""How a study becomes jobs: grid, what each run takes from earlier stages, ids. No torch."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

from repro.errors import UserError
from repro.files import canonical_json, sha256
from repro.suite.spec import lookup, override, settings
from repro.suite.study import REFERENCES, SLOT, Best, Checkpoint, Neighbour, Study


@dataclass(frozen=True)
class Taken:
    """A reference in a run's spec, with the candidates it is chosen among."""

    reference: Best | Checkpoint | Neighbour
    runs: "tuple[Run, ...]"


def _identity(value: object) -> object:
    """A setting as it enters an id: what is taken from earlier stages by the candidates' ids."""
    if isinstance(value, Mapping):
        return {key: _identity(v) for key, v in value.items()}
    if isinstance(value, Taken):
        kind = type(value.reference).__name__
        reference = {k: v for k, v in asdict(value.reference).items() if v is not None}
        return {kind: reference, "of": [run.id for run in value.runs]}
    return value


@dataclass(frozen=True)
class Run:
    """One run of a task: its settings, what it reads, and its id.

    Settings that are taken from earlier stages are Taken until `resolve`.
    """

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
            "spec": _identity(self.spec),
            "datasets": self.datasets,
        }
        return sha256(canonical_json(identity))

    @cached_property
    def takes(self) -> dict[str, Taken]:
        """Dotted key -> what is taken there from an earlier stage."""
        return {key: v for key, v in settings(self.spec) if isinstance(v, Taken)}

    def resolve(self, read: Callable[["Run"], Mapping]) -> tuple[dict, dict]:
        """(the spec with everything taken in its place, dotted key -> tuned value).

        read: run of an earlier stage -> its result, with "file" where it left a checkpoint.
        """
        values = {
            key: taken.reference.choose([read(run) for run in taken.runs])
            for key, taken in self.takes.items()
        }
        tuned = {
            key: value
            for key, value in values.items()
            if isinstance(self.takes[key].reference, (Best, Neighbour))
            and not isinstance(value, Mapping)
        }
        return override(self.spec, values), tuned


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
        """The file's stem: the axes for a reader, the id for the suite.

        No commas: Snakemake takes those between a job's wildcards apart, on a cluster.
        """
        described = "+".join(f"{key.split('.')[-1]}={_short(v)}" for key, v in self.axes.items())
        return f"{described or 'all'}-{self.id[:12]}"


def _short(value: object) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return "".join(c if c.isalnum() or c in ".+-_" else "_" for c in text)


def _flat(axis: str, value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, Mapping) else {axis: value}


def _named(axis: str, value: object) -> dict[str, object]:
    """A point of an axis as a reader names it: a search's slot by its number."""
    flat = _flat(axis, value)
    references = [v for v in flat.values() if isinstance(v, Neighbour)]
    return {axis: references[0].slot} if references else flat


def _bind(name: str, spec: Mapping, axes: Mapping, earlier: Callable[[str], list[Run]]) -> dict:
    """The spec with every Best and Checkpoint bound to its candidates."""
    changes = {}
    for key, reference in settings(spec):
        if not isinstance(reference, REFERENCES):
            continue
        join = getattr(reference, "join", {})
        free = {*reference.over, *join, SLOT}
        candidates = tuple(
            run
            for run in earlier(reference.stage)
            if all(
                axes.get(axis, value) == value
                for axis, value in run.axes.items()
                if axis not in free
            )
            and all(run.axes[axis] == lookup(spec, own) for axis, own in join.items())
        )
        only = getattr(reference, "pick", "") == "only"
        if not candidates or (only and len(candidates) > 1):
            raise UserError(
                f"study {name}: {key} takes from stage {reference.stage}, where "
                f"{len(candidates)} runs agree with {dict(axes)}"
            )
        changes[key] = Taken(reference, candidates)
    return override(spec, changes)


def cells(
    name: str,
    study: Study,
    scale: str,
    task_version: int,
    datasets: Mapping,
    earlier: Callable[[str], list[Run]] | None = None,
) -> list[Cell]:
    """Every cell of a study at a scale, in the grid's order, each run exactly once.

    None at a scale that leaves an axis empty.

    earlier: name of an earlier stage -> its runs.
    Raises UserError when two points of the grid are the same run, and when no run of an earlier
    stage fits, or several where one should.
    """
    chosen = study.scales[scale]
    grid = {axis: tuple(chosen.grid.get(axis, values)) for axis, values in study.grid.items()}
    base = override(study.spec, chosen.spec)
    outer = [axis for axis in grid if axis not in chosen.together]
    inner = [axis for axis in grid if axis in chosen.together]
    result, seen = [], set()
    for outer_values in itertools.product(*(grid[axis] for axis in outer)):
        point = list(zip(outer, outer_values, strict=True))
        shared = _merge(_named, point)
        runs = []
        for inner_values in itertools.product(*(grid[axis] for axis in inner)):
            whole = point + list(zip(inner, inner_values, strict=True))
            axes = _merge(_named, whole)
            spec = _bind(name, override(base, _merge(_flat, whole)), axes, earlier)
            run = Run(study.task, task_version, spec, axes, datasets)
            if run.id in seen:
                raise UserError(f"study {name}, scale {scale}: {axes} is in the grid twice")
            seen.add(run.id)
            runs.append(run)
        if runs:
            result.append(Cell(name, shared, tuple(runs)))
    return result


def _merge(form: Callable[[str, object], dict], point: Sequence[tuple[str, object]]) -> dict:
    return {key: value for axis, chosen in point for key, value in form(axis, chosen).items()}
