"""How a study becomes jobs: its grid's runs, and what they take from upstream stages. No torch."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from repro.core.population import Setting
from repro.core.runs import SEED, Among, Run, Upstream
from repro.core.spec import holds_settings, lookup, override, settings
from repro.core.study import PROPOSAL, REFERENCES, Checkpoint, Proposal, Reference, Study
from repro.errors import UserError
from repro.files import canonical_json, sha256


@dataclass(frozen=True)
class Cell:
    """The runs that one job carries out, and the file with their results.

    study: name of the stage or round (`names.StageName`). axes: those that all runs have in common.
    """

    study: str
    axes: Mapping[str, Any]
    runs: tuple[Run, ...]

    @cached_property
    def id(self) -> str:
        """SHA-256 of the runs' ids."""
        return sha256(canonical_json([run.id for run in self.runs]))

    @cached_property
    def name(self) -> str:
        """The file's stem, `<axes>-<id>`: the axes for a reader, the id for the suite.

        Without commas: on a cluster, Snakemake separates a job's wildcards at commas.
        """
        described = "+".join(f"{key.split('.')[-1]}={_short(v)}" for key, v in self.axes.items())
        return f"{described or 'all'}-{self.id[:12]}"


@dataclass(frozen=True)
class Choice:
    """What a stage takes from more cells of an earlier one than a job of it reads: one job reads
    them all and writes what is taken.

    study: the stage or round that takes it. taken: each once, all from the same runs. cells: those
    that hold these runs.
    """

    study: str
    taken: tuple[Upstream, ...]
    cells: tuple[Cell, ...]

    @property
    def runs(self) -> Among:
        """The runs to choose from."""
        return self.taken[0].runs

    @cached_property
    def id(self) -> str:
        """SHA-256 of what is taken, and of the ids of the cells it is taken from."""
        asked = [each.identity for each in self.taken]
        return sha256(canonical_json([asked, [cell.id for cell in self.cells]]))

    @property
    def name(self) -> str:
        """The file's stem."""
        return self.id[:12]


def _short(value: object) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return "".join(c if c.isalnum() or c in ".+-_" else "_" for c in text)


def _flat(axis: str, value: object) -> dict[str, object]:
    """The settings that a value of an axis stands for: several where it is a mapping, or drawn by a
    seed."""
    if isinstance(value, Setting):
        return {axis: value.seed, **value.settings}
    return dict(value) if isinstance(value, Mapping) else {axis: value}


def _named(axis: str, value: object) -> dict[str, object]:
    """What a value of an axis is called: its settings as of `_flat`, of a search's proposal its
    number instead of its coordinates, of what a seed drew the levels."""
    if isinstance(value, Setting):
        return {axis: value.seed, **value.levels}
    flat = _flat(axis, value)
    proposals = [value for value in flat.values() if isinstance(value, Proposal)]
    return {axis: proposals[0].number} if proposals else flat


def _merge(form: Callable[[str, object], dict], point: Sequence[tuple[str, object]]) -> dict:
    """One mapping of a grid point's (axis, value) pairs, each in this form (`_flat`, `_named`)."""
    return {key: value for axis, chosen in point for key, value in form(axis, chosen).items()}


class Upstreams:
    """The runs of upstream stages, looked up by their axes: a sweep's rounds ask thousands of times
    for a few of thousands. runs_of: name of a stage -> its runs."""

    def __init__(self, runs_of: Callable[[str], list[Run]]):
        self._runs_of = runs_of
        self._index: dict[tuple, dict[tuple, dict[tuple, list[tuple[int, Run]]]]] = {}
        self._found: dict[tuple, Among] = {}

    def agreeing(self, stage: str, axes: Mapping, free: set[str]) -> Among:
        """A stage's runs, in their order, that agree with `axes` on all that both have, but for
        those in `free`."""
        key = stage, frozenset(free), frozenset(axes)
        if key not in self._index:
            # Axes in common -> their values -> runs, with their places in the stage.
            self._index[key] = {}
            for place, run in enumerate(self._runs_of(stage)):
                common = tuple(a for a in run.axes if a in axes and a not in free)
                by_values = self._index[key].setdefault(common, {})
                by_values.setdefault(_values(run.axes, common), []).append((place, run))
        index = self._index[key]
        wanted = tuple(_values(axes, common) for common in index)
        if (key, wanted) not in self._found:
            found = [
                pair
                for values, by_values in zip(wanted, index.values(), strict=True)
                for pair in by_values.get(values, ())
            ]
            ordered = sorted(found, key=lambda pair: pair[0])
            self._found[key, wanted] = Among(run for _, run in ordered)
        return self._found[key, wanted]


def _values(axes: Mapping, names: tuple[str, ...]) -> tuple:
    """The values of some axes, as a key."""
    return tuple(tuple(v) if isinstance(v := axes[name], list) else v for name in names)


def _refers(value: object) -> bool:
    """Whether a value of a spec is a reference, or has one among its settings."""
    if holds_settings(value):
        return any(isinstance(each, REFERENCES) for _, each in settings(value))
    return isinstance(value, REFERENCES)


