"""Where everything lies, relative to the work folder. No torch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from repro.data.needs import TOKENIZATION, Need, Tokens
from repro.files import canonical_json, sha256
from repro.suite.plan import Cell


@dataclass(frozen=True)
class Paths:
    """The files of one scale and one choice of data.

    label: the data part of a path (`repro.suite.config.data_label`).
    identity: dataset name -> what it is; its digest names the folder of what is prepared of it.
    """

    scale: str
    label: str
    identity: Callable[[str], Mapping]

    @property
    def results(self) -> Path:
        """The folder of everything at this scale on these data."""
        return Path("results") / self.scale / self.label

    @property
    def runs(self) -> Path:
        """Finished runs by id."""
        return self.results / "runs"

    def cell(self, cell: Cell) -> Path:
        """A cell's file."""
        return self.results / cell.study / f"{cell.name}.json"

    def checkpoints(self, cell: Cell) -> Path:
        """The folder of the final checkpoints of a cell's runs, `<run id>.safetensors`."""
        return self.cell(cell).with_suffix(".checkpoints")

    def figure(self, figure_name: str) -> Path:
        """The folder of a figure's data, picture and claims."""
        return self.results / figure_name

    def manifest(self, dataset_name: str) -> Path:
        """The manifest of a prepared dataset."""
        digest = sha256(canonical_json(self.identity(dataset_name)))[:12]
        return Path("resources") / dataset_name / digest / "manifest.json"

    def tokens(self, need: Tokens) -> Path:
        """The manifest of a tokenized text."""
        name = f"{need.tokenizer}-{need.vocab_size}-v{TOKENIZATION}"
        return self.manifest(need.dataset).parent / name / "tokens.json"

    def need(self, need: Need) -> Path:
        """The manifest of an input."""
        return self.tokens(need) if isinstance(need, Tokens) else self.manifest(need.dataset)
