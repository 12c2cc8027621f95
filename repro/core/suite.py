"""The suite under one configuration: its jobs, what they read, and where files are. No torch."""

from __future__ import annotations

import atexit
import gc
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from repro.core import discovery
from repro.core.catalog import figure_names, matching_figures
from repro.core.config import Config, configuration, data_label
from repro.core.discovery import (
    broken_papers,
    broken_studies,
    check_scale,
    dataset,
    figure_stages,
    keeps_checkpoints,
    stages,
    study,
)
from repro.core.names import StageName
from repro.core.paths import Paths
from repro.core.study import GPU_SCALES, Study, on_data
from repro.data.needs import TOKENIZATION, Need, Tokens
from repro.data.source import Source
from repro.errors import UserError
from repro.files import canonical_json
from repro.lineage.checkout import misplaced

# A plan is made where one is asked for: who looks up what is on record loads no task.
if TYPE_CHECKING:
    from repro.core.runs import Run, Upstream
    from repro.core.schedule import Cell, Choice
    from repro.tasks import Task

# Files of an earlier stage that a job reads itself, in milliseconds; what is taken from more is
# chosen by a job of its own, in about half a second, for all that take it.
FEW = 8


def keep_plans() -> None:
    """Have Python look for garbage a hundred times less often, and not as it ends. A plan is a
    million objects that all stay: to look through them takes a fifth of a dry run."""
    gc.set_threshold(100_000, 20, 100)
    atexit.register(gc.freeze)


def load(words: list[str]) -> Suite:
    """The suite under the configuration of `configuration`."""
    return Suite(configuration(words))


