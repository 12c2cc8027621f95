"""Entries of the board of transfer on file: `studies/transfer/entries/<name>.json`, found by
listing. No torch.

Such a file has the text of the entry's file and the final loss of every run, with its id. Name and
optimizer are those of the text, scores are computed from the losses: nothing is said twice. Every
reading asks the same (`read`); nothing of it is carried out but by `verify`.
"""

import math
import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from repro.core import catalog, config, discovery
from repro.core import cells as cellfiles
from repro.core import entry as entry_files
from repro.core.entry import FIGURE, FILE, PROXY, REMEDY, EntryFile
from repro.core.names import StageName
from repro.core.runs import Run, Upstream
from repro.core.schedule import Cell
from repro.core.study import SCALES
from repro.core.suite import Suite
from repro.errors import UserError
from repro.files import read_sealed, write_sealed
from repro.lineage import checkout, foreign
from repro.lineage.provenance import provenances
from repro.transfer_bench.matrix import BoardRow
from repro.workflow import jobs

FOLDER = checkout.ROOT / "studies" / "transfer" / "entries"
FORMAT = 2
KEYS = {"version", "scale", "data", "file", "columns", "losses", "made", "format"}
# run: its id. chance: entropy of the workload's targets, by which its data are known.
COLUMNS = [
    "run",
    "workload",
    "parametrization",
    "model.width",
    "embedding_ratio",
    "lr",
    "seed",
    "train_loss",
    "chance",
]
SAME = 1e-6  # relative difference of a final loss up to which a run trained anew is the same


@dataclass(frozen=True)
class Point:
    """A run of an entry as its table has it. narrow: whether it is of the narrow model."""

    workload: str
    narrow: bool
    width: float
    ratio: float
    rate: float
    seed: int

    @property
    def cell(self) -> tuple:
        """What the runs over rates of one model, ratio and seed have in common."""
        return self.workload, self.narrow, self.width, self.ratio, self.seed


@dataclass(frozen=True)
class Planned:
    """A run that an entry is to have. spec: with what it takes from upstream."""

    run: Run
    spec: Mapping[str, Any]
    point: Point


@dataclass(frozen=True)
class OnFile:
    """An entry's JSON, read and held against what is planned. losses: of every run, in order."""

    path: Path
    file: EntryFile
    content: Mapping[str, Any]
    losses: Mapping[Point, float]

    @property
    def of(self) -> tuple[str, str, str]:
        """Scale, data and version."""
        return self.content["scale"], self.content["data"], self.content["version"]


def record(suite: Suite, file: EntryFile) -> str:
    """Write the JSON of a configured entry's finished runs beside its file; returns what came
    out."""
    read_cells: dict[Path, dict] = {}
    by_id: dict[str, dict] = {}
    for cell in _cells(suite):
        path = suite.paths.cell(cell)
        read_cells[path] = cellfiles.read_cell(path, cell)
        by_id |= {run["id"]: run for run in read_cells[path]["runs"]}
    cellfiles.check_compatible(read_cells)

    def final(each: Run, point: Point | None) -> float | None:
        records = by_id[each.id]["records"]
        return float(records[-1]["train_loss"]) if records else None

    rows = []
    for each in planned(suite, final, file.given):
        last, p = by_id[each.run.id]["records"][-1], each.point
        name = PROXY if p.narrow else file.name
        numbers = [p.width, p.ratio, p.rate, p.seed, float(last["train_loss"]), last["chance"]]
        rows.append([each.run.id, p.workload, name, *map(_plain, numbers)])
    content = {
        "format": FORMAT,
        "version": _board().VERSION,
        "scale": suite.config.scale,
        "data": suite.label,
        "file": {"name": file.file, "sha256": file.digest, "text": file.text},
        "columns": COLUMNS,
        "losses": rows,
        "made": provenances([*read_cells.values()]),
    }
    target = file.record
    if target.exists() and read(target).file.name != file.name:
        raise UserError(f"{target}: is of another entry; give {file.given} another name")
    write_sealed(target, content)
    row = row_of(read(target))
    lines = [f"{column}: {_in_words(each)}" for column, each in row.scores.items()]
    return "\n".join([f"{target}: {row.name}, {len(rows)} runs, % of the gain lost:", *lines])


def planned(
    suite: Suite, final: Callable[[Run, Point | None], float | None], name: object
) -> list[Planned]:
    """Every run of an entry, in order, with what its search proposed. final: (run, its point, None
    of a slot that its search did not need) -> its loss."""
    results: dict[str, dict] = {}
    chosen: dict[tuple, Any] = {}

    def choose(upstream: Upstream) -> Any:
        key = id(upstream.reference), upstream.runs.ids
        if key not in chosen:
            try:
                chosen[key] = upstream.choose(lambda run: results[run.id])
            except UserError as error:
                raise UserError(f"{name}: {error}") from None
        return chosen[key]

    found = []
    for cell in _cells(suite):
        stage = StageName.parse(cell.study)
        for run in cell.runs:
            spec, tuned = run.resolve(choose)
            point = None
            if None not in tuned.values():
                narrow, workload = stage.stage == "proxy", stage.module.split("/")[1]
                width, ratio = float(spec["model"]["width"]), float(spec["embedding_ratio"])
                point = Point(workload, narrow, width, ratio, float(spec["lr"]), spec["seed"])
                found.append(Planned(run, spec, point))
            loss = final(run, point)
            records = [] if loss is None else [{"train_loss": loss}]
            results[run.id] = {"spec": spec, "axes": run.axes, "tuned": tuned, "records": records}
    return found


