"""A test under a reader's settings: what will run, what it costs, its runs, and what came out.

All of it lies in `tried/` of the work folder, apart from results/, records/ and the checkout. The
runs of all tries lie together there, known by what they train, so that tries share them and a
second call goes on. `measured` is what a try came to; `repro try` prints it beside the record.
"""

import math
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from repro.core import cells as cellfiles
from repro.core import discovery, tried
from repro.core.locks import locked
from repro.core.runs import Run
from repro.core.schedule import Cell
from repro.core.study import GPU_SCALES, TRAINED_SCALES
from repro.core.suite import Suite
from repro.core.tried import Tried
from repro.cores import usable_cores
from repro.errors import UserError
from repro.files import key_of, read_as, write_json
from repro.lineage import code
from repro.lineage.checkout import ROOT
from repro.products import alone, forecast, picture
from repro.products.explain import find_test
from repro.verdicts.answers import FEWEST, TRAINING, Expectation, Measurement, Test, number
from repro.verdicts.results import AGREES, DIFFERS
from repro.verdicts.tabulate import frame
from repro.verdicts.verdict import by_bound
from repro.workflow.budget import on_h100

FOLDER = Path("tried")  # of the work folder
NEEDED = {"code": str, "stages": list[str]}  # what is kept of a test's stages
OPEN = "open"
ENDS_BY_ITSELF = 2.0  # seconds that an interrupted call gets


@dataclass(frozen=True)
class Try:
    """A test under other settings: what it runs, and where.

    base: the suite as it is; own: with the try in it. folder: of what came out, in `tried/`.
    """

    settings: Tried
    base: Suite
    own: Suite
    folder: Path

    @cached_property
    def test(self) -> Test:
        """The test."""
        return find_test(word_of(self))[2]

    @cached_property
    def cells(self) -> dict[str, list[Cell]]:
        """Stage or round -> its cells, of those that the test is measured of."""
        names = [name for stage in self.settings.stages for name in discovery.stages(stage)]
        return {name: found for name in names if (found := self.own.cells(name))}

    @cached_property
    def every(self) -> list[Cell]:
        """These cells and all that they take something from."""
        return self.own.with_upstream(cell for cells in self.cells.values() for cell in cells)


def planned(base: Suite, word: str, **asked: Any) -> Try:
    """A test under other settings (the fields of `Tried`). From here on its studies are in the
    place of the suite's (`discovery.put`). Raises UserError, before anything runs, on what cannot
    be, and names the nearest widths that can."""
    discovery.put({})
    name, figure_name, test = find_test(word)
    stages = stages_of(base, name, figure_name, test)
    settings = Tried(figure=figure_name, test=test.id, stages=stages, **asked)
    try:
        return planned_of(base, word, settings)
    except UserError as error:
        if not settings.widths:
            raise
        near = _nearest(base, word, settings)
        instead = " ".join(f"{width:g}" for width in near)
        hint = f"; the nearest that can: --widths {instead}" if near else ""
        raise UserError(f"{error}{hint}") from None


def planned_of(base: Suite, word: str, settings: Tried) -> Try:
    """The same of a test whose stages are known, without a hint at other widths."""
    name, *_ = find_test(word)
    folder = Path(name, f"{base.config.scale}-{base.label}-{settings.key}")
    file = (folder / tried.FILE).as_posix()
    found = Try(
        settings, base, Suite(replace(base.config, tried=settings, tried_file=file)), folder
    )
    runs = [run for cell in found.every for run in cell.runs]
    if not runs:
        raise UserError(f"{name}: nothing is run of it at {base.config.scale} scale")
    for run in runs:
        if wrong := misfit(run.spec.get("model", {})):
            raise UserError(f"{name}: {wrong}")
    read = {need.dataset for cell in found.every for need in found.own.needs(cell)}
    if unread := [name for name in base.config.sources if name not in read]:
        said = ", ".join(sorted(read)) or "none"
        raise UserError(f"--data {unread[0]}: it does not read that dataset; it reads {said}")
    return found


def misfit(model: Mapping[str, Any]) -> str:
    """Why a model cannot be built, by its attention's heads; "" where it can."""
    width = model.get("width", 0)
    if width % model.get("heads", 1):
        return f"width {width:g}: {model['heads']} heads do not divide it"
    if width % model.get("head_dim", 1) and "heads" not in model:
        return f"width {width:g}: no number of heads of {model['head_dim']} units fills it"
    return ""


