"""What is run: studies, their stages, grids and scales, and the identity of every run. No torch."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from repro.errors import UserError
from repro.files import canonical_json
from repro.suite import search
from repro.suite.search import Offset
from repro.suite.spec import lookup, override

SCALES = ("smoke", "reduced", "paper")
# Scales whose runs are long enough for a claim about training; smoke proves the pipeline only.
TRAINED_SCALES = ("reduced", "paper")
PROPOSAL = "slot"  # the axis of a search's round, which ids and records know by this name


@dataclass(frozen=True)
class Scale:
    """What one scale changes: spec entries, whole axes of the grid, and how runs share a job.

    same_job: the axes whose runs are trained one after another in one process. It is no part of a
        run's identity: the same runs may be cut into jobs another way.
    rounds: how often a search may grow its grid.
    """

    spec: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence] = field(default_factory=dict)
    same_job: tuple[str, ...] = ()
    rounds: int = 0


@dataclass(frozen=True)
class Best:
    """A tuned value: setting `key` of the run of an earlier stage with the lowest final `metric`.

    It compares the runs of `stage` that have the same axis values as the run asking; the axes named
    in `over` may differ. Runs that differ in nothing but the seed are averaged; a diverged one
    counts as infinite.
    where: only runs with these settings.
    recorded: return `key` from the best run's last record instead of from its settings.
    """

    stage: str
    key: str
    metric: str = "train_loss"
    over: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    recorded: bool = False

    def choose(self, results: Sequence[Mapping]) -> Any:
        """The value, from the results of the candidates; raises UserError when all diverged."""
        points: dict[bytes, list[Mapping]] = {}
        for result in results:
            if all(lookup(result["spec"], key) == value for key, value in self.where.items()):
                axes = result["axes"] | result.get("tuned", {})
                axes = {k: v for k, v in axes.items() if k not in ("seed", PROPOSAL)}
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

    It is one of the runs of `stage` that have the same axis values as the run asking; the axes
    named in `over` may differ.
    join: axis of those runs -> the setting of the run asking that must equal it.
    pick: the run with the "lowest" or the "median" final `metric`; or the "only" one, and then it
        is an error, when jobs are listed, if there are several.
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
class Proposal:
    """One coordinate (`key`) of the `number`-th grid point that this round of a search proposes.

    None if the search has converged or proposed fewer points; the run is then recorded as skipped.
    stage: the search's; the results of all its earlier rounds are read. axes: the keys searched.
    neighbourhood: which neighbours are proposed, all if None.
    """

    stage: str
    key: str
    axes: tuple[str, ...]
    number: int
    metric: str
    over: tuple[str, ...] = ("seed",)
    neighbourhood: tuple[Offset, ...] | None = None

    def choose(self, results: Sequence[Mapping]) -> float | None:
        """The value, from the results of all earlier rounds."""
        points: dict[search.Point, list[Mapping]] = {}
        for result in results:
            if result["records"]:
                point = tuple(lookup(result["spec"], axis) for axis in self.axes)
                points.setdefault(point, []).append(result)
        losses = {point: _mean(runs, self.metric) for point, runs in points.items()}
        proposed = search.untried_neighbours(losses, self.neighbourhood)
        if self.number >= len(proposed):
            return None
        return proposed[self.number][self.axes.index(self.key)]


def octaves(low: float, high: float, step: float = 1.0) -> list[float]:
    """2^low, 2^(low + step), ..., 2^high: the values of an axis that is searched in log scale."""
    return [2.0 ** (low + i * step) for i in range(round((high - low) / step) + 1)]


Reference = Best | Checkpoint | Proposal
REFERENCES = (Best, Checkpoint, Proposal)


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
    neighbourhood: which neighbours of that run the search makes, as steps along each axis of
        `search`, all if None.
    """

    task: str
    spec: Mapping[str, Any]
    grid: Mapping[str, Sequence]
    scales: Mapping[str, Scale]
    search: tuple[str, ...] = ()
    metric: str = "train_loss"
    neighbourhood: tuple[Offset, ...] | None = None

    def __post_init__(self):
        if set(self.scales) != set(SCALES):
            raise ValueError(f"a study states each of {SCALES}, not {tuple(self.scales)}")
        for name, scale in self.scales.items():
            unknown = (set(scale.grid) | set(scale.same_job)) - set(self.grid)
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
        """A round of the search of this study, which is `stage`: a run for each proposal."""
        neighbourhood = self.neighbourhood or search.full_neighbourhood(len(self.search))

        def proposal(key: str, number: int) -> Proposal:
            fixed = (self.search, number, self.metric)
            return Proposal(stage, key, *fixed, neighbourhood=self.neighbourhood)

        proposals = [
            {key: proposal(key, number) for key in self.search}
            for number in range(len(neighbourhood))
        ]

        def without_searched(grid: Mapping) -> dict:
            return {axis: values for axis, values in grid.items() if axis not in self.search}

        # One axis, the number of the proposal, takes the place of all that are searched, also among
        # those that share a job.
        scales = {}
        for name, scale in self.scales.items():
            same_job = tuple(axis for axis in scale.same_job if axis not in self.search)
            if len(same_job) < len(scale.same_job):
                same_job += (PROPOSAL,)
            scales[name] = Scale(scale.spec, without_searched(scale.grid), same_job)
        grid = {**without_searched(self.grid), PROPOSAL: proposals}
        return Study(self.task, self.spec, grid, scales)
