"""An entry of the board of transfer: a file of somebody's, and the suite with it in the place of
its own parametrizations. No torch at import.

The file defines NAME, and `rules(family)` as any parametrization, or PARAMETRIZATION, the name of
one that is there. It may define OPTIMIZER, settings that replace a workload's own ({"name": "muon",
"momentum": 0.95, "adjust_lr_fn": "original"}, {"weight_decay": 0.1}), and OCTAVES, by which its
grids of learning rates are moved.
"""

import math
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from repro.cores import usable_cores
from repro.errors import UserError, did_you_mean
from repro.suite import jobs, registry
from repro.suite.names import StageName
from repro.suite.plan import Cell
from repro.suite.runs import Run
from repro.suite.spec import override
from repro.suite.study import Study
from repro.suite.suite import Suite
from repro.tasks import TASKS
from widthwise.files import names_in
from widthwise.parametrization.named import find

PAPER = "transfer"
STAGES = ("proxy", "wide")
CHEAP = ("decoder", "mlp", "gru", "vit")  # those that an entry is run on unless others are asked
WORDS = {"adamw": "AdamW", "adam": "Adam", "sgd": "SGD", "muon": "Muon"}
LONGEST = 40  # characters of a NAME


@dataclass(frozen=True)
class EntryFile:
    """What an entry's file says. path: the file. parametrization: a name, or the path itself.
    settings: what replaces a workload's optimizer settings. octaves: the grids' shift."""

    path: str
    name: str
    parametrization: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    octaves: float = 0.0

    @property
    def optimizer(self) -> str:
        """Its optimizer in the board's words."""
        name = self.settings.get("name", "adamw")
        return WORDS.get(name, name)


def read(path: str) -> EntryFile:
    """An entry's file; raises UserError, naming what is wrong, on one that is none."""
    defined = names_in(path)
    name = defined.get("NAME")
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= LONGEST:
        raise UserError(
            f"{path}: NAME must be a line of at most {LONGEST} characters, got {name!a}"
        )
    own = callable(defined.get("rules"))
    parametrization = path if own else defined.get("PARAMETRIZATION")
    if own == ("PARAMETRIZATION" in defined):
        raise UserError(f"{path}: define rules(family), or PARAMETRIZATION, the name of a table")
    if not isinstance(parametrization, str):
        raise UserError(f"{path}: PARAMETRIZATION must be a name, got {parametrization!a}")
    settings = defined.get("OPTIMIZER", {})
    if not isinstance(settings, Mapping) or not all(isinstance(key, str) for key in settings):
        raise UserError(f"{path}: OPTIMIZER must be a mapping of settings")
    octaves = defined.get("OCTAVES", 0.0)
    if not isinstance(octaves, int | float) or not abs(octaves) <= 20:
        raise UserError(f"{path}: OCTAVES must be a number of octaves, got {octaves!a}")
    # Raises UserError where there is none, or the file lacks something.
    rows = find(parametrization).rules("sgd" if settings.get("name") == "sgd" else "adam")
    if any(rule.init is None for rule in rows.values()):
        raise UserError(f"{path}: leaves initial values as made, which the board's models draw")
    return EntryFile(path, name, parametrization, dict(settings), float(octaves))


def workloads() -> list[str]:
    """The workloads that there are: studies of transfer with both stages."""
    names = [StageName.parse(name) for name in registry.study_names()]
    both = {n.study for n in names if n.paper == PAPER and n.stage == STAGES[0]}
    return [name for name in both & {n.study for n in names if n.stage == STAGES[1]}]


