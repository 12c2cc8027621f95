"""What a run takes from earlier stages: from their cells, or from a choice. No torch.

A choice is a small job's: it reads the cells of a stage, hundreds at paper scale, once for all
cells of the next, and writes what these take.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from repro.core.cells import read_cell
from repro.core.locks import locked
from repro.core.runs import Run, Upstream
from repro.core.schedule import Cell, Choice
from repro.errors import UserError
from repro.files import (
    CELL_SEAL,
    REMEDY,
    canonical_json,
    read_sealed,
    remove_temporaries,
    sha256,
    write_sealed,
)
from repro.lineage import arithmetic, foreign

# The entries of a choice's file. files: `_marks` of the cells. results, made: as of the methods
# `digests` and `made`. taken: each reference, and what it takes.
CHOICE = {
    **{"id": str, "files": list, "results": dict[str, str], "made": dict[str, str | None]},
    "taken": list[dict],
}


class UpstreamResults:
    """Called with an upstream run, reads its entry in its cell's file; with "file" and "sha256" of
    its final checkpoint, if it has one.

    cells: run id -> (cell, its file, its folder of checkpoints). choices: ids of runs -> (the
    choice from among them, its file), which is read in the place of their cells.
    Raises UserError if a cell or choice is missing or was edited.
    """

    def __init__(
        self,
        cells: Mapping[str, tuple[Cell, Path, Path]],
        choices: Mapping[tuple[str, ...], tuple[Choice, Path]] | None = None,
    ):
        self.cells, self.choices = cells, choices or {}
        self.contents: dict[Path, dict] = {}
        self.digested: dict[str, str] = {}

    def __call__(self, run: Run) -> dict:
        cell, path, folder = self.cells[run.id]
        if path not in self.contents:
            runs = read_cell(path, cell)["runs"]
            self.contents[path] = {result["id"]: result for result in runs}
        result = self.contents[path][run.id]
        file = os.fspath(folder / f"{run.id}.safetensors")
        return result | {"file": file, "sha256": result.get("sha256_checkpoint")}

    def choose(self, upstream: Upstream) -> Any:
        """What a run takes."""
        chosen = self._choice(upstream)
        if chosen is None:
            return upstream.choose(self)
        return chosen["taken"][canonical_json(upstream.identity)]

    def digests(self, run: Run) -> dict[str, str]:
        """`run <id>` -> digest of its records, for each upstream run whose result a run may use."""
        found: dict[str, str] = {}
        for upstream in run.upstream.values():
            chosen = self._choice(upstream)
            found |= chosen["results"] if chosen else self._digests(upstream.runs)
        return found

    def _digests(self, runs: Iterable[Run]) -> dict[str, str]:
        for run in runs:
            if run.id not in self.digested:
                self.digested[run.id] = sha256(canonical_json(self(run)["records"]))
        return {f"run {run.id[:12]}": self.digested[run.id] for run in runs}

    def made(self, upstream: Upstream) -> dict[str, str | None]:
        """The `provenance.machine` of the runs to choose from."""
        chosen = self._choice(upstream)
        if chosen:
            return chosen["made"]
        found = self(upstream.runs[0])["provenance"]
        of_gpu = {key: found[key] for key in ("capability",) if key in found}
        return {"device": found["device"], "arithmetic": arithmetic.of(found), **of_gpu}

    def _choice(self, upstream: Upstream) -> dict | None:
        """The choice from among these runs; None where they are read themselves."""
        if upstream.runs.ids not in self.choices:
            return None
        choice, path = self.choices[upstream.runs.ids]
        if path not in self.contents:
            self.contents[path] = _read(choice, path)
        return self.contents[path]

    def write(self, choice: Choice, path: Path, files: Sequence[Path]) -> None:
        """Choose, for all cells that do so from the same runs, and write what each may take.
        files: as of `is_current`."""
        marks = _marks(files)  # before they are read
        content = {
            "id": choice.id,
            "study": choice.study,
            "cells": [cell.id for cell in choice.cells],
            "files": marks,
            "results": self._digests(choice.runs),
            "made": self.made(choice.taken[0]),
            "taken": [
                {"reference": each.identity, "value": each.choose(self)} for each in choice.taken
            ],
        }
        with locked(path.with_suffix(".lock")):
            remove_temporaries(path.parent, f".{path.stem}-*")
            write_sealed(path, content, CELL_SEAL)


def is_current(choice: Choice, path: Path, files: Sequence[Path]) -> bool:
    """Whether a choice's file was made from its cells' files as they are. files: those of its
    cells, in their order; their contents are not read."""
    try:
        return _content(choice, path)["files"] == _marks(files)
    except (UserError, OSError):
        return False


def _marks(files: Iterable[Path]) -> list[list[int]]:
    """Of each file, what shows that it was written again: its size and its time."""
    return [[status.st_size, status.st_mtime_ns] for status in map(os.stat, files)]


def _content(choice: Choice, path: Path) -> dict:
    if not path.exists():
        raise UserError(f"{path}: is missing; run the same command again, which makes it")
    content = read_sealed(path, CELL_SEAL, kind=CHOICE)
    if content["id"] != choice.id:
        raise UserError(f"{path}: is another choice than {choice.id[:12]}; {REMEDY}")
    return content


def _read(choice: Choice, path: Path) -> dict:
    """A choice's content, with what is taken by what asks for it."""
    content = _content(choice, path)
    taken = {canonical_json(each.get("reference")): each.get("value") for each in content["taken"]}
    device = foreign.fits(content["made"].get("device"), foreign.DEVICE)
    if not device or taken.keys() != {canonical_json(each.identity) for each in choice.taken}:
        raise UserError(f"{path}: takes other than its cells ask for, or on no device; {REMEDY}")
    return content | {"taken": taken}
