"""What the author of a study writes: task, grid, scales, references to other stages. No torch."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from repro.core import search
from repro.core.population import Population
from repro.core.search import Offset
from repro.core.spec import lookup, override
from repro.errors import UserError
from repro.files import canonical_json

OVERNIGHT, WORKSTATION = "overnight", "workstation"
SCALES = ("smoke", "reduced", OVERNIGHT, WORKSTATION, "paper")
# Scales that a study may lack.
OPTIONAL_SCALES = (OVERNIGHT, WORKSTATION)
# Scales for a GPU: their cost is printed first, and must be allowed.
GPU_SCALES = (WORKSTATION, "paper")
# Scales whose runs are long enough for a claim about training; smoke only tests the pipeline.
TRAINED_SCALES = ("reduced", OVERNIGHT, *GPU_SCALES)
# The axis of a search's round: the numbers of its proposals.
PROPOSAL = "proposal"


@dataclass(frozen=True)
class Scale:
    """What one scale changes: spec, dotted key -> value; grid, axis -> all its values.

    same_job: axes; runs that differ only in these are trained one after another by one job. This is
        not part of a run's identity, so the same runs can be divided into jobs in another way. At a
        scale for GPUs short jobs are joined besides (`filling.filled`).
    rounds: how many times a search may extend its grid.
    window: over how many of its last steps a run's final losses are a mean, wherever they are
        judged or chosen by; 0: since its last evaluation. Apart from how often a run is evaluated,
        and no part of its identity.
    population: the settings that its seeds draw; they win over spec and grid.
    """

    spec: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence] = field(default_factory=dict)
    same_job: tuple[str, ...] = ()
    rounds: int = 0
    window: int = 0
    population: Population | None = None


@dataclass(frozen=True)
class Best:
    """A tuned value: setting `key` of the run of an earlier stage with the lowest `final` metric.

    Compared are the runs of `stage` that have the same axis values as the run that uses the value;
    the axes named in `over` may differ. Runs that differ only in the seed are averaged; a diverged
    one counts as infinite.
    where: dotted key -> value; only runs with these settings are compared.
    recorded: take `key` from the best run's last record instead of from its settings.
    """

    stage: str
    key: str
    metric: str = "train_loss"
    over: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    recorded: bool = False

    def choose(self, results: Sequence[Mapping]) -> Any:
        """The value, from the results of the runs to compare; raises UserError if all diverged."""
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

    To choose from are the runs of `stage` that have the same axis values as the run that starts
    from the checkpoint; the axes named in `over` may differ.
    join: axis of those runs -> dotted key of the starting run's setting that must equal it.
    pick: the run with the "lowest" or the "median" final `metric`; or the "only" one: several are
        then an error, reported before anything runs.
    """

    stage: str
    pick: str = "only"
    metric: str = "train_loss"
    over: tuple[str, ...] = ()
    join: Mapping[str, str] = field(default_factory=dict)

    def choose(self, results: Sequence[Mapping]) -> Mapping:
        """{"id", "file", "sha256", "spec"} of the chosen run; raises UserError if it diverged."""
        trained = [result for result in results if result["records"]]  # not skipped
        ranked = sorted(trained, key=lambda result: final(result, self.metric))
        chosen = ranked[(len(ranked) - 1) // 2 if self.pick == "median" else 0]
        if not math.isfinite(final(chosen, self.metric)):
            raise UserError(f"stage {self.stage}: the run to start from diverged")
        return {key: chosen[key] for key in ("id", "file", "sha256", "spec")}


@dataclass(frozen=True)
class Proposal:
    """One coordinate (`key`) of the `number`-th grid point that this round of a search proposes.

    None if the search has converged or proposes fewer points; the run is then recorded as skipped.
    stage: the search, of which all earlier rounds are read. axes: the keys that are searched.
    metric: what is minimized, its final value averaged over the axes in `over`.
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
        """The coordinate, from the results of all earlier rounds."""
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
    """2^low, 2^(low + step), ..., 2^high: the values of an axis that is searched on a log scale."""
    return [2.0 ** (low + i * step) for i in range(round((high - low) / step) + 1)]


def shared_out(values: Sequence[Any], among: int) -> list[list[Any]]:
    """Values in their order, shared out among so many, which are in an order too: the first has the
    first and the last the last. Of fewer values than that some have none."""
    parts: list[list[Any]] = [[] for _ in range(among)]
    for place, value in enumerate(values if among else ()):
        parts[round(place * (among - 1) / max(1, len(values) - 1))].append(value)
    return parts


def only_one(widths: Sequence[float]) -> float:
    """The width of what has one; raises UserError where there are several."""
    if len(widths) > 1:
        raise UserError("--widths: it has one width, the target's; give one")
    return widths[0]


def whole(width: float, what: str) -> int:
    """A width in units; raises UserError, naming it, where it is none."""
    if width != int(width) or width < 1:
        raise UserError(f"--widths: {what} would have {width:g} units, which must be whole")
    return int(width)


Reference = Best | Checkpoint | Proposal
REFERENCES = (Best, Checkpoint, Proposal)


def in_window(steps: Sequence[float], window: int) -> list[float]:
    """What each of a run's last evaluations counts in a mean over its last `window` steps, the
    newest last; their sum is 1, and of a window of 0 there is the last alone.

    steps: of all its evaluations, increasing. What an evaluation records holds since the one
    before.
    """
    begin, shares = steps[-1] - window, list[float]()
    for last, before in zip(reversed(steps), [*reversed(steps[:-1]), 0], strict=True):
        if shares and last <= begin:
            break
        shares.append(max(last - max(before, begin), 0))
    return [share / sum(shares) for share in reversed(shares)] if sum(shares) else [1.0]


def final(result: Mapping, metric: str) -> float:
    """A run's metric at its end, a mean over its study's window; infinite if it diverged or was
    skipped. result: as its cell has it, with the "window" of its study where that has one."""
    records = result["records"]
    if not records:
        return math.inf
    window = result.get("window", 0)
    shares = in_window([record["step"] for record in records], window) if window else [1.0]
    values = [float(record.get(metric, math.inf)) for record in records[-len(shares) :]]
    value = sum(share * value for share, value in zip(shares, values, strict=True))
    return value if math.isfinite(value) else math.inf


def _mean(results: Sequence[Mapping], metric: str) -> float:
    return sum(final(result, metric) for result in results) / len(results)


@dataclass(frozen=True)
class Study:
    """A task run over a grid. A file of studies/ has one as STUDY, or several as STAGES by name.
    Where `studies` makes them, SCALES has what is run at each scale, and stages makes runs of it.

    A stage's settings may be a Best or Checkpoint of an earlier stage in the same STAGES.

    task: a name in `repro.tasks.TASKS`.
    spec: the task's settings at paper scale; dotted keys reach into nested settings.
    grid: axis -> values; the runs are the product of the axes. An axis is a (dotted) key of the
        spec, or any name whose values are mappings of several keys that change together.
    scales: one Scale for each of `SCALES`; it may lack those of `OPTIONAL_SCALES`, where it then
        has no runs and its figures are refused.
    search: the axes along which the grid is extended, for as many rounds as a scale allows, until
        the run with the lowest final `metric` no longer lies at its edge (`repro.core.search`).
        Later stages choose among the runs of all rounds.
    neighbourhood: which neighbours of that run a round tries, as steps along each axis of `search`;
        all if None.
    chosen_after_seeing: which settings of the scales below the paper's were chosen after seeing
        what a claim measures, and what was seen; printed wherever the verdict is.
    departures: how its paper scale differs from what the paper prints, a sentence each; its pages
        at that scale print them.
    """

    task: str
    spec: Mapping[str, Any]
    grid: Mapping[str, Sequence]
    scales: Mapping[str, Scale]
    search: tuple[str, ...] = ()
    metric: str = "train_loss"
    neighbourhood: tuple[Offset, ...] | None = None
    chosen_after_seeing: str = ""
    departures: tuple[str, ...] = ()

    def __post_init__(self):
        if {*self.scales, *OPTIONAL_SCALES} != {*SCALES}:
            raise ValueError(f"a study states each of {SCALES}, not {tuple(self.scales)}")
        for name, scale in self.scales.items():
            unknown = (set(scale.grid) | set(scale.same_job)) - set(self.grid)
            if unknown:
                raise ValueError(f"scale {name} names axes outside the grid: {sorted(unknown)}")

    @property
    def rounds(self) -> int:
        """The largest number of rounds that any scale allows; 0 if nothing is searched."""
        return max(scale.rounds for scale in self.scales.values()) if self.search else 0

    def at(self, scale: str) -> Scale:
        """What a scale changes; raises UserError if the study lacks it."""
        if scale not in self.scales:
            raise UserError(f"has no {scale} scale, choose from {', '.join(self.scales)}")
        return self.scales[scale]

    def settings(self, scale: str) -> dict:
        """The task's settings at a scale, before any axis of the grid is set."""
        return override(self.spec, self.at(scale).spec)

    def round(self, stage: str) -> "Study":
        """A round of this study's search, a study with a run for each proposal. stage: its name."""
        neighbourhood = self.neighbourhood or search.full_neighbourhood(len(self.search))

        # Where seeds draw settings, each has a search of its own.
        alone = any(scale.population for scale in self.scales.values())
        over = () if alone else ("seed",)

        def proposal(key: str, number: int) -> Proposal:
            return Proposal(stage, key, self.search, number, self.metric, over, self.neighbourhood)

        proposals = [
            {key: proposal(key, number) for key in self.search}
            for number in range(len(neighbourhood))
        ]

        def without_searched(grid: Mapping) -> dict:
            return {axis: values for axis, values in grid.items() if axis not in self.search}

        # The number of the proposal is the one axis that replaces all searched ones, in same_job
        # too.
        scales = {}
        for name, scale in self.scales.items():
            same_job = tuple(axis for axis in scale.same_job if axis not in self.search)
            if len(same_job) < len(scale.same_job):
                same_job += (PROPOSAL,)
            scales[name] = replace(
                scale, grid=without_searched(scale.grid), same_job=same_job, rounds=0
            )
        grid = {**without_searched(self.grid), PROPOSAL: proposals}
        return Study(self.task, self.spec, grid, scales)


@dataclass(frozen=True)
class Stage(Scale):
    """A stage at one scale, which `studies` joins with its others.

    changes: to the settings that the stages share, the same at every scale. search, metric,
        neighbourhood: as of `Study`. unseen: whether none of its settings was chosen after seeing
        results, though others' were.
    """

    changes: Mapping[str, Any] = field(default_factory=dict)
    search: tuple[str, ...] = ()
    metric: str = "train_loss"
    neighbourhood: tuple[Offset, ...] | None = None
    unseen: bool = False


Design = TypeVar("Design")  # what a file of studies/ runs at one scale


def studies(
    task: str,
    spec: Mapping[str, Any],
    stages: Callable[[Design], Mapping[str, Stage]],
    scales: Mapping[str, Design],
    *,
    chosen_after_seeing: str = "",
    departures: tuple[str, ...] = (),
) -> dict[str, Study]:
    """Stage name -> Study: the stages of a design, joined over the designs of all scales. A scale
    whose design lacks one has no runs of it.

    spec: settings that all stages share. The last two: as of `Study`.
    """
    made = {name: stages(design) for name, design in scales.items()}
    return {
        stage: Study(
            task,
            {**spec, **whole.changes},
            whole.grid,
            {
                name: found.get(stage, Scale(grid=dict.fromkeys(whole.grid, ())))
                for name, found in made.items()
            },
            whole.search,
            whole.metric,
            whole.neighbourhood,
            "" if whole.unseen else chosen_after_seeing,
            departures,
        )
        for stage, whole in made["paper"].items()
    }


def on_data(study: Study, datasets: Collection[str], identity: Callable[[str], Mapping]) -> Study:
    """A study whose model has as many inputs and classes as a user's table, which its identity has
    under `shape`. datasets: those that may be a user's."""
    data = study.spec.get("data")
    name = data.get("dataset", "") if isinstance(data, Mapping) else ""
    shape = identity(name).get("shape", {}) if name in datasets else {}
    own = {f"model.{key}": value for key, value in shape.items()}
    return replace(study, spec=override(study.spec, own)) if own else study