class Entered(Suite):
    """A suite whose workloads are run for one entry alone."""

    def __init__(self, suite: Suite, entry: EntryFile, chosen: Sequence[str] = CHEAP):
        super().__init__(suite.config)
        known = sorted(workloads())
        for name in chosen:
            if name not in known:
                raise UserError(f"workload {name!r}: {did_you_mean(name, known)}")
        self.entry, self.chosen = entry, chosen

    def study(self, name: str) -> Study:
        """A stage with the entry in the place of the suite's parametrizations and optimizer."""
        origin = StageName.parse(name)
        declared = super().study(str(origin.at_round(0)))
        if origin.paper == PAPER and origin.stage in STAGES:
            declared = self._entered(declared)
        return declared.round(origin.stage) if origin.round else declared

    def _entered(self, study: Study) -> Study:
        """A stage's grids and settings with the entry's."""
        entry = self.entry

        def grid(own: Mapping) -> dict:
            moved = {"lr": [rate * 2.0**entry.octaves for rate in own["lr"]]} if "lr" in own else {}
            ours = {"parametrization": [entry.parametrization]} if "parametrization" in own else {}
            return {**own, **moved, **ours}

        scales = {
            name: replace(scale, grid=grid(scale.grid)) for name, scale in study.scales.items()
        }
        optimizer = {**study.spec["optimizer"], **entry.settings}
        spec = {**study.spec, "parametrization": entry.parametrization, "optimizer": optimizer}
        return replace(study, spec=spec, grid=grid(study.grid), scales=scales)

    def stages(self, workload: str) -> list[str]:
        """The stages and rounds that an entry has of a workload."""
        return [s for stage in STAGES for s in registry.stages(f"{PAPER}/{workload}/{stage}")]

    def entered_cells(self) -> dict[str, list[Cell]]:
        """Name of a stage or round -> its cells, of the workloads chosen."""
        names = (stage for workload in self.chosen for stage in self.stages(workload))
        return {name: cells for name in names if (cells := self.cells(name))}


def train(suite: Entered) -> None:
    """Carry out all runs of an entry, a process a workload where there are cores."""
    jobs.prepare(suite, [cell for cells in suite.entered_cells().values() for cell in cells])
    arguments = [(suite.config.arguments(), suite.entry.path, name) for name in suite.chosen]
    count = min(len(arguments), usable_cores())
    if count == 1:
        for each in arguments:
            _train(*each)
        return
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(_train, *each) for each in arguments]:
            done.result()


def _train(words: list[str], path: str, workload: str) -> None:
    """Carry out an entry's runs on a workload. words: of the configuration."""
    from repro.suite import arithmetic
    from repro.suite.suite import load

    base = load(words)
    arithmetic.apply(base.config.arithmetic)
    suite = Entered(base, read(path), [workload])
    cells = [cell for cells in suite.entered_cells().values() for cell in cells]
    jobs.train_all(suite, cells, jobs.Place())


@dataclass(frozen=True)
class Point:
    """A run of an entry as its table has it. narrow: whether it is of the narrow model."""

    workload: str
    narrow: bool
    width: float
    ratio: float
    rate: float
    seed: int


def rerun(suite: Entered, points: Sequence[Point]) -> Iterator[tuple[Point, float]]:
    """The final losses of some runs, trained anew, without what is in results/."""
    for point in points:
        run = _planned(suite, point)
        jobs.prepare(suite, [Cell(f"{PAPER}/{point.workload}", {}, (run,))])
        inputs = suite.needs(Cell("", {}, (run,)))
        with tempfile.TemporaryDirectory() as folder:
            records = TASKS[run.task].run(
                run.spec,
                inputs=inputs,
                device="cpu",
                progress=lambda step, loss: None,
                checkpoint=Path(folder, "state"),
            )
        loss = float(records[-1]["train_loss"])
        yield point, loss if math.isfinite(loss) else math.inf


def _planned(suite: Entered, point: Point) -> Run:
    """The run of a point: the stage's settings with the point's. Raises UserError where no run of
    the stage has its width and seed: it is not of this board."""
    stage = f"{PAPER}/{point.workload}/{STAGES[0] if point.narrow else STAGES[1]}"
    for run in (run for cell in suite.cells(stage) for run in cell.runs):
        if (run.spec["model"]["width"], run.spec["seed"]) == (point.width, point.seed):
            values = {"lr": point.rate, "embedding_ratio": point.ratio}
            spec = override(run.spec, values)
            return replace(run, spec=spec)
    raise UserError(f"{stage}: has no run of width {point.width:g} and seed {point.seed}")


def drawn(points: Sequence[Point], seed: int) -> list[Point]:
    """A cell drawn at random: the runs over rates of one workload, model, ratio and seed."""
    by_cell: dict[tuple, list[Point]] = {}
    for point in points:
        key = point.workload, point.narrow, point.width, point.ratio, point.seed
        by_cell.setdefault(key, []).append(point)
    return by_cell[random.Random(seed).choice(sorted(by_cell))]
