"""A corpus of documents read as a stream: generated, from the Hugging Face hub, or a folder's."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro.data import documents as streams
from repro.data import text
from repro.data.source import Source

SPLITS = ("train", "valid")


@dataclass
class Corpus:
    """One corpus under each of its sources.

    embedded: split -> (words, seed) of the suite's Zipf-Mandelbrot language, a document a line,
        with the digests in `sha256`.
    real: `subset` of the hub's `repository` at `revision`, or where that is None at the one which
        the lock file holds. Nobody publishes digests of these texts: the first download that is
        read to its end writes them to `lock`.
    folder: train.txt, valid.txt (a line is a document), or *.jsonl or *.parquet with a column
        `text`. Where there is no validation file, the first documents of the stream are valid,
        until they have `valid_tokens` tokens of GPT-2's, and all others train, as on the hub.

    in_place_of, published: what the embedded text stands for and what the hub's is, in words.
    shard_tokens: of one file of tokens. bpe_characters: of train, from its beginning, that a
    tokenizer is trained on.
    """

    name: str
    in_place_of: str
    published: str
    repository: str
    subset: str
    revision: str | None
    lock: Path
    embedded: dict[str, tuple[int, int]]
    sha256: dict[str, str]
    valid_tokens: int
    shard_tokens: int
    bpe_characters: int = 100_000_000

    def identity(self, source: Source) -> dict:
        """What the data are, for a run's id; reads a folder's files, touches no network.

        Of the hub without a revision that only the lock file holds: an id must not change when that
        file is first written.
        Raises UserError when a folder has no files to read, or files of several kinds.
        """
        found: dict[str, Any]
        if source.folder:
            found = {"sha256": streams.folder_digests(self.name, source.folder)}
        elif source.kind == "embedded":
            found = {"sha256": self.sha256}
        else:
            revision = self.revision or self.lock.name
            found = {"repository": self.repository, "subset": self.subset, "revision": revision}
        return {
            "source": source.kind,
            **found,
            "valid_tokens": self.valid_tokens,
            "shard_tokens": self.shard_tokens,
            "bpe_characters": self.bpe_characters,
        }

    def describe(self, source: Source) -> str:
        """The data source in words, for a figure's footer."""
        if source.folder:
            name, digest = next(iter(streams.folder_digests(self.name, source.folder).items()))
            return f"text from folder {source.folder.name} ({name} sha256 {digest[:8]})"
        if source.kind == "embedded":
            language = "a generated Zipf-Mandelbrot language"
            return f"embedded text in place of {self.in_place_of} ({language})"
        return self.published

    def documents(self, source: Source, split: str) -> Iterator[str]:
        """The texts of a split, in order.

        Raises UserError when a file or the hub cannot be read, or what was found is not expected.
        """
        if source.kind == "embedded":
            from repro.data.synthetic_text import zipf_mandelbrot_text

            content = zipf_mandelbrot_text(*self.embedded[split])
            text.check_digests(f"{self.name} (embedded)", {split: content}, self.sha256)
            yield from content.splitlines()
            return
        if source.folder:
            files = streams.folder_files(self.name, source.folder)
            if files["valid"]:
                yield from streams.from_files(self.name, files[split])
                return
            stream = streams.from_files(self.name, files["train"])
        else:
            stream = streams.from_hub(
                self.name, self.repository, self.subset, self._pinned_revision()
            )
        yield from streams.divide(self.name, stream, split, self.valid_tokens)

    def check_documents(self, source: Source, found: Mapping[str, Mapping]) -> None:
        """Hold what was read of the hub against the lock file; raises UserError where it differs.

        found: split -> {"documents", "text_sha256"} of all that was read.
        """
        if source.kind == "real":
            streams.check_lock(self.name, found, self.lock, self._pinned_revision())

    def _pinned_revision(self) -> str:
        return self.revision or streams.locked_revision(self.name, self.repository, self.lock)
