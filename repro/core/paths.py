"""Where files are, relative to the work folder. No torch."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from repro.data.needs import TOKENIZATION, Need, Tokens
from repro.errors import UserError
from repro.files import canonical_json, sha256

if TYPE_CHECKING:
    from repro.core.schedule import Cell, Choice

# The folders that a call makes in the work folder.
FOLDERS = ("results", "resources", "logs", "figures", ".snakemake")


def check_folders() -> None:
    """Raise UserError where a file, or a link that leads nowhere, is in the place of one of these:
    Snakemake would end in a traceback."""
    for path in map(Path, FOLDERS):
        if os.path.lexists(path) and not path.is_dir():
            raise UserError(f"{path}: a file is where a folder should be, move it away")


@dataclass(frozen=True)
class Paths:
    """The paths at one scale and choice of data.

    label: the data part of a path (`repro.core.config.data_label`).
    root: the folder of all results.
    identity: dataset name -> its identity (revision, digest of its content). A digest of it names
        the folder of the prepared dataset, so that two versions never mix.
    """

    scale: str
    label: str
    identity: Callable[[str], Mapping]
    root: Path = Path("results")

    @cached_property
    def results(self) -> Path:
        """The folder of all results at this scale on this data."""
        return self.root / self.scale / self.label

    @cached_property
    def runs(self) -> Path:
        """The folder of finished runs, `ab/<run id>.json` (`execute.homes`)."""
        return self.results / "runs"

    @cached_property
    def _known(self) -> dict[object, Path]:
        """What was asked for before: Snakemake asks for a cell's file eight times."""
        return {}

    def cell(self, cell: Cell) -> Path:
        """A cell's file."""
        key = cell.study, cell.name
        if key not in self._known:
            self._known[key] = self.results / cell.study / f"{cell.name}.json"
        return self._known[key]

    def checkpoints(self, cell: Cell) -> Path:
        """The folder of the final checkpoints of a cell's runs, `<run id>.safetensors`."""
        return self.cell(cell).with_suffix(".checkpoints")

    def choice(self, choice: Choice) -> Path:
        """The file of a choice."""
        return self.results / "choices" / choice.study / f"{choice.name}.json"

    def figure(self, figure_name: str) -> Path:
        """The folder of a figure's data, picture and claims."""
        return self.results / figure_name

    def manifest(self, dataset_name: str) -> Path:
        """The manifest of a prepared dataset."""
        digest = sha256(canonical_json(self.identity(dataset_name)))[:12]
        return Path("resources") / dataset_name / digest / "manifest.json"

    def tokens(self, need: Tokens) -> Path:
        """The manifest of a tokenized dataset."""
        name = f"{need.tokenizer}-{need.vocab_size}-v{TOKENIZATION}"
        return self.manifest(need.dataset).parent / name / "tokens.json"

    def need(self, need: Need) -> Path:
        """The manifest of what a run reads: tokens, or a prepared dataset."""
        if need not in self._known:
            self._known[need] = (
                self.tokens(need) if isinstance(need, Tokens) else self.manifest(need.dataset)
            )
        return self._known[need]