class Suite:
    """Studies, figures and datasets under one configuration: cells, costs, paths."""

    def __init__(self, config: Config):
        self.config = config
        if config.tried:
            discovery.put(config.tried.studies(config.scale))
        self._identities: dict[str, Mapping] = {}
        self.label = data_label(config, {name: self.identity(name) for name in config.sources})
        self.paths = Paths(config.scale, self.label, self.identity)
        self._cells: dict[str, list[Cell]] = {}
        self._by_name: dict[str, dict[str, Cell]] = {}
        self._owner: dict[tuple[str, str], Mapping[str, Cell]] = {}
        self._holders: dict[tuple, tuple[Cell, ...]] = {}
        self._choices: dict[str, Mapping[tuple[str, ...], Choice]] = {}
        self._faults: dict[str, str] = {}
        self._of_figure: dict[str, dict[str, list[Cell]]] = {}
        self._datasets: dict[str, list[str]] = {}
        self.keys: dict[str, str] = {}  # of figures (`repro.products.picture`)

    def command(self, words: str, figures: Sequence[str] = (), program: str = "snakemake") -> str:
        """A shell command under this configuration, by default that which builds a target.

        figures: those it is of, where the target does not name them.
        """
        default = load([]).config
        changed = [word for word in self.config.arguments() if word not in default.arguments()]
        if figures and (*figures,) != default.figures:
            changed.append(f"figures={','.join(figures)}")
        options = f" --config {shlex.join(changed)}" if changed else ""
        return f"uv run {program} {words}{options}"

    def source(self, dataset_name: str) -> Source:
        """Where a dataset comes from under this configuration."""
        return self.config.source(dataset_name)

    def identity(self, dataset_name: str) -> Mapping:
        """A dataset's identity (source, revision, digest), part of the ids of runs that read it."""
        return self._identities.setdefault(
            dataset_name, dataset(dataset_name).identity(self.source(dataset_name))
        )

    def study(self, name: str) -> Study:
        """A stage or round by its name, checked at this scale, with an entry in it."""
        origin = StageName.parse(name)
        check_scale(origin.module, self.config.scale)
        if self.config.entry is None or not self.config.entry.has_runs(origin):
            return study(name)
        entered = self.config.entry.entered(study(str(origin.at_round(0))))
        return entered.round(origin.stage) if origin.round else entered

    def cells(self, study_name: str) -> list[Cell]:
        """The cells of a stage or round (`names.StageName`); [] for a round this scale lacks."""
        if study_name in self._cells:
            return self._cells[study_name]
        origin = StageName.parse(study_name)
        if self.config.entry and not self.config.entry.has_runs(origin):
            return []
        searched = self.study(str(origin.at_round(0)))
        try:
            rounds = searched.at(self.config.scale).rounds
        except UserError as error:
            raise UserError(f"studies/{origin.module}.py: {error}") from None
        if origin.round > rounds:
            return []
        from repro.core.schedule import cells

        chosen = on_data(self.study(study_name), self.config.sources, self.identity)
        task = _task(chosen.task)
        identities = {
            need.dataset: {
                **self.identity(need.dataset),
                **({"tokenization": TOKENIZATION} if isinstance(need, Tokens) else {}),
            }
            for need in task.needs(chosen.settings(self.config.scale))
        }
        found = cells(
            study_name,
            chosen,
            self.config.scale,
            task.version,
            identities,
            lambda stage: [r for c in self.upstream_cells(study_name, stage) for r in c.runs],
            task.identity,
        )
        if self.config.scale in GPU_SCALES:
            from repro.core.filling import filled

            found = filled(found)
        self._cells[study_name] = found
        return self._cells[study_name]

    def upstream_cells(self, study_name: str, stage: str) -> list[Cell]:
        """The cells that `study_name` may take from in an earlier stage, all its rounds; if
        `study_name` is a round of that stage itself, those of the rounds before it."""
        names = stages(str(replace(StageName.parse(study_name), stage=stage, round=0)))
        if study_name in names:
            names = names[: names.index(study_name)]
        return [cell for name in names for cell in self.cells(name)]

    def cell(self, study_name: str, cell_name: str) -> Cell:
        """One cell by name; raises UserError if this configuration has none of that name."""
        if study_name not in self._by_name:
            self._by_name[study_name] = {cell.name: cell for cell in self.cells(study_name)}
        if cell_name not in self._by_name[study_name]:
            raise UserError(f"study {study_name} has no cell {cell_name} under this configuration")
        return self._by_name[study_name][cell_name]

    def upstream(self, cell: Cell) -> dict[str, Cell]:
        """Run id -> its cell, for every upstream run that a cell's runs may take something from."""
        owners = [(self._owners(cell.study, u.reference.stage), u) for u in _taken(cell)]
        return {name: owner[name] for owner, taken in owners for name in taken.runs.ids}

    def _owners(self, study_name: str, stage: str) -> Mapping[str, Cell]:
        """Run id -> its cell, for a stage of the same study and all its rounds."""
        key = StageName.parse(study_name).module, stage
        if key not in self._owner:
            name = str(replace(StageName.parse(study_name), stage=stage, round=0))
            every = (cell for round_name in stages(name) for cell in self.cells(round_name))
            self._owner[key] = {run.id: cell for cell in every for run in cell.runs}
        return self._owner[key]

    def holders(self, study_name: str, upstream: Upstream) -> tuple[Cell, ...]:
        """The cells, each once, of the runs that something of a stage is chosen from."""
        stage = upstream.reference.stage
        key = StageName.parse(study_name).module, stage, upstream.runs.ids
        if key not in self._holders:
            owners = self._owners(study_name, stage)
            found = {owners[name].id: owners[name] for name in upstream.runs.ids}
            self._holders[key] = tuple(found.values())
        return self._holders[key]

    def choices(self, study_name: str) -> Mapping[tuple[str, ...], Choice]:
        """Ids of the runs to choose from -> the choice, for all that a stage or round takes from
        more than FEW cells."""
        from repro.core.schedule import Choice

        if study_name not in self._choices:
            asked: dict[tuple[str, ...], dict[bytes, Upstream]] = {}
            for cell in self.cells(study_name):
                for each in _taken(cell):
                    if len(self.holders(study_name, each)) > FEW:
                        name = canonical_json(each.identity)
                        asked.setdefault(each.runs.ids, {}).setdefault(name, each)
            self._choices[study_name] = {
                ids: Choice(study_name, (*taken.values(),), self.holders(study_name, first))
                for ids, taken in asked.items()
                for first in [next(iter(taken.values()))]
            }
        return self._choices[study_name]

    def choices_of(self, cell: Cell) -> list[Choice]:
        """The choices that a cell's job reads in the place of cells."""
        choices = self.choices(cell.study)
        wanted = dict.fromkeys(each.runs.ids for each in _taken(cell))
        return [choices[ids] for ids in wanted if ids in choices]

    def choice(self, study_name: str, choice_name: str) -> Choice:
        """One choice by name; raises UserError if this configuration has none of that name."""
        for choice in self.choices(study_name).values():
            if choice.name == choice_name:
                return choice
        raise UserError(f"study {study_name} has no choice {choice_name} under this configuration")

    def with_upstream(self, cells: Iterable[Cell]) -> list[Cell]:
        """Some cells and all that they take something from, directly or not, each once."""
        found: dict[str, Cell] = {}
        asked: set[tuple] = set()
        waiting = [*cells]
        while waiting:
            cell = waiting.pop()
            if cell.id not in found:
                found[cell.id] = cell
                for each in _taken(cell):
                    key = cell.study, each.reference.stage, each.runs.ids
                    if key not in asked:
                        asked.add(key)
                        waiting += self.holders(cell.study, each)
        return [*found.values()]

    def upstream_paths(self, cell: Cell) -> list[Path]:
        """The files and folders of upstream cells that a cell's job reads itself: those that nobody
        chooses from for it."""
        choices = self.choices(cell.study)
        direct = {
            other.id: other
            for each in _taken(cell)
            if each.runs.ids not in choices
            for other in self.holders(cell.study, each)
        }
        return self.files(direct.values())

    def choice_paths(self, cell: Cell) -> list[Path]:
        """The files of the choices that a cell's job reads. Of a cell that is there none that is
        not: it came from elsewhere, and Snakemake would make both anew."""
        chosen = [self.paths.choice(choice) for choice in self.choices_of(cell)]
        there = bool(chosen) and self.paths.cell(cell).exists()
        return [path for path in chosen if path.exists() or not there]

    def files(self, cells: Iterable[Cell]) -> list[Path]:
        """The files of some cells, and the folders of the checkpoints that others start from."""
        paths = []
        for cell in cells:
            paths.append(self.paths.cell(cell))
            if keeps_checkpoints(cell.study):
                paths.append(self.paths.checkpoints(cell))
        return paths

    def needs(self, cell: Cell) -> dict[Need, Path]:
        """What data a cell's runs read -> the manifest of that data."""
        needs = {need: None for run in cell.runs for need in _task(run.task).needs(run.spec)}
        return {need: self.paths.need(need) for need in needs}

    def seeds(self, figure_name: str) -> list[int]:
        """The seeds of all runs behind a figure."""
        stages = self.figure_cells(figure_name).values()
        specs = (run.spec for stage in stages for cell in stage for run in cell.runs)
        return sorted({spec["seed"] for spec in specs if "seed" in spec})

    def figure_cells(self, figure_name: str) -> dict[str, list[Cell]]:
        """Name of a stage -> its cells, for every stage behind a figure with runs at this scale.

        Raises UserError, naming the figure's file, if it or a study is broken, or has no runs.
        """
        if figure_name in self._of_figure:
            return self._of_figure[figure_name]
        if self.config.tried:
            raise UserError(f"figures/{figure_name}.py: a try has no figures; leave out tried=")
        if self.config.entry and figure_name not in self.config.figures:
            raise UserError(f"figures/{figure_name}.py: shows no entry; leave out entry=")
        names = figure_stages(figure_name)
        try:
            by_stage = {name: found for name in names if (found := self.cells(name))}
        except UserError as error:
            raise UserError(f"figures/{figure_name}.py: studies: {error}") from error
        if not by_stage:
            raise UserError(
                f"figures/{figure_name}.py: studies: none has a run at scale {self.config.scale}"
            )
        self._of_figure[figure_name] = by_stage
        return by_stage

    def offers(self, figure_name: str) -> bool:
        """Whether every study behind a figure has this scale, and one of them runs there."""
        behind, scale = [study(name) for name in figure_stages(figure_name)], self.config.scale
        return all(scale in each.scales for each in behind) and any(
            all({**each.grid, **each.at(scale).grid}.values()) for each in behind
        )

    def selected(self) -> tuple[list[str], list[str]]:
        """(the figures that the configuration asks for, those of `all` that are left out because a
        study of theirs has not its scale)."""
        names = matching_figures(self.config.figures)
        left = [n for n in names if "all" in self.config.figures and self._lacks_scale(n)]
        return [name for name in names if name not in left], left

    def _lacks_scale(self, figure_name: str) -> bool:
        try:
            return not self.offers(figure_name)
        except UserError:
            return False  # broken: `fault` says how

    def fault(self, figure_name: str) -> str:
        """What is wrong with a figure or with a study behind it, if it cannot be built; else ""."""
        if figure_name not in self._faults:
            try:
                self.figure_cells(figure_name)
                self._faults[figure_name] = ""
            except UserError as error:
                self._faults[figure_name] = str(error)
        return self._faults[figure_name]

    def usable_figures(self) -> list[str]:
        """The figures that can be built."""
        return [name for name in figure_names() if not self.fault(name)]

    def faults(self) -> list[str]:
        """A line for each paper, figure and study that cannot be used: which file, and why."""
        figures = [fault for name in figure_names() if (fault := self.fault(name))]
        studies = broken_studies().values()
        # Without studies that are already named as the reason for a figure.
        unused = [line for line in studies if not any(line in other for other in figures)]
        return [*misplaced().values(), *broken_papers(), *figures, *unused]

    def stage_datasets(self, stage: str) -> list[str]:
        """The datasets that runs of a stage read at this scale."""
        chosen = self.study(stage)
        needs = _task(chosen.task).needs(chosen.settings(self.config.scale))
        return [need.dataset for need in needs]

    def figure_datasets(self, figure_name: str) -> list[str]:
        """The datasets behind a figure, each once."""
        if figure_name not in self._datasets:
            names = (n for s in figure_stages(figure_name) for n in self.stage_datasets(s))
            self._datasets[figure_name] = list(dict.fromkeys(names))
        return self._datasets[figure_name]

    def data_description(self, figure_name: str) -> str:
        """The data behind a figure in words, for its footer."""
        names = self.figure_datasets(figure_name)
        return "; ".join(map(self.described, names)) or "none needed"

    def described(self, dataset_name: str) -> str:
        """A dataset under this configuration, in words."""
        return dataset(dataset_name).describe(self.source(dataset_name))

    def is_embedded(self, figure_name: str) -> bool:
        """Whether the suite itself generated any of the data behind a figure."""
        return any(self.source(n).kind == "embedded" for n in self.figure_datasets(figure_name))

    def cpu_dependent(self, figure_name: str) -> bool:
        """Whether a figure's last digits depend on the CPU's model (`Task.cpu_dependent`)."""
        by_stage = self.figure_cells(figure_name).values()
        runs = [run for cells in by_stage for cell in cells for run in cell.runs]
        return any(_task(run.task).cpu_dependent(run.spec) for run in runs)

    def is_finished(self, run: Run) -> bool:
        """Whether a run's result is in the folder of finished runs."""
        places = (f"{run.id[:2]}/{run.id}", run.id)  # the second of before (`execute.homes`)
        return any(os.path.exists(f"{self.paths.runs}/{place}.json") for place in places)

    def gpu_hours(self, cells: Iterable[Cell]) -> float:
        """Hours on one H100 for the unfinished runs of some cells, each counted once."""
        from repro import cost

        runs = {run.id: run for cell in cells for run in cell.runs}
        return sum(cost.gpu_hours(run.cost) for run in runs.values() if not self.is_finished(run))


def _task(name: str) -> Task:
    from repro.tasks import TASKS

    return TASKS[name]


def _taken(cell: Cell) -> Iterable[Upstream]:
    """What a cell's runs take from upstream, once where several take it from the same runs."""
    every = (upstream for run in cell.runs for upstream in run.upstream.values())
    return {(id(each.reference), id(each.runs)): each for each in every}.values()
