"""The file of a cell (the runs of one job): its format, and how to read it."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from repro.core.runs import Run
from repro.core.schedule import Cell
from repro.core.spec import lookup, override
from repro.errors import UserError
from repro.files import CELL_SEAL, REMEDY, canonical_json, check_keys, read_sealed
from repro.lineage import arithmetic, foreign
from repro.lineage.provenance import kind
from repro.tasks import TASKS

FORMAT = 1
MOST = 256 * 2**20  # bytes of a cell's file; the largest at paper scale has a few million
# The entries that this suite reads: of a finished run's file, of a cell, and of a run in a cell.
FINISHED = {
    "id": str,
    "spec": dict,
    "datasets": dict,
    "records": list[dict],
    "provenance": dict,
}
CELL = {"id": str, "study": str, "axes": dict, "runs": list[dict]}
RUN = FINISHED | {"axes": dict}


def check_format(content: Mapping, name: object, remedy: str = REMEDY) -> None:
    """Raise UserError, naming the file, unless a cell has the format and entries of this suite."""
    if content.get("format") != FORMAT:
        raise UserError(f"{name}: is no cell of this suite's format {FORMAT}; {remedy}")
    check_keys(content, CELL, name, remedy)
    for run in content["runs"]:
        check_keys(run, RUN, name, remedy)


def check_cell(content: Mapping, cell: Cell, name: object, remedy: str = REMEDY) -> None:
    """Raise UserError, naming the file, unless this is a cell's content: of its runs, with their
    axes, each as of `check_result`."""
    check_format(content, name, remedy)
    if content["id"] != cell.id or [r["id"] for r in content["runs"]] != [r.id for r in cell.runs]:
        raise UserError(
            f"{name}: holds cell {content['id'][:12]!a}, not {cell.id[:12]} (another spec, "
            f"scale or data source); {remedy}"
        )
    pairs = [(content["study"], cell.study), (content["axes"], cell.axes)]
    pairs += [(r["axes"], run.axes) for r, run in zip(content["runs"], cell.runs, strict=True)]
    for found, expected in pairs:
        if canonical_json(found) != canonical_json(expected):
            raise UserError(
                f"{name}: its study or axes are not those of cell {cell.id[:12]}, {expected}; "
                + remedy
            )
    for result, run in zip(content["runs"], cell.runs, strict=True):
        check_result(result, run, name, remedy)


def check_result(result: Mapping, run: Run, name: object, remedy: str = REMEDY) -> None:
    """Raise UserError, naming the file, unless this is the entry of a finished run: of its id, with
    the settings, data and tuned values that the id is of, and nothing that `foreign` refuses.

    The numbers that a run recorded and where it was made are taken on trust: only that they are
    what its task records, as often and as large as they can be.
    """
    check_keys(result, FINISHED, name, remedy)
    if result["id"] != run.id:
        raise UserError(f"{name}: holds run {result['id'][:12]!a}, not {run.id[:12]}; {remedy}")
    if not _is_of(result, run):
        raise UserError(f"{name}: its settings are not those of run {run.id[:12]}; {remedy}")
    digest = result.get("sha256_checkpoint")
    if digest is not None and not foreign.fits(digest, foreign.DIGEST):
        raise UserError(f"{name}: sha256_checkpoint of run {run.id[:12]} is no digest; {remedy}")
    if not result["records"] and None not in result.get("tuned", {}).values():
        raise UserError(f"{name}: run {run.id[:12]} has no records; {remedy}")
    foreign.check_provenance(result["provenance"], name, remedy)
    for record in result["records"]:
        foreign.check_record(record, name, remedy)
    records = result["records"]
    if records and (wrong := TASKS[run.task].records.misfit(records, result["spec"])):
        raise UserError(f"{name}: run {run.id[:12]} {wrong}; {remedy}")


def _is_of(result: Mapping, run: Run) -> bool:
    """Whether settings, data and tuned values of a result are those that a run's id is of. A value
    from upstream, which the id does not fix, must be a number or a word."""
    try:
        spec = override(result["spec"], run.upstream)
        tuned = result.get("tuned", {})
        return (
            replace(run, spec=spec, datasets=result["datasets"]).id == run.id
            and tuned.keys() <= run.upstream.keys()
            and all(lookup(result["spec"], key) == value for key, value in tuned.items())
            and all(foreign.fits(v, (foreign.NUMBER, foreign.CELL, None)) for v in tuned.values())
        )
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, UserError):
        return False


def encode_record(record: Mapping) -> dict:
    """A record for JSON, which has no infinity: as "inf", which float() and pandas read back."""
    return {
        key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in record.items()
    }


def read_cell(path: Path, cell: Cell) -> dict:
    """The content of a cell's file, wherever it was made: it may have been brought here by rsync or
    in an archive. Raises UserError if it is missing, was edited, or is of other runs than this
    cell's."""
    if not path.exists():
        raise UserError(f"{path}: is missing; the grid has a hole, run the same command again")
    if path.stat().st_size > MOST:
        raise UserError(
            f"{path}: has {path.stat().st_size:,} bytes, more than a cell may ({MOST:,}); {REMEDY}"
        )
    content = read_sealed(path, CELL_SEAL, kind=CELL)
    check_cell(content, cell, path)
    return content


def check_compatible(contents: Mapping[Path, Mapping]) -> None:
    """Raise UserError unless all runs of a figure were made on one kind of device (a CPU, or GPUs
    of one compute capability), with one known arithmetic, and from the same data. contents: cell
    file -> its content."""
    devices: dict[str, Path] = {}
    arithmetics: dict[str, Path] = {}
    digests: dict[str, tuple[str, Path]] = {}
    for path, content in contents.items():
        for run in content["runs"]:
            devices.setdefault(kind(run["provenance"]), path)
            arithmetics.setdefault(arithmetic.of(run["provenance"]), path)
            for name, digest in run["provenance"]["inputs"].items():
                first = digests.setdefault(name, (digest, path))
                if first[0] != digest:
                    raise UserError(
                        f"{path}: read other {name} than {first[1]} did ({digest[:12]} against "
                        f"{first[0][:12]}); delete the one that is not to be kept"
                    )
    for what, paths in (("devices", devices), ("arithmetics", arithmetics)):
        if len(paths) > 1:
            listed = ", ".join(f"{name} ({path})" for name, path in paths.items())
            raise UserError(
                f"one figure never mixes {what}, found {listed}; delete the cells of one of them"
                + (", or give arithmetic=portable" if what == "arithmetics" else "")
            )
    if arithmetic.UNKNOWN in arithmetics:
        raise UserError(
            f"{arithmetics[arithmetic.UNKNOWN]}: was made before runs said with which arithmetic; "
            f"{REMEDY}, which makes its runs again"
        )
