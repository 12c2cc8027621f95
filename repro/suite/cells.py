"""The file of a cell (the runs of one job): its format, and how to read it."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from repro.errors import UserError
from repro.files import CELL_SEAL, REMEDY, read_sealed
from repro.suite import arithmetic
from repro.suite.plan import Cell

FORMAT = 1
# The entries that this suite reads: of a finished run's file, of a cell, and of a run in a cell.
FINISHED = {"id": str, "spec": dict, "records": list, "provenance": dict}
CELL = {"id": str, "study": str, "runs": list}
RUN = FINISHED | {"axes": dict}


def check_format(content: Mapping, name: object, remedy: str = REMEDY) -> None:
    """Raise UserError, naming the file, unless a cell has the format and entries of this suite."""
    if content.get("format") != FORMAT:
        raise UserError(f"{name}: is no cell of this suite's format {FORMAT}; {remedy}")
    check_keys(content, CELL, name, remedy)
    for run in content["runs"]:
        check_keys(run, RUN, name, remedy)


def check_keys(
    content: object, keys: Mapping[str, type], name: object, remedy: str = REMEDY
) -> None:
    """Raise UserError, naming the file, unless its content has these keys with these types."""
    entries = content if isinstance(content, Mapping) else {}
    lacking = [key for key, kind in keys.items() if not isinstance(entries.get(key), kind)]
    if lacking:
        raise UserError(f"{name}: was not written by this suite, it lacks {lacking[0]!r}; {remedy}")


def encode_record(record: Mapping) -> dict:
    """A record for JSON, which has no infinity: as "inf", which float() and pandas read back."""
    return {
        key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in record.items()
    }


def read_cell(path: Path, cell: Cell) -> dict:
    """The content of a cell's file; raises UserError if it is missing, was edited, or is of other
    runs than this cell's."""
    if not path.exists():
        raise UserError(f"{path}: is missing; the grid has a hole, run the same command again")
    content = read_sealed(path, CELL_SEAL)
    check_format(content, path)
    if content["id"] != cell.id or [r["id"] for r in content["runs"]] != [r.id for r in cell.runs]:
        raise UserError(
            f"{path}: holds cell {content['id'][:12]}, not {cell.id[:12]} (another spec, scale or "
            f"data source); {REMEDY}"
        )
    return content


def check_compatible(contents: Mapping[Path, Mapping]) -> None:
    """Raise UserError unless all runs of a figure were made on one kind of device, with one known
    arithmetic, and from the same data. contents: cell file -> its content."""
    devices: dict[str, Path] = {}
    arithmetics: dict[str, Path] = {}
    digests: dict[str, tuple[str, Path]] = {}
    for path, content in contents.items():
        for run in content["runs"]:
            devices.setdefault(run["provenance"]["device"], path)
            arithmetics.setdefault(arithmetic.of(run["provenance"]), path)
            for name, digest in run["provenance"]["inputs"].items():
                first = digests.setdefault(name, (digest, path))
                if first[0] != digest:
                    raise UserError(
                        f"{path}: read other {name} than {first[1]} did ({digest[:12]} against "
                        f"{first[0][:12]}); delete the one that is not to be kept"
                    )
    for kind, paths in (("devices", devices), ("arithmetics", arithmetics)):
        if len(paths) > 1:
            listed = ", ".join(f"{name} ({path})" for name, path in paths.items())
            raise UserError(
                f"one figure never mixes {kind}, found {listed}; delete the cells of one of them"
                + (", or give arithmetic=portable" if kind == "arithmetics" else "")
            )
    if arithmetic.UNKNOWN in arithmetics:
        raise UserError(
            f"{arithmetics[arithmetic.UNKNOWN]}: was made before runs said with which arithmetic; "
            f"{REMEDY}, which makes its runs again"
        )


def frame(contents: Sequence[Mapping]):
    """A pandas DataFrame of cells: a row for each evaluation of each run.

    Columns: the run's axes, the values tuned upstream, and the record's entries, without mappings.
    """
    import pandas as pd

    rows = [
        {
            **run["axes"],
            **run.get("tuned", {}),
            **{key: value for key, value in record.items() if not isinstance(value, Mapping)},
        }
        for content in contents
        for run in content["runs"]
        for record in run["records"]
    ]
    table = pd.DataFrame(rows)
    for column in table.columns:
        if table[column].dtype == object:
            numeric = pd.to_numeric(table[column], errors="coerce")
            if numeric.notna().all():
                table[column] = numeric
    return table
