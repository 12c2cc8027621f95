"""How a study becomes jobs: grid, what each run takes from upstream stages, ids. No torch."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from repro.errors import UserError
from repro.files import canonical_json, sha256
from repro.suite.spec import lookup, override, settings
from repro.suite.study import PROPOSAL, REFERENCES, Best, Checkpoint, Proposal, Reference, Study


@dataclass(frozen=True)
class Upstream:
    """A reference in a run's spec, with the runs it is chosen among."""

    reference: Reference
    runs: "tuple[Run, ...]"


def _identity(value: object) -> object:
    """A setting as it enters an id: what is taken from upstream by the ids it is chosen among."""
    if isinstance(value, Mapping):
        return {key: _identity(v) for key, v in value.items()}
    if isinstance(value, Upstream):
        return _reference_identity(value.reference) | {"of": [run.id for run in value.runs]}
    return value


def _reference_identity(reference: Reference) -> dict:
    """A reference under the names it had when the first ids were made.

    Nothing here follows a renamed class or field: a word spelt otherwise changes the id of every
    run that takes something from upstream, and all of these runs are made anew.
    """
    common = {"stage": reference.stage, "metric": reference.metric, "over": reference.over}
    match reference:
        case Best():
            own = {"key": reference.key, "where": reference.where, "recorded": reference.recorded}
            return {"Best": common | own}
        case Checkpoint():
            return {"Checkpoint": common | {"pick": reference.pick, "join": reference.join}}
        case Proposal():
            own = {"key": reference.key, "axes": reference.axes, "slot": reference.number}
            if reference.neighbourhood is not None:  # searches without one are older than it
                own["moves"] = reference.neighbourhood
            return {"Neighbour": common | own}


@dataclass(frozen=True)
class Run:
    """One run of a task: its settings, what it reads, and its id.

    Settings that are taken from upstream stages are Upstream until `resolve`.
    """

    task: str
    task_version: int
    spec: Mapping[str, Any]
    axes: Mapping[str, Any]
    datasets: Mapping[str, Any]

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
    def upstream(self) -> dict[str, Upstream]:
        """Dotted key -> what is taken there from an upstream stage."""
        return {key: v for key, v in settings(self.spec) if isinstance(v, Upstream)}

    def resolve(self, read: Callable[["Run"], Mapping]) -> tuple[dict, dict]:
        """(the spec with everything taken in its place, dotted key -> tuned value).

        read: upstream run -> its result, with "file" where it left a checkpoint.
        """
        values = {
            key: upstream.reference.choose([read(run) for run in upstream.runs])
            for key, upstream in self.upstream.items()
        }
        tuned = {
            key: value
            for key, value in values.items()
            if isinstance(self.upstream[key].reference, (Best, Proposal))
            and not isinstance(value, Mapping)
        }
        return override(self.spec, values), tuned


@dataclass(frozen=True)
class Cell:
    """The runs of one job; its file is named `<axes>-<id>`."""

    study: str
    axes: Mapping[str, Any]
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
    """A point of an axis as a reader names it: a search's proposal by its number."""
    flat = _flat(axis, value)
    proposals = [v for v in flat.values() if isinstance(v, Proposal)]
    return {axis: proposals[0].number} if proposals else flat


def _merge(form: Callable[[str, object], dict], point: Sequence[tuple[str, object]]) -> dict:
    return {key: value for axis, chosen in point for key, value in form(axis, chosen).items()}


def bind_upstream(
    name: str, spec: Mapping, axes: Mapping, upstream_runs: Callable[[str], list[Run]]
) -> dict:
    """The spec of a run, with each reference bound to the upstream runs that it chooses from.

    axes: those of the run. upstream_runs: name of an upstream stage -> its runs.
    Raises UserError, naming the study, if no run fits, or several fit a reference to a single one.
    """
    bound = {}
    for key, reference in settings(spec):
        if not isinstance(reference, REFERENCES):
            continue
        # Runs match if the axes that both have agree, e.g. the same width. Axes that are searched
        # or averaged over may differ; a joined axis is compared with a setting instead.
        join = reference.join if isinstance(reference, Checkpoint) else {}
        free = {*reference.over, *join, PROPOSAL}
        fitting = tuple(
            run
            for run in upstream_runs(reference.stage)
            if all(axes.get(a, value) == value for a, value in run.axes.items() if a not in free)
            and all(run.axes[a] == lookup(spec, own) for a, own in join.items())
        )
        # An ambiguous checkpoint is the study author's mistake: report it before any training.
        only = isinstance(reference, Checkpoint) and reference.pick == "only"
        if not fitting or (only and len(fitting) > 1):
            raise UserError(
                f"study {name}: {key} takes from stage {reference.stage}, where "
                f"{len(fitting)} runs agree with {dict(axes)}"
            )
        bound[key] = Upstream(reference, fitting)
    return override(spec, bound)


def cells(
    name: str,
    study: Study,
    scale: str,
    task_version: int,
    datasets: Mapping,
    upstream_runs: Callable[[str], list[Run]] = lambda stage: [],
) -> list[Cell]:
    """Every cell of a study at a scale, in the grid's order, each run exactly once.

    None at a scale that leaves an axis empty.

    upstream_runs: name of an upstream stage -> its runs.
    Raises UserError when two points of the grid are the same run, and when no upstream run fits, or
    several where one should.
    """
    chosen = study.scales[scale]
    grid = {axis: tuple(chosen.grid.get(axis, values)) for axis, values in study.grid.items()}
    base = study.settings(scale)

    def points(axes: Sequence[str]) -> Iterator[list[tuple[str, object]]]:
        for values in itertools.product(*(grid[axis] for axis in axes)):
            yield list(zip(axes, values, strict=True))

    # The axes between jobs are the outer loop, those within a job the inner one, so that how runs
    # share jobs changes their order and nothing else.
    between = [axis for axis in grid if axis not in chosen.same_job]
    within = [axis for axis in grid if axis in chosen.same_job]
    result, seen = [], set()
    for outer in points(between):
        runs = []
        for inner in points(within):
            axes = _merge(_named, outer + inner)
            # References are bound after the axes are set: an axis may itself be one (a proposal).
            spec = override(base, _merge(_flat, outer + inner))
            spec = bind_upstream(name, spec, axes, upstream_runs)
            run = Run(study.task, task_version, spec, axes, datasets)
            # Two points with one id would be trained once and counted twice, as two seeds.
            if run.id in seen:
                raise UserError(f"study {name}, scale {scale}: {axes} is in the grid twice")
            seen.add(run.id)
            runs.append(run)
        if runs:
            result.append(Cell(name, _merge(_named, outer), tuple(runs)))
    return result