def _nearest(base: Suite, word: str, settings: Tried) -> list[float]:
    """Of each width the nearest with which it can be planned; none where one has none."""
    found = []
    for width in settings.widths:
        steps = (width + sign * step for step in range(65) for sign in (1, -1))
        for near in (each for each in steps if each > 0):
            try:
                planned_of(base, word, replace(settings, widths=(near,)))
            except UserError:
                continue
            found.append(near)
            break
        else:
            return []
    return found


def stages_of(base: Suite, name: str, figure_name: str, test: Test) -> tuple[str, ...]:
    """The stages that a test is measured of, as they were found before, if by the same code."""
    file = Path(name, f"{base.config.scale}.json")
    known = key_of(code.listing(picture.code_of_figure(figure_name)))
    said = read_as(file, NEEDED) if file.exists() else {"code": "", "stages": []}
    if said["code"] != known:
        said = {"code": known, "stages": alone.needed(base, figure_name, test)}
        write_json(file, said)
    return tuple(said["stages"])


def numbers(option: str, words: Sequence[str], whole: bool = False) -> tuple[float, ...]:
    """What is given for an option, each a number above 0; raises UserError on another word."""
    found = []
    for word in words:
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not 0 < value < math.inf or (whole and value != int(value)):
            raise UserError(f"{option} {word}: is no {'whole ' * whole}number above 0")
        found.append(int(value) if value == int(value) else value)
    if len({*found}) < len(found):
        raise UserError(f"{option}: a number is there twice")
    return tuple(found)


def word_of(found: Try) -> str:
    """The test's name."""
    return f"{found.settings.figure.split('/')[0]}/{found.settings.test}"


def changes(words: Sequence[str]) -> dict[str, Any]:
    """`--set` as key -> value. Raises UserError on a word that is none."""
    found = {}
    for word in words:
        key, is_one, value = word.partition("=")
        if not (key and is_one and value):
            raise UserError(f"--set {word!r}: give KEY=VALUE")
        try:
            found[key] = tomllib.loads(f"value = {value}")["value"]
        except ValueError:
            found[key] = value
    return found


def enter() -> None:
    """Work in `tried/` of the work folder, which has its resources/."""
    FOLDER.mkdir(exist_ok=True)
    Path("resources").mkdir(exist_ok=True)
    link = FOLDER / "resources"
    if not link.exists():
        link.symlink_to(Path("..", "resources"))
    os.chdir(FOLDER)


def ahead(found: Try) -> Iterator[str]:
    """What will run and what it costs, in lines."""
    own, scale = found.own, found.own.config.scale
    runs = [run for cell in found.every for run in cell.runs]
    yield f"{found.settings.test}, {scale} scale, {own.label} data: {in_words(found)}"
    for stage in dict.fromkeys(alone.stage_of(cell.study) for cell in found.every):
        its = [r for c in found.every if alone.stage_of(c.study) == stage for r in c.runs]
        yield f"  {stage}: {_described(its)}"
    for key in found.settings.changes:
        other = {k: v for k, v in found.settings.changes.items() if k != key}
        without = planned_of(found.base, word_of(found), replace(found.settings, changes=other))
        if {run.id for cell in without.every for run in cell.runs} == {run.id for run in runs}:
            yield f"  --set {key} changes nothing of this"
    discovery.put(found.settings.studies(scale))
    yield cost([found])


def cost(founds: Sequence[Try]) -> str:
    """How many runs in how many jobs, and what those to be done take, a try after the other. What
    several share is made once."""
    places = {found.own.paths.cell(cell): (found, cell) for found in founds for cell in found.every}
    left = [pair for path, pair in places.items() if not path.exists()]
    words = f"  {sum(len(cell.runs) for _, cell in places.values())} runs in {len(places)} jobs"
    if not left:
        return f"{words}, all there"
    each = [(found.own, [cell for other, cell in left if other is found]) for found in founds]
    if founds[0].own.config.scale in GPU_SCALES:
        hours = sum(own.gpu_hours(cells) for own, cells in each)
        return f"{words}: {on_h100(hours)}, assumed, not measured"
    cores = usable_cores()
    times = [forecast.together(forecast.times(own, cells), cores) for own, cells in each]
    known = [time for time in times if time is not None]
    said = forecast.span(sum(known)) if len(known) == len(times) else "not on record"
    return f"{words}, {len(left)} to do: {said} on {cores} cores"


