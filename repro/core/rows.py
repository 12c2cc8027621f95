"""Tables beside a paper's studies: CSV files, columns the fields of a dataclass. No torch."""

import csv
import io
import re
import reprlib
from collections.abc import Iterator, Sequence
from dataclasses import Field, astuple, fields
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from repro.errors import UserError
from repro.files import write_bytes
from repro.lineage.checkout import ROOT

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Row = TypeVar("Row", bound="DataclassInstance")
NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")


def read(name: str, kind: type[Row]) -> Sequence[tuple[str, Row]]:
    """Place (file and line) and content of every row; nothing where there is no such file.

    name: relative to the checkout. kind: a dataclass of strings and numbers, which may refuse a row
    with a ValueError.
    Raises UserError, naming file and line, on a row that is none of its kind.
    """
    return parsed(name, kind, (ROOT / name).read_bytes()) if (ROOT / name).exists() else ()


@lru_cache(maxsize=64)  # every claim of a report asks for its paper's
def parsed(name: str, kind: type, data: bytes) -> tuple[tuple[str, Any], ...]:
    """What `read` returns, of a file's content."""
    return tuple(_rows(name, kind, data))


def _rows(name: str, kind: type[Row], data: bytes) -> Iterator[tuple[str, Row]]:
    columns = [field.name for field in fields(kind)]
    try:
        lines = csv.reader(data.decode().splitlines(keepends=True), strict=True)
        if next(lines, []) != columns:
            raise UserError(f"{name}, line 1: the columns must be {','.join(columns)}")
        for cells in lines:
            yield f"{name}, line {lines.line_num}", _row(kind, cells)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{name}, line {line}: is not UTF-8; save the file as UTF-8") from None
    except csv.Error as error:
        raise UserError(f"{name}, line {lines.line_num}: is not CSV ({error})") from None
    except ValueError as error:
        words = " ".join(str(error).split())
        raise UserError(f"{name}, line {lines.line_num}: {words[:400]}") from None


def _row(kind: type[Row], cells: list[str]) -> Row:
    columns = fields(kind)
    if len(cells) != len(columns):
        raise ValueError(f"has {len(cells)} cells where {len(columns)} belong")
    return kind(*(_value(column, cell) for column, cell in zip(columns, cells, strict=True)))


def _value(column: Field, cell: str) -> str | int | float:
    """A cell as its column's type."""
    if len(cell.splitlines()) > 1:
        raise ValueError(f"{column.name} has a line break; a row is one line")
    if not cell.isprintable():
        raise ValueError(f"{column.name} {reprlib.repr(cell)} holds what cannot be shown")
    if column.type is int and not cell.isdecimal():
        raise ValueError(f"{column.name} {reprlib.repr(cell)} is no whole number")
    if column.type is float and not (NUMBER.fullmatch(cell) and isfinite(float(cell))):
        raise ValueError(f"{column.name} {reprlib.repr(cell)} is no number; write it as 0.95")
    return column.type(cell) if column.type in (int, float) else cell


def write(name: str, kind: type[Row], rows: Sequence[Row]) -> None:
    """Write such a file, the whole of it or nothing. name: relative to the checkout."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([[field.name for field in fields(kind)], *map(astuple, rows)])
    write_bytes(ROOT / name, buffer.getvalue().encode())
