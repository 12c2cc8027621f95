"""A corpus of documents read as a stream: generated, from the Hugging Face hub or from a folder."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from repro.data import documents as streams
from repro.data import lockfiles, parquet, text
from repro.data.parquet import File, Part
from repro.data.source import Source

SPLITS = ("train", "valid")


@dataclass
class Corpus:
    """One corpus, from any of its three sources.

    embedded: split -> (words, seed) of the suite's synthetic language (`zipf_mandelbrot_text`), one
        document per line; `sha256` has the digests.
    real: `subset` of the hub's `repository` at `revision`; if that is None, at the revision in the
        lock file. Nobody publishes digests of these texts, so the first download that is read to
        its end writes them to `lock`.
    folder: train.txt, valid.txt (one document per line), or *.jsonl or *.parquet with a column
        `text`. Without a validation file the stream is divided as on the hub: its first documents,
        with `valid_tokens` GPT-2 tokens, are the split valid, all others train.

    in_place_of: name of the corpus that the synthetic text replaces. published: name of the hub's.
    shard_tokens: tokens in one shard file. bpe_characters: characters at the beginning of train
    that a tokenizer is trained on. train_documents: how many train has at most, None: all.
    hub_tokens: about how many GPT-2 tokens the hub's has, None where nobody says.
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
    train_documents: int | None = None
    hub_tokens: float | None = None

    def tokens(self, source: Source) -> float | None:
        """About how many tokens train has; None where that is not known without reading it."""
        if source.folder:
            return None
        return self.hub_tokens if source.kind == "real" else self.embedded["train"][0]

    def identity(self, source: Source) -> dict:
        """What the data are, for a run's id; reads a folder's files, but uses no network.

        A revision that only the lock file knows is left out: an id must not change when that file
        is first written.
        Raises UserError when a folder has no files to read, files of several kinds, or too little
        text.
        """
        found: dict[str, Any]
        if source.folder:
            digests = streams.folder_digests(self.name, source.folder)
            streams.check_enough(self.name, source.folder, self.valid_tokens, digests)
            found = {"sha256": digests}
        elif source.kind == "embedded":
            found = {"sha256": self.sha256}
        else:
            revision = self.revision or self.lock.name
            found = {"repository": self.repository, "subset": self.subset, "revision": revision}
        limit = {"train_documents": self.train_documents} if self.train_documents else {}
        return {
            "source": source.kind,
            **found,
            **limit,
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

        Raises UserError when a file or the hub cannot be read, or the text is not the expected one.
        """
        if source.kind == "embedded":
            from repro.data.synthetic_text import zipf_mandelbrot_text

            content = zipf_mandelbrot_text(*self.embedded[split])
            text.check_digests(f"{self.name} (synthetic)", {split: content}, self.sha256)
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
        # Here one stream has everything: both splits are made from it.
        found = streams.divide(self.name, stream, split, self.valid_tokens)
        yield from islice(found, self.train_documents if split == "train" else None)

    def parts(self, source: Source) -> Iterator[Part] | None:
        """The documents of train in parts that can be read by themselves, in order, also those
        beyond `train_documents`; None where they are one stream: generated text, lines of text.

        Raises UserError as `documents`.
        """
        if source.kind == "embedded":
            return None
        if source.folder:
            files = streams.folder_files(self.name, source.folder)
            if files["train"][0].suffix != ".parquet":
                return None
            found = parquet.parts(File(self.name, str(path)) for path in files["train"])
            if files["valid"]:
                return found
        else:
            revision = self._pinned_revision()
            found = parquet.parts(
                streams.hub_files(self.name, self.repository, self.subset, revision)
            )
        return parquet.behind(found, sum(1 for _ in self.documents(source, "valid")))

    def check_documents(self, source: Source, found: Mapping[str, Mapping]) -> None:
        """Compare what was read from the hub with the lock file; raises UserError if they differ.

        found: split -> {"documents", and "text_sha256" or "parts_sha256"}, number and digest of all
        documents read.
        """
        if source.kind == "real":
            train = lockfiles.read(self.lock).get("splits", {}).get("train", {})
            if "text_sha256" in train and "parts_sha256" in found["train"]:
                from repro.data.shards import update  # not above: it needs numpy

                # Locked when all of train was one stream: only reading it as one gives its digest.
                text = hashlib.sha256()
                for document in self.documents(source, "train"):
                    update(text, document)
                documents = found["train"]["documents"]
                read = {"documents": documents, "text_sha256": text.hexdigest()}
                found = {**found, "train": read}
            lockfiles.check(self.name, self.lock, self._pinned_revision(), found)

    def _pinned_revision(self) -> str:
        return self.revision or streams.locked_revision(self.name, self.repository, self.lock)
