"""What is run: studies, their stages, grids and scales, and the identity of every run. No torch."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property

from repro import search
from repro.errors import UserError
from repro.files import canonical_json, sha256
from repro.search import Move

SCALES = ("smoke", "reduced", "paper")
SLOT = "slot"  # the axis of a search's round


@dataclass(frozen=True)
class Scale:
    """What one scale changes: spec entries, whole axes of the grid, and how runs share a job.

    `together` names the axes trained one after another in one process. It is no part of a
    run's identity: the same runs may be cut into jobs another way.
    rounds: how often a search may grow its grid.
    """

    spec: Mapping[str, object] = field(default_factory=dict)
    grid: Mapping[str, Sequence] = field(default_factory=dict)
    together: tuple[str, ...] = ()
    rounds: int = 0


@dataclass(frozen=True)
class Best:
    """A tuned value: setting `key` of the run of an earlier stage with the lowest final `metric`.

    Runs that differ in nothing but the seed are averaged; a diverged one counts as infinite.
    Candidates agree with the asking run on every axis both have, but those in `over`.
    where: settings the candidates must have. recorded: key is of the last record, not the spec.
    """

    stage: str
    key: str
    metric: str = "train_loss"
    over: tuple[str, ...] = ()
    where: Mapping[str, object] = field(default_factory=dict)
    recorded: bool = False

    def choose(self, results: Sequence[Mapping]) -> object:
        """The value, from the results of the candidates; raises UserError when all diverged."""
        points: dict[bytes, list[Mapping]] = {}
        for result in results:
            if all(lookup(result["spec"], key) == value for key, value in self.where.items()):
                axes = result["axes"] | result.get("tuned", {})
                axes = {k: v for k, v in axes.items() if k not in ("seed", SLOT)}
                points.setdefault(canonical_json(axes), []).append(result)

        def mean(point: Sequence[Mapping]) -> float:
            return _mean(point, self.metric)

        best = min(points.values(), key=mean, default=None)
        if best is None or not math.isfinite(mean(best)):
            raise UserError(
                f"stage {self.stage}: every run diverged, so no {self.key} can be chosen; extend "
                "its grid to smaller learning rates"
            )
        if self.recorded:
            return best[0]["records"][-1][self.key]
        return lookup(best[0]["spec"], self.key)


@dataclass(frozen=True)
class Checkpoint:
    """The final checkpoint of a run of an earlier stage.

    Candidates agree with the asking run on every axis both have, but those in `over`; `join`
    maps an axis of theirs to the setting of the asking run that must equal it.
    pick: among several candidates, the "lowest" or the "median" final `metric`; the "only" one is
    checked when the study is read.
    """

    stage: str
    pick: str = "only"
    metric: str = "train_loss"
    over: tuple[str, ...] = ()
    join: Mapping[str, str] = field(default_factory=dict)

    def choose(self, results: Sequence[Mapping]) -> Mapping:
        """{"id", "file", "sha256", "spec"} of the chosen run; UserError when it diverged."""
        made = [result for result in results if result["records"]]
        ranked = sorted(made, key=lambda result: final(result, self.metric))
        chosen = ranked[(len(ranked) - 1) // 2 if self.pick == "median" else 0]
        if not math.isfinite(final(chosen, self.metric)):
            raise UserError(f"stage {self.stage}: the run to start from diverged")
        return {key: chosen[key] for key in ("id", "file", "sha256", "spec")}


@dataclass(frozen=True)
class Neighbour:
    """The value at `key` of a point a search asks for: the slot-th of `repro.search.missing`.

    stage: the search's, of which all earlier rounds are read. axes: the keys searched. moves: the
    search's. None where the search has ended or the slot is not needed: that run is not made.
    """

    stage: str
    key: str
    axes: tuple[str, ...]
    slot: int
    metric: str
    over: tuple[str, ...] = ("seed",)
    moves: tuple[Move, ...] | None = None

    def choose(self, results: Sequence[Mapping]) -> float | None:
        """The value, from the results of all earlier rounds."""
        points: dict[search.Point, list[Mapping]] = {}
        for result in results:
            if result["records"]:
                point = tuple(lookup(result["spec"], axis) for axis in self.axes)
                points.setdefault(point, []).append(result)
        losses = {p: _mean(found, self.metric) for p, found in points.items()}
        wanted = search.missing(losses, self.moves)
        return wanted[self.slot][self.axes.index(self.key)] if self.slot < len(wanted) else None


REFERENCES = (Best, Checkpoint, Neighbour)


def final(result: Mapping, metric: str) -> float:
    """A result's metric at its last evaluation, infinite where it diverged or was not made."""
    value = float(result["records"][-1].get(metric, math.inf)) if result["records"] else math.inf
    return value if math.isfinite(value) else math.inf


