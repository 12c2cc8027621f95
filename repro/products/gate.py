"""What somebody else may have written of a figure, read: names are of the folder that they lie in,
numbers what they can be. Raises UserError, naming the file, on anything else. No torch."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from repro.errors import UserError
from repro.files import REMEDY, check_keys, read_as
from repro.lineage import foreign
from repro.lineage.provenance import devices
from repro.products.claims_json import check_results
from repro.products.published import PROVENANCE, RESULTS
from repro.verdicts import statements
from repro.verdicts.results import Results, Row

RESTORE = "restore records/ with git"


class Kept(TypedDict):
    """Of the JSON of a record, what no change of a test or of its form makes another."""

    provenance: "MadeOf"
    data_sha256: str


class Record(Kept):
    """The JSON of a record."""

    tests: list[dict]
    readings: list[dict]


class MadeOf(TypedDict):
    """The provenance of a record."""

    scale: str
    data: str
    label: str
    embedded: bool
    cells: list[str]
    data_sha256: str
    made: list[dict]
    code: NotRequired[str]  # of its figure, in records of before a figure's folder bore it
    datasets: NotRequired[dict[str, dict]]
    seeds: NotRequired[list[int]]
    unclean: NotRequired[list[str]]
    entry: NotRequired[dict]


class Provenance(MadeOf):
    """The provenance of a figure in results/, where it has what a record leaves out."""

    figure: str
    files: list[str]
    arithmetic: str
    chosen_after_seeing: str


def provenance(folder: Path) -> dict:
    """The provenance of a figure's folder, results/<scale>/<data>/<paper>/<figure>/<key>."""
    path = folder / PROVENANCE
    found = read_as(path, Provenance)
    *_, scale, label, paper, name, _ = folder.absolute().parts
    _expect(path, REMEDY, found, figure=f"{paper}/{name}", scale=scale, label=label)
    _check_made(path, found, REMEDY)
    return found


def results(folder: Path) -> Results:
    """The tests and readings of a figure's folder."""
    path = folder / RESULTS
    *_, scale, label, paper, name, _ = folder.absolute().parts
    found = check_results(read_as(path, dict), path)
    _check_rows(path, REMEDY, found, f"{paper}/{name}", scale, label)
    return found


def record(base: Path, judged: bool = True) -> dict:
    """The JSON of a record, records/<scale>/<data>/<device>/<paper>/<figure>.json. base: its path
    without suffix. judged: whether it must hold tests and readings in the form of today."""
    path = base.with_suffix(".json")
    found = read_as(path, dict, RESTORE)
    if not judged:
        found = {key: found[key] for key in Kept.__annotations__ if key in found}
    check_keys(found, Record if judged else Kept, path, RESTORE)
    made_of = found["provenance"]
    _check_made(path, made_of, RESTORE)
    scale, label, device, paper, name = base.absolute().parts[-5:]
    _expect(path, RESTORE, made_of, scale=scale, label=label, data_sha256=found["data_sha256"])
    _expect(path, RESTORE, {"device": "+".join(devices(made_of["made"]))}, device=device)
    if judged:
        _check_rows(
            path, RESTORE, check_results(found, path, RESTORE), f"{paper}/{name}", scale, label
        )
    if not foreign.is_shown_as_it_is(found):
        raise UserError(f"{path}: holds characters that cannot be shown; {RESTORE}")
    return found


def _expect(path: Path, remedy: str, found: Any, **expected: str) -> None:
    for key, value in expected.items():
        if found[key] != value:
            raise UserError(
                f"{path}: is of {key} {found[key]!a:.80}, and lies where that of {value} belongs; "
                + remedy
            )


def _check_made(path: Path, said: Any, remedy: str) -> None:
    """Hold a provenance's runs and names against what they can be."""
    if not said["made"]:
        raise UserError(f"{path}: is made of no run; {remedy}")
    for entry in said["made"]:
        check_keys(entry, {"device": str, "runs": int, "seconds": float}, path, remedy)
        foreign.check_provenance(entry, path, remedy, lacking=("inputs",))
        if entry["runs"] < 1 or entry["seconds"] < 0:
            raise UserError(
                f"{path}: has {entry['runs']} runs of {entry['seconds']} seconds; {remedy}"
            )
    if len({*said.get("seeds", ())}) < len(said.get("seeds", ())):
        raise UserError(f"{path}: has one of its seeds twice; {remedy}")


def _check_rows(
    path: Path, remedy: str, found: Results, figure: str, scale: str, label: str
) -> None:
    """Hold tests and readings against the figure that they are of, and the paper's statements."""
    paper, name = figure.split("/")
    ids = [row["test"] for row in found["tests"]] + [row["reading"] for row in found["readings"]]
    rows: Iterable[Row] = [*found["tests"], *found["readings"]]
    for row, id in zip(rows, ids, strict=True):
        _expect(path, remedy, row, figure=figure, scale=scale, data=label)
        if not id.startswith(f"{name}.") or ids.count(id) > 1:
            raise UserError(f"{path}: {id!a:.80} is none of {figure}, or is there twice; {remedy}")
    known = statements.of_paper(paper)
    for test in found["tests"]:
        if known and test["statement"] not in known:
            raise UserError(
                f"{path}: {test['test']} is of a statement {test['statement']!a:.80}, which "
                f"studies/{paper}/statements.csv lacks; {remedy}, or judge anew: "
                "uv run python -m repro record --again"
            )
