"""Entries of the board of transfer that were sent in: `studies/transfer/entries/<name>.json`, found
by listing. No torch at import.

Such a file has what was run (the text of the entry's file), every final loss, and what they came to
under a version of the board. Whoever reads it computes the score anew from the losses; whoever
merges it trains a cell of it anew (`python -m repro verify --entry FILE`).
"""

import math
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from repro.errors import UserError
from repro.files import canonical_json, read_sealed, sha256, write_sealed
from repro.judge import forecast
from repro.judge.matrix import Entry
from repro.judge.run_table import tabulate
from repro.judge.score import Estimate, Score
from repro.suite import catalog, checkout, entry, foreign, packs
from repro.suite import cells as cellfiles
from repro.suite.entry import Entered, EntryFile, Point
from repro.suite.provenance import provenances
from repro.suite.suite import Suite

FOLDER = checkout.ROOT / "studies" / "transfer" / "entries"
FIGURE = "transfer/scores"  # whose reduce makes the table, and whose board the entry joins
FORMAT = 1
KEYS = {
    "version": str,
    "name": str,
    "optimizer": str,
    "scale": str,
    "data": str,
    "workloads": list,
    "file": dict,
    "columns": list,
    "losses": list,
    "scores": dict,
    "made": list,
}
SAME = 1e-6  # relative difference of a final loss up to which a run trained anew is the same
PROXY = "(proxy)"


def submit(suite: Suite, path: str, workloads: Sequence[str], folder: Path) -> str:
    """Run an entry's file on workloads; write its JSON and a pack of its finished runs into a
    folder. Returns what came out, in words."""
    board = catalog.figure_module(FIGURE)
    found = entry.read(path)
    entered = Entered(suite, found, workloads)
    refuse_taken(found, [*board.NAMES], folder)
    entry.train(entered)
    by_study, files = {}, []
    for study, cells in entered.entered_cells().items():
        paths = [suite.paths.cell(cell) for cell in cells]
        files += paths
        by_study[study] = [
            cellfiles.read_cell(file, cell) for file, cell in zip(paths, cells, strict=True)
        ]
    contents: list[Mapping] = [each for some in by_study.values() for each in some]
    cellfiles.check_compatible(dict(zip(files, contents, strict=True)))
    table = tabulate(FIGURE, by_study)
    table.loc[table["parametrization"] != PROXY, "parametrization"] = found.name
    row = scored(found.optimizer, table, suite.config.scale, board.VERSION)
    text = Path(path).read_text("utf-8")
    content = {
        "format": FORMAT,
        "version": board.VERSION,
        "name": found.name,
        "optimizer": found.optimizer,
        "scale": suite.config.scale,
        "data": suite.label,
        "workloads": [*workloads],
        "file": {"name": Path(path).name, "sha256": sha256(text.encode()), "text": text},
        "columns": [*table.columns],
        "losses": [[*map(_plain, cells)] for cells in table.itertuples(index=False)],
        "scores": {column: in_numbers(each) for column, each in row.scores.items()},
        "made": provenances(contents),
    }
    target = folder / f"{stem(found.name)}.json"
    write_sealed(target, content)
    packs.write(sorted(files), target.with_suffix(".tar.gz"))
    lines = [f"{column}: {in_words(each)}" for column, each in row.scores.items()]
    seconds = sum(made["seconds"] for made in content["made"])
    runs = sum(made["runs"] for made in content["made"])
    return "\n".join(
        [
            f"{row.name}, version {board.VERSION}, {suite.config.scale} scale, % of the gain lost:",
            *lines,
            f"{runs} runs, {seconds / 60:.2g} core-minutes; {target} and {target.stem}.tar.gz",
        ]
    )