def _mean(results: Sequence[Mapping], metric: str) -> float:
    return sum(final(result, metric) for result in results) / len(results)


def lookup(spec: Mapping, path: str) -> object:
    """The setting at a dotted key."""
    for key in path.split("."):
        spec = spec[key]
    return spec


@dataclass(frozen=True)
class Taken:
    """A reference in a run's spec, with the candidates it is chosen among."""

    reference: Best | Checkpoint | Neighbour
    runs: "tuple[Run, ...]"


@dataclass(frozen=True)
class Study:
    """A task run over a grid. A module of studies has one as STUDY, or several as STAGES by name.

    A stage's settings may be a Best or Checkpoint of an earlier stage in the same STAGES.

    task: a name in `repro.tasks.TASKS`.
    spec: the task's settings at paper scale; dotted keys reach into nested settings.
    grid: axis -> values; the runs are the product of the axes. An axis is a (dotted) key of the
        spec, or any name whose values are mappings of several keys that change together.
    scales: one Scale for each of `SCALES`.
    search: the axes along which the grid grows, for as many rounds as a scale allows, while the
        run with the lowest final `metric` lies at its edge. Later stages choose among all rounds.
    moves: which neighbours of that run the search makes, steps along each axis, all if None.
    """

    task: str
    spec: Mapping[str, object]
    grid: Mapping[str, Sequence]
    scales: Mapping[str, Scale]
    search: tuple[str, ...] = ()
    metric: str = "train_loss"
    moves: tuple[Move, ...] | None = None

    def __post_init__(self):
        if set(self.scales) != set(SCALES):
            raise ValueError(f"a study states each of {SCALES}, not {tuple(self.scales)}")
        for name, scale in self.scales.items():
            unknown = (set(scale.grid) | set(scale.together)) - set(self.grid)
            if unknown:
                raise ValueError(f"scale {name} names axes outside the grid: {sorted(unknown)}")

    @property
    def rounds(self) -> int:
        """The most rounds a scale allows the search; none without one."""
        return max(scale.rounds for scale in self.scales.values()) if self.search else 0

    def round(self, stage: str) -> "Study":
        """A round of the search of this study, which is `stage`: one run a slot."""
        slots = len(self.moves) if self.moves else search.slots(len(self.search))
        fixed = {"stage": stage, "axes": self.search, "metric": self.metric, "moves": self.moves}
        asked = [
            {axis: Neighbour(key=axis, slot=slot, **fixed) for axis in self.search}
            for slot in range(slots)
        ]

        def rest(grid: Mapping) -> dict:
            return {axis: values for axis, values in grid.items() if axis not in self.search}

        scales = {}
        for name, scale in self.scales.items():
            together = rest(dict.fromkeys(scale.together))
            if len(together) < len(scale.together):
                together[SLOT] = None
            scales[name] = Scale(scale.spec, rest(scale.grid), tuple(together))
        return Study(self.task, self.spec, {**rest(self.grid), SLOT: asked}, scales)


def override(spec: Mapping, changes: Mapping[str, object]) -> dict:
    """A copy of `spec` with dotted keys replaced; raises KeyError on a key that is not there."""
    result = _copy(spec)
    for path, value in changes.items():
        *parents, last = path.split(".")
        node = result
        for parent in parents:
            node = node[parent]
        if last not in node:
            raise KeyError(f"{path} is not a setting of this spec; it has {sorted(node)}")
        node[last] = value
    return result


def _copy(value: object) -> object:
    return {k: _copy(v) for k, v in value.items()} if isinstance(value, Mapping) else value


def settings(spec: Mapping, prefix: str = "") -> Iterator[tuple[str, object]]:
    """(dotted key, value) of every setting."""
    for key, value in spec.items():
        if isinstance(value, Mapping):
            yield from settings(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


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