def _cells(suite: Suite) -> list[Cell]:
    return [cell for cells in suite.figure_cells(FIGURE).values() for cell in cells]


def of_losses(suite: Suite, losses: Mapping[Point, float], name: object) -> list[Planned]:
    """The planned runs of an entry by its losses. Raises UserError, naming the file, unless it has
    each of them, and no other."""

    def final(run: Run, point: Point | None) -> float | None:
        if point is not None and point not in losses:
            raise UserError(f"{name}: lacks a planned run: {point}; {REMEDY}")
        return None if point is None else losses[point]

    found = planned(suite, final, name)
    if odd := {*losses} - {each.point for each in found}:
        raise UserError(f"{name}: has a run that is not planned: {min(odd, key=str)}; {REMEDY}")
    return found


def read(path: Path) -> OnFile:
    """An entry's JSON. Raises UserError, naming it, where it is not what `record` writes: its
    columns, its numbers, its points, seeds, rates and rounds, each once, and its text."""
    return of_content(path, read_sealed(path, remedy=REMEDY))


def of_content(path: Path, content: Mapping[str, Any]) -> OnFile:
    """The same of what is in it."""
    try:
        found = _checked(path, content)
        _hold_against_plan(path, found)
    except UserError as error:
        said = str(error)
        raise UserError(said if str(path) in said else f"{path}: {said}") from None
    return found


def _checked(path: Path, content: Mapping[str, Any]) -> OnFile:
    """A JSON by its form alone."""

    def refuse(what: str) -> None:
        raise UserError(f"{path}: {what}; {REMEDY}")

    if content.get("format") != FORMAT or {*content} != KEYS:
        refuse(f"is no entry of this suite's format {FORMAT}")
    if content["scale"] not in SCALES or not foreign.fits(content["version"], r"v\d{1,4}"):
        refuse("says no scale or version that there is")
    label = content["data"]
    if not isinstance(label, str) or not config.is_data_label(label, discovery.dataset_names()):
        refuse("says no data that there are")
    file = content["file"]
    forms = {"name": FILE, "sha256": foreign.DIGEST, "text": r"(?s:.*)"}
    if not isinstance(file, dict) or {*file} != {*forms}:
        refuse("has no file with name, sha256 and text")
    if not all(foreign.fits(file[key], form) for key, form in forms.items()):
        refuse("its file's name or digest is none")
    own = entry_files.parse(file["text"], str(path))
    if own.digest != file["sha256"]:
        refuse("the text of its file is not that of its digest")
    made = content["made"]
    if not isinstance(made, list) or not made or not all(isinstance(m, dict) for m in made):
        refuse("does not say where it was made")
    if any(each in made[:number] for number, each in enumerate(made)):
        refuse("says twice where it was made")
    for each in made:
        foreign.check_provenance(each, path, REMEDY, lacking=("inputs",))
    if content["columns"] != COLUMNS:
        refuse(f"its columns are not {', '.join(COLUMNS)}")
    return OnFile(path, own, content, _losses(path, content["losses"], own.name, refuse))


def _losses(path: Path, rows: Any, name: str, refuse: Callable[[str], None]) -> dict:
    """The losses of a table's rows, each of the right form, once."""
    if not isinstance(rows, list) or not rows:
        refuse("has no losses")
    found: dict[Point, float] = {}
    ids: set[str] = set()
    chances: dict[str, float] = {}
    forms = [foreign.DIGEST, "|".join(entry_files.WORKLOADS), r"[^\n]{1,40}"]
    for number, row in enumerate(rows, 1):
        right = isinstance(row, list) and len(row) == len(COLUMNS)
        if not right or not all(map(foreign.fits, row[:3], forms)) or row[2] not in (PROXY, name):
            refuse(f"row {number} of its losses has no run, workload or parametrization of it")
        width, ratio, rate, seed, loss, chance = row[3:]
        if loss == "inf":  # of a run that diverged
            loss = math.inf
        numbers = [width, ratio, rate, seed, chance, *([loss] if loss != math.inf else [])]
        if not all(foreign.fits(n, foreign.NUMBER) and n >= 0 for n in numbers):
            refuse(f"row {number} of its losses has what is no number, or one below 0")
        if type(seed) is not int:
            refuse(f"row {number} of its losses has a seed that is no whole number")
        point = Point(row[1], row[2] == PROXY, float(width), float(ratio), float(rate), seed)
        if point in found or row[0] in ids:
            refuse(f"row {number} of its losses has a run that an earlier row has")
        found[point] = float(loss)
        ids.add(row[0])
        if chances.setdefault(row[1], chance) != chance:
            refuse(f"row {number} of its losses has another chance than rows before it")
    return found


