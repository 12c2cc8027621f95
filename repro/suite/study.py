"""What is run: studies, their stages, grids and scales, and the identity of every run. No torch."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from repro.errors import UserError
from repro.files import canonical_json
from repro.suite import search
from repro.suite.search import Move
from repro.suite.spec import lookup, override

SCALES = ("smoke", "reduced", "paper")
# Scales whose runs are long enough for a claim about training; smoke proves the pipeline only.
TRAINED_SCALES = ("reduced", "paper")
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
    """The value at `key` of a point a search asks for: the slot-th of `repro.suite.search.missing`.

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


def octaves(low: float, high: float, step: float = 1.0) -> list[float]:
    """2^low, 2^(low + step), ..., 2^high: the values of an axis that is searched in log scale."""
    return [2.0 ** (low + i * step) for i in range(round((high - low) / step) + 1)]


REFERENCES = (Best, Checkpoint, Neighbour)


def final(result: Mapping, metric: str) -> float:
    """A result's metric at its last evaluation, infinite where it diverged or was not made."""
    value = float(result["records"][-1].get(metric, math.inf)) if result["records"] else math.inf
    return value if math.isfinite(value) else math.inf


def _mean(results: Sequence[Mapping], metric: str) -> float:
    return sum(final(result, metric) for result in results) / len(results)


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

    def settings(self, scale: str) -> dict:
        """The task's settings at a scale, before any axis of the grid is set."""
        return override(self.spec, self.scales[scale].spec)

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
