"""Tables of numbers from CSV files; an error names the line that is wrong."""

import gzip
import zlib
from pathlib import Path

import numpy as np

from repro.errors import UserError


def read_csv(dataset: str, path: Path, header: bool) -> tuple[list[str], np.ndarray]:
    """Column names (empty without a header) and the cells, (rows, columns) float64.

    Also reads .gz. Raises UserError naming the file and the line if the file is empty or truncated,
    a line has another number of cells than the first, or a cell is not a finite number.
    """
    import pandas as pd

    try:
        table = pd.read_csv(path, header=0 if header else None, dtype=np.float64, na_filter=False)
        cells = table.to_numpy()
        if len(cells) and np.isfinite(cells).all():
            return [str(name) for name in table.columns] if header else [], cells
    except (ValueError, OSError, EOFError, zlib.error):  # the line is found below
        pass
    raise _fault(dataset, path, header)


def _fault(dataset: str, path: Path, header: bool) -> UserError:
    """The error for the first wrong line of a file that pandas cannot read as numbers."""
    width = number = 0
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                cells = line.rstrip("\r\n").split(",")
                width = width or len(cells)
                if len(cells) != width:
                    return UserError(
                        f"{dataset}: {path} line {number} has {len(cells)} cells, expected {width} "
                        "as in the first; is the file truncated?"
                    )
                if header and number == 1:
                    continue
                for column, cell in enumerate(cells, start=1):
                    if not _is_number(cell):
                        return UserError(
                            f"{dataset}: {path} line {number} has {cell!r} in column {column}, "
                            "expected a number; mend or remove the line"
                        )
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        return UserError(
            f"{dataset}: {path} cannot be read after line {number} ({error}); is it truncated?"
        )
    return UserError(f"{dataset}: {path} has no rows, found {number} lines; give the whole file")


def _is_number(cell: str) -> bool:
    try:
        return "_" not in cell and bool(np.isfinite(float(cell)))  # 1_0 is one in Python alone
    except ValueError:
        return False