def price(suite: Suite, path: str, workloads: Sequence[str]) -> str:
    """What `submit` would train, and for how long by the seconds on record."""
    entered = Entered(suite, entry.read(path), workloads)
    cells = [cell for some in entered.entered_cells().values() for cell in some]
    runs = {run.id: run for cell in cells for run in cell.runs if not suite.is_finished(run)}
    known = forecast.recorded_seconds(suite, [FIGURE], cells)
    if not known:
        return f"{len(runs)} runs; no record at this scale says how long they take"
    minutes = sum(known[name] for name in runs) / 60
    return (
        f"{path}: at most {len(runs)} runs on {', '.join(workloads)}, {minutes:.2g} core-minutes "
        "by the seconds on record"
    )


def refuse_taken(found: EntryFile, names: Sequence[str], folder: Path) -> None:
    """Raise UserError where a row of that name is on the board already, but for one that the same
    folder has and this would replace."""
    own = folder / f"{stem(found.name)}.json"
    sent = [read(file)["name"] for file in sorted(FOLDER.glob("*.json")) if file != own]
    if found.name in (*names, *sent):
        raise UserError(f"{found.path}: NAME {found.name!r} is on the board; give another")


def stem(name: str) -> str:
    """The name of an entry's files."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "entry"


def scored(optimizer: str, table, scale: str, version: str, source: str = "") -> Entry:
    """The row of an entry's table of runs."""
    (row,) = catalog.figure_module(FIGURE).entries(table, scale, version, source, optimizer)
    return row


def read(path: Path) -> dict[str, Any]:
    """An entry's JSON. Raises UserError where it is not what `submit` wrote: another format, a
    changed file, text that is not that of its digest, losses that are no numbers."""
    content = read_sealed(path)
    remedy = "make it again with repro submit"
    if content.get("format") != FORMAT:
        raise UserError(f"{path}: is no entry of this suite's format {FORMAT}; {remedy}")
    cellfiles.check_keys(content, KEYS, path, remedy)
    file = content["file"]
    if sha256(str(file.get("text")).encode()) != file.get("sha256"):
        raise UserError(f"{path}: the text of its file is not that of its digest; {remedy}")
    if not foreign.is_shown_as_it_is([content[key] for key in ("name", "optimizer", "scores")]):
        raise UserError(f"{path}: holds characters that cannot be shown; {remedy}")
    width = len(content["columns"])
    if any(len(row) != width for row in content["losses"]) or not content["losses"]:
        raise UserError(f"{path}: its losses are no table of {width} columns; {remedy}")
    return content


def table_of(content: Mapping) -> Any:
    """Its losses as a DataFrame like data.csv's."""
    import pandas as pd

    found = pd.DataFrame(content["losses"], columns=content["columns"])
    for column in found.columns:
        if column not in ("workload", "parametrization"):
            found[column] = pd.to_numeric(found[column])
    return found


def row_of(content: Mapping, source: str) -> Entry:
    """Its row, computed from its losses."""
    made = content["optimizer"], table_of(content), content["scale"], content["version"]
    return scored(*made, source)


def sent_in(scale: str, label: str, version: str, folder: Path | None = None) -> list[Entry]:
    """The rows of what was sent in at a scale on some data under a version."""
    files = sorted((folder or FOLDER).glob("*.json"))
    found = [(file, read(file)) for file in files]
    return [
        row_of(content, file.name)
        for file, content in found
        if (content["scale"], content["data"], content["version"]) == (scale, label, version)
    ]