def in_words(found: Try) -> str:
    """What was asked for, as it was."""
    own = found.settings
    parts = [
        *(f"widths {few([number(w) for w in own.widths])}" for _ in own.widths[:1]),
        *(f"rates {few([number(r, '.3g') for r in own.rates])}" for _ in own.rates[:1]),
        *([f"{own.seeds} seeds"] if own.seeds else []),
        *([f"{own.steps} steps"] if own.steps else []),
        *([own.optimizer] if own.optimizer else []),
        *(f"{key} {value}" for key, value in own.changes.items()),
    ]
    return ", ".join(parts) or "the study's own settings"


def _described(runs: Sequence[Run]) -> str:
    """The axes of runs, each with its values."""
    values: dict[str, dict[str, None]] = {}
    for run in runs:
        for axis, value in run.axes.items():
            many = isinstance(value, Mapping) or not isinstance(value, int | float)
            said = str(value) if axis == "seed" or many else number(value, ".4g")
            values.setdefault(axis, {})[said] = None
    parts = [
        f"{axis} {few([*its])}" if max(map(len, its)) < 30 else f"{len(its)} of {axis}"
        for axis, its in values.items()
    ]
    return "; ".join([f"{len(runs)} run{'s' * (len(runs) != 1)}", *parts])


def few(values: Sequence[str]) -> str:
    """Values in words, of many the first and the last."""
    return ", ".join(values) if len(values) < 9 else f"{values[0]} to {values[-1]} ({len(values)})"


def run(found: Try, cores: str = "all") -> int:
    """Make what is missing, by a Snakemake call, of which there is one at a time in a folder;
    returns its exit status."""
    with locked(Path(".run.lock")):
        return _run(found, cores)


def _run(found: Try, cores: str) -> int:
    missing = [cell for cell in found.every if not found.own.paths.cell(cell).exists()]
    if not missing:
        return 0
    write_json(found.folder / tried.FILE, found.settings.as_json())
    targets = [found.own.paths.cell(cell).as_posix() for cell in missing]
    words = [sys.executable, "-P", "-m", "snakemake", "-s", str(ROOT / "Snakefile")]
    # Two tries share what they both run, so that which of them asked is no reason to make it anew.
    words += ["--cores", cores, "--rerun-triggers", "input", "mtime"]
    words += ["--workflow-profile", str(ROOT / "profiles" / "default"), *targets]
    with subprocess.Popen([*words, "--config", *found.own.config.arguments()]) as call:
        try:
            return call.wait()
        except BaseException:  # Ctrl-C, of which a terminal tells both, or SIGTERM
            with suppress(subprocess.TimeoutExpired):
                call.wait(ENDS_BY_ITSELF)
            call.terminate()
            raise


def tables(found: Try) -> dict[str, Any]:
    """Stage or round -> the table of its runs. Raises UserError where one is missing."""
    own = {}
    for name, cells in found.cells.items():
        own[name] = frame([cellfiles.read_cell(found.own.paths.cell(c), c) for c in cells])
    return own


@dataclass(frozen=True)
class Came:
    """What a try came to. broken: how its design breaks the paper's conditions."""

    measurement: Measurement
    broken: tuple[str, ...]
    seen: str
    why: str = ""


def measured(found: Try, own: Mapping[str, Any] | None = None) -> Came:
    """What a test came to by the runs of a try, which are there, or by these tables of them."""
    discovery.put(found.settings.studies(found.own.config.scale))
    own = tables(found) if own is None else own
    came, broken = alone.alone(found.own, found.settings.figure, found.test, own)
    scale = found.own.config.scale
    judged = by_bound(bound(found.test, scale), came)
    fewest = FEWEST.get(scale, 3) if found.test.kind == TRAINING else 0
    if found.test.at(scale) is None and scale not in TRAINED_SCALES:
        why = f"runs at {scale} scale are too short to tell"
    elif came.problem:
        why = came.problem
    elif came.n < fewest and came.low != came.high:
        why = f"{came.n} seed{'s' * (came.n != 1)}, fewer than {fewest}"
    elif judged.seen not in (AGREES, DIFFERS):
        why = "the interval crosses the bound" if math.isfinite(came.value) else "no number"
    else:
        return Came(came, broken, judged.seen)
    return Came(came, broken, OPEN, why)


def bound(test: Test, scale: str) -> Expectation:
    """What a test is held against at a scale, or at the smallest that has a bound."""
    return test.at(scale) or test.smallest
