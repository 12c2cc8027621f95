"""Tables of numbers from CSV files; an error names the line that is wrong."""

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from repro.errors import UserError

GZIP = b"\x1f\x8b"
# What may stand between cells in place of commas -> in words, and as `tr` has it.
OTHERS = {"\t": ("tabs", "\\t"), ";": ("semicolons", ";"), "|": ("bars", "|"), " ": ("blanks", " ")}


def read_csv(
    dataset: str, path: Path, header: bool, words: str = ""
) -> tuple[list[str], np.ndarray]:
    """Column names (empty without a header) and the cells, (rows, columns) float64.

    Also reads what gzip packed. words: a column that may hold any text, of which there are the
    numbers 1, 2, ... in its order. Raises UserError naming the file and the line if the file is
    empty or truncated, has a column twice or other separators, a line has another number of cells
    than the first, or a cell is not a finite number.
    """
    import pandas as pd

    try:
        names = _first(path) if header else []
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise UserError(f"{dataset}: {path} has column {twice[0]!r} twice; leave one of them")
        kinds = {name: str if name == words else np.float64 for name in names}
        with _opened(path) as file:
            table = pd.read_csv(
                file, header=0 if header else None, dtype=kinds or np.float64, na_filter=False
            )
        if words in names:
            table[words] = _numbered(table[words])
        cells = table.to_numpy(np.float64)
        if len(cells) and np.isfinite(cells).all() and table.shape[1] > 1:
            return names, cells
    except (ValueError, OSError, EOFError, zlib.error, csv.Error):  # the line is found below
        pass
    raise _fault(dataset, path, header, words)


def line_of(path: Path, header: bool, row: int) -> int:
    """The line of a file in which a row of its cells stands."""
    with _opened(path) as file:
        lines = [number for number, _ in _rows(file)]
    return lines[row + header]


def _opened(path: Path) -> IO[str]:
    """A file as text, unpacked where gzip packed it, whatever its name."""
    with path.open("rb") as file:
        packed = file.read(2) == GZIP
    return (gzip.open if packed else open)(path, "rt", encoding="utf-8-sig", newline="")


def _first(path: Path) -> list[str]:
    with _opened(path) as file:
        return next((cells for _, cells in _rows(file)), [])


def _rows(file: IO[str]) -> Iterator[tuple[int, list[str]]]:
    """Line and cells of each row that is not empty."""
    rows = csv.reader(file)
    yield from ((rows.line_num, cells) for cells in rows if cells)


def _numbered(labels) -> np.ndarray:
    """Texts as their place among the different ones, from 1 on: by size where all are numbers."""
    different = sorted({*labels})
    if all(map(_is_number, different)):
        return np.unique(labels.astype(np.float64), return_inverse=True)[1] + 1
    return np.unique(labels, return_inverse=True)[1] + 1


def _fault(dataset: str, path: Path, header: bool, words: str) -> UserError:
    """The error for the first wrong line of a file that pandas cannot read as numbers."""
    first: list[str] = []
    number = 0
    try:
        with _opened(path) as file:
            for number, cells in _rows(file):
                if not first and len(cells) == 1 and (said := _separated(cells[0])):
                    return UserError(f"{dataset}: {path} {said}")
                first = first or cells
                if len(cells) != len(first):
                    return UserError(
                        f"{dataset}: {path} line {number} has {len(cells)} cells, expected "
                        f"{len(first)} as in the first; complete or remove the line"
                    )
                if header and cells is first:
                    continue
                for column, cell in enumerate(cells, start=1):
                    name = first[column - 1] if header else ""
                    if not _is_number(cell) and not (name and name == words):
                        which = f"column {column}" + f" ({name})" * header
                        return UserError(
                            f"{dataset}: {path} line {number} has {cell!r} in {which}, expected a "
                            "number in the digits 0 to 9; mend or remove the line"
                        )
    except (EOFError, zlib.error) as error:
        return UserError(
            f"{dataset}: {path} cannot be unpacked after line {number} ({error}): it is truncated "
            "or damaged; get it again"
        )
    except UnicodeDecodeError:
        return UserError(
            f"{dataset}: {path} is no text in UTF-8 after line {number}; unpack or convert it"
        )
    except (OSError, csv.Error) as error:
        return UserError(f"{dataset}: {path} cannot be read after line {number} ({error}); mend it")
    return UserError(f"{dataset}: {path} has no rows, found {number} lines; give the whole file")


def _separated(line: str) -> str:
    """What stands between the cells of a line without commas, and what to do; "" where nothing."""
    for mark, (name, typed) in OTHERS.items():
        if len(line.split(mark)) > 1:
            return (
                f"has {name} between its cells, expected commas; convert it: "
                f"tr '{typed}' ',' < OLD > NEW"
            )
    return ""


def _is_number(cell: str) -> bool:
    try:  # float takes 1_0 and the digits of every script, and pandas neither
        return "_" not in cell and cell.isascii() and bool(np.isfinite(float(cell)))
    except ValueError:
        return False
