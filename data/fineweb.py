"""FineWeb-Edu (Penedo et al. 2024), the part from the crawl CC-MAIN-2013-20; read as a stream.

embedded: the suite's Zipf-Mandelbrot language, other samples than wikitext2's, a document a line.
real: the Hugging Face hub, revision pinned; its publishers give no digests of the texts, so the
    first download that is read to its end writes them to a lock file.
folder: train.txt, valid.txt (a line is a document), or *.jsonl or *.parquet with a column `text`.
Where there is no validation file, the first documents of the stream are valid, until they have
5.5M tokens of GPT-2's, and all others train. The paper states the sizes, 11.8B and 5.5M tokens, not
which documents: that choice is ours.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from repro.config import Source
from repro.data import documents as streams
from repro.data import text

REPOSITORY = "HuggingFaceFW/fineweb-edu"
SUBSET = "CC-MAIN-2013-20"
REVISION = "87f09149ef4734204d70ed1d046ddc9ca3f2b8f9"
LOCK = Path(__file__).with_suffix(".lock.json")

SPLITS = ("train", "valid")
VALID_TOKENS = 5_500_000
SHARD_TOKENS = 100_000_000
BPE_CHARACTERS = 100_000_000  # of train, from its beginning

EMBEDDED = {"train": (450_000, 10), "valid": (45_000, 11)}  # words, seed
EMBEDDED_SHA256 = {
    "train": "be72336178f895c605cf986c0f0fd2ac5082225bb1f1bacd93ea532fac7e04a0",
    "valid": "db5e7ac14c2eee46c6c2dfa3782abf9e45207e85f3c6ca92ca7d548c301b8e67",
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
        found = {"sha256": streams.folder_digests("fineweb", source.folder)}
    return {"source": source.kind} | found | made_with


def describe(source: Source) -> str:
    """The data source in words, for a figure's footer."""
    if source.kind == "embedded":
        return "embedded text in place of FineWeb-Edu (a generated Zipf-Mandelbrot language)"
    if source.kind == "real":
        return f"FineWeb-Edu ({SUBSET}, revision {REVISION[:8]})"
    name, digest = next(iter(streams.folder_digests("fineweb", source.folder).items()))
    return f"text from folder {source.folder.name} ({name} sha256 {digest[:8]})"


def documents(source: Source, split: str) -> Iterator[str]:
    """The texts of a split, in order.

    Raises UserError when a file or the hub cannot be read, or what was found is not expected.
    """
    if source.kind == "embedded":
        from repro.data.synthetic_text import zipf_mandelbrot_text

        content = zipf_mandelbrot_text(*EMBEDDED[split])
        text.check_digests("fineweb (embedded)", {split: content}, EMBEDDED_SHA256)
        yield from content.splitlines()
    elif source.kind == "real":
        stream = streams.from_hub("fineweb", REPOSITORY, SUBSET, REVISION)
        yield from streams.divide("fineweb", stream, split, VALID_TOKENS)
    else:
        files = streams.folder_files("fineweb", source.folder)
        if files["valid"]:
            yield from streams.from_files("fineweb", files[split])
        else:
            stream = streams.from_files("fineweb", files["train"])
            yield from streams.divide("fineweb", stream, split, VALID_TOKENS)


def check_documents(source: Source, found: Mapping[str, Mapping]) -> None:
    """Hold what was read of the hub against the lock file; raises UserError where it differs."""
    if source.kind == "real":
        streams.check_lock("fineweb", found, LOCK, REVISION)
