"""FineWeb-Edu (Penedo et al. 2024), every crawl, 1.3T tokens as published; read as a stream.

In place of the corpus of Phi-3, on which Hayou & Liu (arXiv 2506.15025) pretrain and which is not
public. `fineweb` is the part of it from one crawl.

embedded: the suite's Zipf-Mandelbrot language, other samples than the other datasets', a document
    a line.
real: the Hugging Face hub, revision pinned; its publishers give no digests of the texts, so the
    first download that is read to its end writes them to a lock file.
folder: train.txt, valid.txt (a line is a document), or *.jsonl or *.parquet with a column `text`.
Where there is no validation file, the first documents of the stream are valid, until they have
5.5M tokens of GPT-2's, and all others train: our choice.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from data.fineweb import REPOSITORY, REVISION
from repro.config import Source
from repro.data import documents as streams
from repro.data import text

SUBSET = "default"
LOCK = Path(__file__).with_suffix(".lock.json")

SPLITS = ("train", "valid")
VALID_TOKENS = 5_500_000
SHARD_TOKENS = 2_000_000_000  # about 700 shards: every one is an open file
BPE_CHARACTERS = 100_000_000  # of train, from its beginning

EMBEDDED = {"train": (150_000, 30), "valid": (15_000, 31)}  # words, seed
EMBEDDED_SHA256 = {
    "train": "1801244428596aec18eda9a3238aef87d228d192eeefae572ec9a53ddb3966e4",
    "valid": "f5cded8061da0d869c9294da5a31d3f792c3a0b6e91d6febabe0d2146c431330",
}


def identity(source: Source) -> dict:
    """What the data are, for a run's id; reads a folder's files, touches no network.

    Raises UserError when a folder has no files to read, or files of several kinds.
    """
    made_with = {
        "valid_tokens": VALID_TOKENS,
        "shard_tokens": SHARD_TOKENS,
        "bpe_characters": BPE_CHARACTERS,
    }
    if source.kind == "embedded":
        found = {"sha256": EMBEDDED_SHA256}
    elif source.kind == "real":
        found = {"repository": REPOSITORY, "subset": SUBSET, "revision": REVISION}
    else:
        found = {"sha256": streams.folder_digests("fineweb_edu", source.folder)}
    return {"source": source.kind} | found | made_with


def describe(source: Source) -> str:
    """The data source in words, for a figure's footer."""
    if source.kind == "embedded":
        return "embedded text in place of Phi-3's corpus (a generated Zipf-Mandelbrot language)"
    if source.kind == "real":
        return f"FineWeb-Edu (all crawls, revision {REVISION[:8]}) in place of Phi-3's corpus"
    name, digest = next(iter(streams.folder_digests("fineweb_edu", source.folder).items()))
    return f"text from folder {source.folder.name} ({name} sha256 {digest[:8]})"


def documents(source: Source, split: str) -> Iterator[str]:
    """The texts of a split, in order.

    Raises UserError when a file or the hub cannot be read, or what was found is not expected.
    """
    if source.kind == "embedded":
        from repro.data.synthetic_text import zipf_mandelbrot_text

        content = zipf_mandelbrot_text(*EMBEDDED[split])
        text.check_digests("fineweb_edu (embedded)", {split: content}, EMBEDDED_SHA256)
        yield from content.splitlines()
    elif source.kind == "real":
        stream = streams.from_hub("fineweb_edu", REPOSITORY, SUBSET, REVISION)
        yield from streams.divide("fineweb_edu", stream, split, VALID_TOKENS)
    else:
        files = streams.folder_files("fineweb_edu", source.folder)
        if files["valid"]:
            yield from streams.from_files("fineweb_edu", files[split])
        else:
            stream = streams.from_files("fineweb_edu", files["train"])
            yield from streams.divide("fineweb_edu", stream, split, VALID_TOKENS)


def check_documents(source: Source, found: Mapping[str, Mapping]) -> None:
    """Hold what was read of the hub against the lock file; raises UserError where it differs."""
    if source.kind == "real":
        streams.check_lock("fineweb_edu", found, LOCK, REVISION)