def _hold_against_plan(path: Path, found: OnFile) -> None:
    of_losses(_plan(found.content["scale"], found.file.octaves), found.losses, path)


@cache
def _plan(scale: str, octaves: float) -> Suite:
    """The suite with an entry of these grids, which are the same whatever its rules: so a file is
    read and its rules are not carried out."""
    stand_in = EntryFile("", "", "plan", "muP", {}, octaves)
    chosen = config.parse({"scale": scale}, discovery.dataset_names())
    return Suite(replace(chosen, entry=stand_in, figures=(FIGURE,)))


def table_of(found: OnFile) -> Any:
    """Its losses as a DataFrame like data.csv's."""
    import pandas as pd

    table = pd.DataFrame(found.content["losses"], columns=COLUMNS).drop(columns="run")
    table["train_loss"] = pd.to_numeric(table["train_loss"])
    return table.assign(optimizer=found.file.optimizer)


def row_of(found: OnFile) -> BoardRow:
    """Its row of the board, computed from its losses."""
    scale, _, version = found.of
    (row,) = _board().entries(table_of(found), scale, version, found.path.name)
    return row


def sent_in(
    scale: str, label: str, version: str, names: Sequence[str], paths: Iterable[Path]
) -> list[BoardRow]:
    """The rows of these files at a scale on some data under a version. names: of rows that are
    there. Raises UserError, naming the file, where one has the name of another row."""
    taken: dict[str, Path | str] = {_alike(name): "the suite's own" for name in names}
    rows = []
    for path in paths:
        found = read(path)
        other = taken.setdefault(_alike(found.file.name), path)
        if other != path:
            raise UserError(f"{path}: its NAME {found.file.name!r} is {other}; give it another")
        if found.of == (scale, label, version):
            rows.append(row_of(found))
    return rows


def _alike(name: str) -> str:
    """A name as an eye takes it."""
    return "".join(c for c in name.casefold() if c.isalnum())


def verify(suite: Suite, file: EntryFile, show: Callable[[str], None]) -> str:
    """Hold an entry's JSON against what its file plans, and a cell of it against runs trained anew,
    which the system's randomness draws. Returns what was done; raises UserError where anything
    differs. The file is carried out: `show` gets its text first."""
    found = read(file.record)
    show(f"{file.record}: {file.file}, which is carried out now:\n{found.file.text}")
    if found.file.text != file.text:
        raise UserError(f"{file.record}: is of another text than {file.given}")
    if found.of[:2] != (suite.config.scale, suite.label):
        scale, label, _ = found.of
        raise UserError(f"{file.record}: is of scale {scale}, data {label}; give --config scale=")
    runs = of_losses(suite, found.losses, file.record)
    said = {row[0]: point for row, point in zip(found.content["losses"], found.losses, strict=True)}
    if said != {each.run.id: each.point for each in runs}:
        raise UserError(f"{file.record}: its runs have other ids than planned; {REMEDY}")
    cell = random.SystemRandom().choice(sorted({each.point.cell for each in runs}))
    drawn = [each for each in runs if each.point.cell == cell]
    first = drawn[0].point
    model = "narrow" if first.narrow else "wide"
    words = (
        f"{len(drawn)} runs of {first.workload}, {model} model of width {first.width:g}, ratio "
        f"{first.ratio:g}, seed {first.seed}"
    )
    show(f"drawn by the system's randomness: {words}")
    for each in drawn:
        loss, its = jobs.anew(suite, each.run, each.spec), found.losses[each.point]
        if not (loss == its or math.isclose(loss, its, rel_tol=SAME)):
            raise UserError(
                f"{file.record}: {each.point}: ends at {loss:.9g} here, at {its:.9g} in the file"
            )
    return f"{file.record}: has its {len(runs)} runs; {words}, trained anew, end where it says"


def shown(text: str) -> None:
    """Print a text; at a terminal ask whether to go on where it is a file's."""
    from repro.errors import visible

    print(visible(text), flush=True)
    if "carried out now" in text.partition("\n")[0] and sys.stdin.isatty():
        with suppress(EOFError):
            if input("go on? [y/N] ").strip().lower() == "y":
                return
        raise UserError("verify: the file was not carried out")


def _board() -> Any:
    return catalog.figure_module(FIGURE)


def _in_words(found: Any) -> str:
    """`7 [4, 10], held against SP, AdamW`; why it is undefined."""
    if found.problem:
        return f"undefined: {found.problem}"
    ends = "" if math.isnan(found.lost.low) else f" [{found.lost.low:.0f}, {found.lost.high:.0f}]"
    return f"{found.lost.value:.0f}{ends}, held against {found.reference}"


def _plain(value: float) -> float | int | str:
    """A number as JSON has it: whole where it is, and no infinity."""
    if not math.isfinite(value):
        return "inf"
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(value)
