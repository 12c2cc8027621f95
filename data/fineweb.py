"""FineWeb-Edu (Penedo et al. 2024), the part from the crawl CC-MAIN-2013-20; read as a stream.

The paper states the sizes of train and valid, 11.8B and 5.5M tokens, but not which documents they
have. Our choice: valid is the beginning (`repro.data.corpus`).
"""

from pathlib import Path

from repro.data.corpus import Corpus
from repro.data.source import Listed

SUBSET = "CC-MAIN-2013-20"
REVISION = "87f09149ef4734204d70ed1d046ddc9ca3f2b8f9"
CORPUS = Corpus(
    name="fineweb",
    in_place_of="FineWeb-Edu",
    published=f"FineWeb-Edu ({SUBSET}, revision {REVISION[:8]})",
    repository="HuggingFaceFW/fineweb-edu",
    subset=SUBSET,
    revision=REVISION,
    lock=Path(__file__).with_suffix(".lock.json"),
    embedded={"train": (450_000, 10), "valid": (45_000, 11)},
    sha256={
        "train": "be72336178f895c605cf986c0f0fd2ac5082225bb1f1bacd93ea532fac7e04a0",
        "valid": "db5e7ac14c2eee46c6c2dfa3782abf9e45207e85f3c6ca92ca7d548c301b8e67",
    },
    valid_tokens=5_500_000,
    shard_tokens=100_000_000,
    hub_tokens=11.8e9,
)
identity, describe = CORPUS.identity, CORPUS.describe
LISTED = Listed(
    source=f"`{CORPUS.repository}` of the hub, one crawl",
    revision=f"`{REVISION}`",
    digest="trusted on first use",
    download="about 30 GB, 11.8 billion tokens",
    folder="`train.txt`, a document a line, and `valid.txt`; or `*.jsonl`, or `*.parquet`, "
    "with a column `text`",
)
