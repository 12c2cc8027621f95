"""CC-News, English news articles of 2017 to 2019 from Common Crawl; read as a stream.

708,241 articles, 2.0 GB by the hub's card: a fortieth of RoBERTa's CC-News, enough for the small
scales alone. There it replaces the corpus of Dinan, Yaida & Zhang (arXiv 2304.02034), II.2.A; at
paper scale `fineweb_100b` does. Sizes of train and valid are our choice. Sentences of the synthetic
text end in full stops.

No revision is pinned here: the first read of the hub takes the newest revision and writes it to the
lock file, which must be committed; later reads use the same one.
"""

from pathlib import Path

from repro.data.corpus import Corpus
from repro.data.source import Listed

REPOSITORY = "vblagoje/cc_news"
LOCK = Path(__file__).with_suffix(".lock.json")
CORPUS = Corpus(
    name="ccnews",
    in_place_of="CC-News",
    published=f"CC-News ({REPOSITORY}, revision in {LOCK.name}) in place of the paper's corpus",
    repository=REPOSITORY,
    subset="plain_text",
    revision=None,
    lock=LOCK,
    embedded={"train": (150_000, 20), "valid": (15_000, 21)},
    sha256={
        "train": "6a4d0b9df6446072fc4ff386b772431d065b0561690c3b4565114f2ffc542be8",
        "valid": "22907a5687ee35e5113351ff1044452be7f43dc62d073747a6e7ae3729da773b",
    },
    valid_tokens=5_000_000,
    shard_tokens=100_000_000,
    hub_tokens=0.45e9,
)
identity, describe = CORPUS.identity, CORPUS.describe
LISTED = Listed(
    source=f"`{REPOSITORY}` of the hub",
    revision="the newest at the first read",
    digest="trusted on first use",
    download="about 1 GB",
    folder="`train.txt`, a document a line, and `valid.txt`; or `*.jsonl`, or `*.parquet`, "
    "with a column `text`",
)
