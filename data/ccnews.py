"""CC-News, English news articles of 2017 to 2019 from Common Crawl; read as a stream.

In place of the corpus of Dinan, Yaida & Zhang (arXiv 2304.02034), II.2.A, which joins RoBERTa's
five, CC-100 and Reddit, and is not distributed; CC-News is one of the five.

embedded: the suite's Zipf-Mandelbrot language, other samples than the other datasets', a document
    a line, sentences ending in full stops.
real: the Hugging Face hub. No revision is known to us beforehand: the first read asks the hub for
    its newest and writes it to a lock file, with digests once all was read; that file is to be
    committed, and later reads take the same revision and hold what they read against it.
folder: train.txt, valid.txt (a line is a document), or *.jsonl or *.parquet with a column `text`.
Where there is no validation file, the first documents of the stream are valid, until they have
5M tokens of GPT-2's, and all others train: our choice, the paper states none.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from repro.config import Source
from repro.data import documents as streams
from repro.data import text

REPOSITORY = "vblagoje/cc_news"
SUBSET = "plain_text"
LOCK = Path(__file__).with_suffix(".lock.json")

SPLITS = ("train", "valid")
VALID_TOKENS = 5_000_000
SHARD_TOKENS = 100_000_000
BPE_CHARACTERS = 100_000_000  # of train, from its beginning

EMBEDDED = {"train": (150_000, 20), "valid": (15_000, 21)}  # words, seed
EMBEDDED_SHA256 = {
    "train": "6a4d0b9df6446072fc4ff386b772431d065b0561690c3b4565114f2ffc542be8",
    "valid": "22907a5687ee35e5113351ff1044452be7f43dc62d073747a6e7ae3729da773b",
}


def identity(source: Source) -> dict:
    """What the data are, for a run's id; reads a folder's files, touches no network.

    Of the hub without the revision, which the lock file holds: an id must not change when that
    file is first written.
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
        found = {"repository": REPOSITORY, "subset": SUBSET, "revision": LOCK.name}
    else:
        found = {"sha256": streams.folder_digests("ccnews", source.folder)}
    return {"source": source.kind} | found | made_with


def describe(source: Source) -> str:
    """The data source in words, for a figure's footer."""
    if source.kind == "embedded":
        return "embedded text in place of CC-News (a generated Zipf-Mandelbrot language)"
    if source.kind == "real":
        return f"CC-News ({REPOSITORY}, revision in {LOCK.name}) in place of the paper's corpus"
    name, digest = next(iter(streams.folder_digests("ccnews", source.folder).items()))
    return f"text from folder {source.folder.name} ({name} sha256 {digest[:8]})"


def documents(source: Source, split: str) -> Iterator[str]:
    """The texts of a split, in order.

    Raises UserError when a file or the hub cannot be read, or what was found is not expected.
    """
    if source.kind == "embedded":
        from repro.data.synthetic_text import zipf_mandelbrot_text

        content = zipf_mandelbrot_text(*EMBEDDED[split])
        text.check_digests("ccnews (embedded)", {split: content}, EMBEDDED_SHA256)
        yield from content.splitlines()
    elif source.kind == "real":
        revision = streams.locked_revision("ccnews", REPOSITORY, LOCK)
        stream = streams.from_hub("ccnews", REPOSITORY, SUBSET, revision)
        yield from streams.divide("ccnews", stream, split, VALID_TOKENS)
    else:
        files = streams.folder_files("ccnews", source.folder)
        if files["valid"]:
            yield from streams.from_files("ccnews", files[split])
        else:
            stream = streams.from_files("ccnews", files["train"])
            yield from streams.divide("ccnews", stream, split, VALID_TOKENS)


def check_documents(source: Source, found: Mapping[str, Mapping]) -> None:
    """Hold what was read of the hub against the lock file; raises UserError where it differs."""
    if source.kind == "real":
        revision = streams.locked_revision("ccnews", REPOSITORY, LOCK)
        streams.check_lock("ccnews", found, LOCK, revision)
