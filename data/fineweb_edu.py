"""FineWeb-Edu (Penedo et al. 2024), every crawl, 1.3T tokens as published; read as a stream.

It replaces the corpus of Phi-3, on which Hayou & Liu (arXiv 2506.15025) pretrain and which is not
public. Dataset `fineweb` is one crawl of it. Sizes of train and valid are our choice.
"""

from dataclasses import replace
from pathlib import Path

from data.fineweb import CORPUS as ONE_CRAWL
from data.fineweb import LISTED as OF_ONE_CRAWL
from repro.data.corpus import Corpus

CORPUS = Corpus(
    name="fineweb_edu",
    in_place_of="Phi-3's corpus",
    published=f"FineWeb-Edu (all crawls, revision {ONE_CRAWL.revision[:8]}) in place of Phi-3's"
    " corpus",
    repository=ONE_CRAWL.repository,
    subset="default",
    revision=ONE_CRAWL.revision,
    lock=Path(__file__).with_suffix(".lock.json"),
    embedded={"train": (150_000, 30), "valid": (15_000, 31)},
    sha256={
        "train": "1801244428596aec18eda9a3238aef87d228d192eeefae572ec9a53ddb3966e4",
        "valid": "f5cded8061da0d869c9294da5a31d3f792c3a0b6e91d6febabe0d2146c431330",
    },
    valid_tokens=5_500_000,
    shard_tokens=2_000_000_000,  # about 700 shards; each is an open file, so not more
    hub_tokens=1.3e12,
)
identity, describe = CORPUS.identity, CORPUS.describe
LISTED = replace(
    OF_ONE_CRAWL,
    source=f"`{CORPUS.repository}` of the hub, every crawl",
    download="about 4 TB, 1.3 trillion tokens",
)
