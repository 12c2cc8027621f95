"""Column `text` of parquet files, on this disk or on the hub, in parts that are read by themselves.

A part is some row groups of one file. Of a file's columns only the text is read, and a part needs
nothing of the parts before it: so processes share the reading, and it goes on where it stopped.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from repro.errors import UserError
from repro.files import open_file

COLUMN = "text"
# Text of a part, uncompressed: minutes of a core, which is what a killed call loses at most. Lock
# files name digests of parts: those of another size are others.
PART_BYTES = 2**28
ROWS = 1_000  # decoded at a time
# How the hub names the parts of a set.
OF = re.compile(r"(?P<before>.*?)(?P<number>\d{5,})-of-(?P<count>\d{5,})(?P<after>.*)")
AT_ONCE = 16  # files on the hub whose row groups are asked for at once


@dataclass(frozen=True)
class File:
    """A parquet file. place: its path, or an address (`hf://...`). dataset, advice: words for an
    error, what it is of and what to do."""

    dataset: str
    place: str
    advice: str = "mend or remove it"

    @property
    def is_local(self) -> bool:
        """Whether it is a path of this machine."""
        return "://" not in self.place

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """It as a `pyarrow.parquet.ParquetFile`; raises UserError where it cannot be read or has
        no column `text`."""
        import pyarrow.parquet as pq

        with self._bytes() as source:
            try:
                file = pq.ParquetFile(source, buffer_size=2**20, pre_buffer=False)
            except Exception as error:  # truncated, another format, network: many kinds
                raise self._fault("cannot be read as parquet", error) from error
            names = file.schema_arrow.names
            if COLUMN not in names:
                raise UserError(
                    f"{self.dataset}: {self.place}: column {COLUMN!r} is missing, found "
                    f"{sorted(names)}"
                )
            if names.count(COLUMN) > 1:
                raise UserError(
                    f"{self.dataset}: {self.place}: has {names.count(COLUMN)} columns "
                    f"{COLUMN!r}; leave the one to be read"
                )
            yield file

    @contextmanager
    def _bytes(self) -> Iterator[Any]:
        if self.is_local:
            with open_file(self.place) as source:
                yield source
            return
        import fsspec

        try:
            opened = fsspec.open(self.place, "rb").open()
        except Exception as error:  # the hub's client raises many kinds
            raise self._fault("cannot be read as parquet", error) from error
        with opened:
            yield opened

    def texts(self, groups: Sequence[int] | None = None, first: int = 0) -> Iterator[str]:
        """The texts of some row groups, or of all, in order; empty ones are left out.

        first: number of the first row in the file, for an error. Raises UserError naming the file
        and the row that is no text.
        """
        with self.opened() as file:
            number = first
            batches = file.iter_batches(ROWS, row_groups=groups, columns=[COLUMN])
            while True:
                try:
                    batch = next(batches, None)
                    texts = [] if batch is None else batch.column(0).to_pylist()
                except Exception as error:  # network, truncated file
                    raise self._fault(f"broke off after {number} documents", error) from error
                if batch is None:
                    return
                for text in texts:
                    if not isinstance(text, str):
                        raise UserError(
                            f"{self.dataset}: {self.place}: {COLUMN!r} of row {number} is "
                            f"{text!r}, expected a string"
                        )
                    number += 1
                    if text:
                        yield text

    def _fault(self, what: str, error: Exception) -> UserError:
        lines = str(error).strip().splitlines()
        reason = lines[0] if lines else type(error).__name__
        return UserError(f"{self.dataset}: {self.place} {what} ({reason}); {self.advice}")


def check_whole(dataset: str, paths: Iterable[Path]) -> None:
    """Raise UserError, naming the first that is missing, where names of files say of how many they
    are one, as `train-00000-of-00002.parquet`, and the others are not there."""
    sets: dict[tuple[str, int, str], dict[int, Path]] = {}
    for path in paths:
        if found := OF.fullmatch(path.name):
            key = found["before"], int(found["count"]), found["after"]
            sets.setdefault(key, {})[int(found["number"])] = path
    for (before, count, after), here in sets.items():
        missing = next(number for number in range(len(here) + 1) if number not in here)
        if missing < count:
            raise UserError(
                f"{dataset}: {here[max(here)].parent} has {len(here)} of the {count} parts of "
                f"{before}*{after}, part {missing} is missing; get them all, or rename those that "
                "are to be read alone"
            )


@dataclass(frozen=True)
class Part:
    """Row groups `first` to before `end` of a file, with `rows` rows from row `row` on.

    skip: how many of its documents belong to another split and are left out.
    """

    file: File
    first: int
    end: int
    row: int
    rows: int
    skip: int = 0

    @property
    def identity(self) -> dict:
        """Which part it is, as JSON values; a user's folder may lie elsewhere the next time."""
        place = Path(self.file.place).name if self.file.is_local else self.file.place
        return {"file": place, "row": self.row, "rows": self.rows, "skip": self.skip}

    def documents(self) -> Iterator[str]:
        """Its texts that are not empty."""
        texts = self.file.texts(range(self.first, self.end), self.row)
        return islice(texts, self.skip, None)


def parts(files: Iterable[File]) -> Iterator[Part]:
    """The parts of files, in order, each of whole row groups with PART_BYTES of text together.

    A file is looked at only when its parts are asked for, AT_ONCE of them together.
    """
    waiting = iter(files)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while some := list(islice(waiting, AT_ONCE)):
            for found in pool.map(_parts_of, some):
                yield from found


def _parts_of(file: File) -> list[Part]:
    """The parts of one file."""
    found, first, row, rows, size = [], 0, 0, 0, 0
    with file.opened() as opened:
        metadata = opened.metadata
        # Where a column of the schema lies among those that are stored, which differ if it nests.
        stored = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
        column = stored.index(COLUMN) if COLUMN in stored else 0
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            rows += group.num_rows
            size += group.column(column).total_uncompressed_size
            if size >= PART_BYTES or number == metadata.num_row_groups - 1:
                found.append(Part(file, first, number + 1, row, rows))
                first, row, rows, size = number + 1, row + rows, 0, 0
    return found


def behind(parts: Iterable[Part], count: int) -> Iterator[Part]:
    """The parts without the first `count` documents."""
    for part in parts:
        found = sum(1 for _ in islice(part.documents(), count + 1)) if count else 1
        if found > count:
            yield replace(part, skip=count)
            count = 0
        else:
            count -= found