def _places(base: Mapping, grid: Mapping[str, Sequence]) -> list[str]:
    """The dotted keys at or below which a study's specs may have references, in the order of their
    settings: a sweep has thousands of specs, and nobody looks for them everywhere in each.

    base: settings before an axis is set.
    """
    changed: dict[str, bool] = {}  # what axes set -> whether to a reference
    for axis, values in grid.items():
        for key, value in (pair for each in values for pair in _flat(axis, each).items()):
            changed[key] = changed.get(key, False) or _refers(value)
    places: dict[str, None] = {}
    for key, value in settings(base):
        above = [other for other in changed if key == other or key.startswith(f"{other}.")]
        if isinstance(value, REFERENCES) or any(changed[other] for other in above):
            places[min([key, *above], key=len)] = None
    if all(_covers(places, key) for key, refers in changed.items() if refers):
        return [*places]
    return [*base]  # one is set where the base has a mapping without settings


def _covers(places: Iterable[str], key: str) -> bool:
    return any(key == place or key.startswith(f"{place}.") for place in places)


def _references(spec: Mapping, places: Sequence[str]) -> Iterator[tuple[str, Reference]]:
    """(dotted key, reference) of a spec's references, in the order of its settings."""
    for place in places:
        value = lookup(spec, place)
        if isinstance(value, REFERENCES):
            yield place, value
        elif holds_settings(value):
            yield from (
                (key, each)
                for key, each in settings(value, f"{place}.")
                if isinstance(each, REFERENCES)
            )


def bind_upstream(
    name: str,
    spec: Mapping,
    axes: Mapping,
    upstreams: Upstreams,
    references: Iterable[tuple[str, Reference]],
) -> dict[str, Upstream]:
    """Dotted key -> reference of a run's spec, bound to the upstream runs that it chooses from.

    axes: those of the run. references: those of its spec, each with its key.
    Raises UserError, naming the study, if no run fits, or several fit a reference to a single one.
    """
    bound = {}
    for key, reference in references:
        # An upstream run fits if it agrees on every axis that both have, such as the width. Axes
        # that are searched or averaged over may differ; a joined axis is compared with a setting.
        join = reference.join if isinstance(reference, Checkpoint) else {}
        joined = {axis: lookup(spec, path) for axis, path in join.items()}
        free = {*reference.over, PROPOSAL} - joined.keys()
        fitting = upstreams.agreeing(reference.stage, {**axes, **joined}, free)
        # An ambiguous checkpoint is a mistake in the study: report it before any training.
        only = isinstance(reference, Checkpoint) and reference.pick == "only"
        if not fitting or (only and len(fitting) > 1):
            raise UserError(
                f"study {name}: {key} takes from stage {reference.stage}, where "
                f"{len(fitting)} runs agree with {dict(axes)}"
            )
        bound[key] = Upstream(reference, fitting)
    return bound


def cells(
    name: str,
    study: Study,
    scale: str,
    task_version: int,
    datasets: Mapping,
    upstream_runs: Callable[[str], list[Run]] = lambda stage: [],
    identity: Callable[[Mapping], Mapping] = dict,
) -> list[Cell]:
    """The cells of a study at a scale, in the grid's order; [] if an axis of the grid is empty.

    name: of the stage. task_version, datasets: what enters the runs' ids besides their settings.
    upstream_runs: name of an upstream stage -> its runs. identity: as in `Run`.
    Raises UserError if two points of the grid are the same run, if no upstream run fits a
    reference, or several fit a reference to a single one.
    """
    chosen = study.at(scale)
    grid = {axis: tuple(chosen.grid.get(axis, values)) for axis, values in study.grid.items()}
    if chosen.population:
        grid[SEED] = tuple(chosen.population.drawn(grid[SEED]))
    base = study.settings(scale)
    upstreams, places = Upstreams(upstream_runs), _places(base, grid)

    def points(axes: Sequence[str]) -> Iterator[list[tuple[str, object]]]:
        for values in itertools.product(*(grid[axis] for axis in axes)):
            yield list(zip(axes, values, strict=True))

    # The axes between jobs are the outer loop, those within a job the inner one, so that how runs
    # share jobs changes their order and nothing else.
    between = [axis for axis in grid if axis not in chosen.same_job]
    within = [axis for axis in grid if axis in chosen.same_job]
    result, seen = [], set()
    first: dict[tuple[int, ...], Run] = {}  # of a grid point, whatever its seed
    for outer in points(between):
        runs = []
        for inner in points(within):
            point = outer + inner
            seed = {axis: value for axis, value in point if axis == SEED and type(value) is int}
            rest = tuple(id(value) for axis, value in point if axis not in seed)
            if rest in first:
                other = first[rest]
                axes, spec = {**other.axes, **seed}, {**other.spec, **seed}
                references = [(key, each.reference) for key, each in other.upstream.items()]
            else:
                axes = _merge(_named, point)
                # First the axes, then the references, for a proposal is both.
                spec = override(base, _merge(_flat, point))
                references = [*_references(spec, places)]
            bound = bind_upstream(name, spec, axes, upstreams, references)
            spec = override(spec, bound) if bound else spec
            run = Run(study.task, task_version, spec, axes, datasets, identity, chosen.window)
            # The run need not look for them again.
            vars(run).update(upstream=bound, form=first.setdefault(rest, run).form)
            # A run in the grid twice would be trained once and counted as two seeds.
            if run.id in seen:
                raise UserError(f"study {name}, scale {scale}: {axes} is in the grid twice")
            seen.add(run.id)
            runs.append(run)
        if runs:
            result.append(Cell(name, _merge(_named, outer), tuple(runs)))
    return result
