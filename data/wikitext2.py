"""WikiText-2 (Merity et al. 2016), word-level text as published, with `<unk>`.

embedded: synthetic, the suite's Zipf-Mandelbrot language, deterministic.
real: the Hugging Face hub at a pinned revision; line counts as torchtext publishes them. Trusted on
    first use (`repro.data.lockfiles`).
folder: train.txt, and optionally valid.txt and test.txt; or the files of the published archives,
    wiki.train.tokens or wiki.train.raw and so on, or the hub's, train-*.parquet and so on.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from repro.data import lockfiles, text
from repro.data.source import Listed, Source
from repro.files import sha256

REPOSITORY = "Salesforce/wikitext"
SUBSET = "wikitext-2-v1"
REVISION = "b08601e04326c79dfdd32d625aee71d232d685c3"
LISTED = Listed(
    source=f"`{REPOSITORY}` of the Hugging Face hub",
    revision=f"`{REVISION}`",
    digest="trusted on first use. The job says whether the text is that of the published files, "
    "whose SHA-1 mxnet and gluonnlp have",
    download="7 MB",
    folder="`train.txt`, and `valid.txt`, `test.txt` where there are: any text; or "
    "WikiText's files as published: `wiki.train.tokens`, `wiki.train.raw`, `train-*.parquet` and "
    "so on",
)
LINES = {"train": 36_718, "valid": 3_760, "test": 4_358}

# SHA-1 of wiki.train.tokens, wiki.valid.tokens and wiki.test.tokens as two packages on PyPI publish
# them, mxnet 1.9.1 (mxnet/gluon/contrib/data/text.py) and gluonnlp 0.10.0
# (gluonnlp/data/corpora/wikitext.py). Of the hub's rows nobody publishes any.
PUBLISHED_SHA1 = {
    "train": "863f29c46ef9d167fff4940ec821195882fe29d1",
    "valid": "0418625c8b4da6e4b5c7a0b9e78d4ae8f7ee5422",
    "test": "c7b8ce0aa086fb34dab808c5c49224211eb2b172",
}

LOCK = Path(__file__).with_suffix(".lock.json")

# The language is described in repro/data/synthetic_text.py. Digests are of its UTF-8 text.
EMBEDDED = {
    "train": (450_000, 0),
    "valid": (45_000, 1),
    "test": (45_000, 2),
}  # words, seed
EMBEDDED_SHA256 = {
    "train": "c3c6569f87800c41d0f480f3a2e813409c2257cb6cba1c186d5293354318c986",
    "valid": "d4270b08526eb650c2454f33844076a38169c99026c71f8bbb155361a3f2ac25",
    "test": "d97fcdf3de7df597fe2ba2a1810fbcdd8d837ef964322b63638e4ea0e96f5286",
}


def identity(source: Source) -> dict:
    """What the data are, for a run's id; reads a folder's files, but uses no network.

    Raises UserError naming a missing, empty or undecodable file.
    """
    if source.kind == "embedded":
        return {"source": "embedded", "sha256": EMBEDDED_SHA256}
    if source.kind == "real":
        return {
            "source": "real",
            "repository": REPOSITORY,
            "subset": SUBSET,
            "revision": REVISION,
        }
    return {
        "source": "folder",
        "sha256": text.folder_digests("wikitext2", source.folder),
    }


def describe(source: Source) -> str:
    """The data source in words, for a figure's footer."""
    if source.kind == "embedded":
        return "embedded text (a generated Zipf-Mandelbrot language)"
    if source.kind == "real":
        return f"WikiText-2 ({SUBSET}, revision {REVISION[:8]})"
    name, digest = next(iter(text.folder_digests("wikitext2", source.folder).items()))
    return f"text from folder {source.folder.name} ({name} sha256 {digest[:8]})"


def splits(source: Source) -> Mapping[str, str | Path]:
    """Split name -> text, or a folder's file.

    Raises UserError when what was found is not what was expected.
    """
    if source.kind == "embedded":
        from repro.data.synthetic_text import zipf_mandelbrot_text

        found = {name: zipf_mandelbrot_text(*size) for name, size in EMBEDDED.items()}
        text.check_digests("wikitext2 (synthetic)", found, EMBEDDED_SHA256)
        return found
    if source.kind == "real":
        rows = text.download("wikitext2", REPOSITORY, SUBSET, REVISION, LINES)
        found = {split: "".join(lines) for split, lines in rows.items()}
        said = {split: {"text_sha256": sha256(t.encode())} for split, t in found.items()}
        lockfiles.check("wikitext2", LOCK, REVISION, said)
        print(f"wikitext2: the text is {'' if is_published(rows) else 'not '}the published one")
        return found
    return text.folder_texts("wikitext2", source.folder)


def is_published(rows: Mapping[str, list[str]]) -> bool:
    """Whether the hub's rows are the published files, whose empty lines have a blank.

    It is said, not required: that the hub differs in these blanks alone was never tried on it.
    """
    files = {split: "".join(line or " \n" for line in lines) for split, lines in rows.items()}
    return {
        split: hashlib.sha1(content.encode()).hexdigest() for split, content in files.items()
    } == PUBLISHED_SHA1