def verify(suite: Suite, path: Path, seed: int) -> str:
    """Hold an entry's JSON against itself and against runs trained anew: its scores are those of
    its losses, and the runs of a cell drawn with a seed end where it says. Returns what was done.
    Raises UserError where anything differs.

    The entry's file is carried out: read it first.
    """
    content = read(path)
    if (content["scale"], content["data"]) != (suite.config.scale, suite.label):
        raise UserError(
            f"{path}: is of scale {content['scale']}, data {content['data']}; give "
            f"--config scale={content['scale']}"
        )
    row = row_of(content, path.name)
    stated = {column: in_numbers(each) for column, each in row.scores.items()}
    if not agree(stated, content["scores"]):
        raise UserError(f"{path}: its scores are not those of its losses")
    points = {point: loss for point, loss in points_of(content)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, Path(content["file"]["name"]).name)
        file.write_text(content["file"]["text"], "utf-8")
        entered = Entered(suite, entry.read(str(file)), content["workloads"])
        if (entered.entry.name, entered.entry.optimizer) != (content["name"], content["optimizer"]):
            raise UserError(f"{path}: its file is of another name or optimizer than it says")
        check_planned(path, entered, points)
        chosen = entry.drawn([*points], seed)
        for point, loss in entry.rerun(entered, chosen):
            said = points[point]
            if not (loss == said or math.isclose(loss, said, rel_tol=SAME)):
                raise UserError(
                    f"{path}: {point}: ends at {loss:.9g} here, at {said:.9g} in the file"
                )
    first = chosen[0]
    model = "narrow" if first.narrow else "wide"
    return (
        f"{path}: scores are those of its {len(points)} losses; {len(chosen)} runs of "
        f"{first.workload}, {model} model of width {first.width:g}, ratio {first.ratio:g}, seed "
        f"{first.seed}, trained anew, end where it says (drawn with --seed {seed})"
    )


def points_of(content: Mapping) -> list[tuple[Point, float]]:
    """(run, final loss) of every row of an entry's table."""
    table = table_of(content)
    return [
        (
            Point(
                str(row["workload"]),
                row["parametrization"] == PROXY,
                float(row["model.width"]),
                float(row["embedding_ratio"]),
                float(row["lr"]),
                int(row["seed"]),
            ),
            float(row["train_loss"]),
        )
        for row in table.to_dict("records")
    ]


def check_planned(path: Path, entered: Entered, points: Mapping[Point, float]) -> None:
    """Raise UserError where an entry lacks a run of the board's grid: rates that came out badly
    could have been left out."""
    for study, cells in entered.entered_cells().items():
        _, workload, stage = study.split("/")
        narrow = stage.partition("+")[0] == entry.STAGES[0]
        if "+" in stage:  # of a search's rounds only what it proposed was run
            continue
        for run in (run for cell in cells for run in cell.runs):
            if not any(_is_of(run.spec, point, workload, narrow) for point in points):
                raise UserError(f"{path}: lacks a run of {study}: {dict(run.axes)}")


def _is_of(spec: Mapping, point: Point, workload: str, narrow: bool) -> bool:
    """Whether a point is a planned run; a ratio that is taken from upstream may be any."""
    ratio = spec["embedding_ratio"]
    known = isinstance(ratio, int | float)
    return (
        (point.workload, point.narrow) == (workload, narrow)
        and (point.width, point.seed) == (spec["model"]["width"], spec["seed"])
        and math.isclose(point.rate, spec["lr"])
        and (not known or point.ratio == ratio)
    )


def in_numbers(found: Score) -> dict[str, Any]:
    """A score for JSON, its undefined numbers null."""

    def numbers(each: Estimate) -> list[float | None]:
        return [_plain(value) for value in (each.value, each.low, each.high)]

    each = {name: numbers(getattr(found, name)) for name in ("regret", "penalty", "lost")}
    return {**each, "problem": found.problem, "own": found.own, "note": found.note}


def in_words(found: Score) -> str:
    """`7 [4, 10]`; why it is undefined."""
    if found.problem:
        return f"undefined: {found.problem}"
    ends = "" if math.isnan(found.lost.low) else f" [{found.lost.low:.0f}, {found.lost.high:.0f}]"
    return f"{found.lost.value:.0f}{ends}"


def agree(one: Mapping, other: Mapping) -> bool:
    """Whether two scores are the same but for their last digits."""
    if one.keys() != other.keys():
        return False
    for column, each in one.items():
        for key, value in each.items():
            said = other[column].get(key)
            if isinstance(value, str):
                if value != said:
                    return False
            elif not all(map(_close, value, said)):
                return False
    return canonical_json([*one]) == canonical_json([*other])


def _close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)


def _plain(value: Any) -> Any:
    """A cell of a table as JSON has it: no infinity and no NaN, as words or null."""
    if isinstance(value, str):
        return value
    number = float(value)
    if math.isnan(number):
        return None
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
