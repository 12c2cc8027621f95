"""FineWeb-Edu (Penedo et al. 2024), its publishers' sample of 100 billion tokens; read as a stream.

It replaces the corpus of Dinan, Yaida & Zhang (arXiv 2304.02034), II.2.A, at paper scale: RoBERTa's
five corpora, CC-100 and Reddit, which are not distributed together. A run of theirs makes less than
one pass over that, as one of 52 billion tokens does here. Sizes of train and valid are our choice.
"""

from dataclasses import replace
from pathlib import Path

from data.ccnews import CORPUS as NEWS
from data.fineweb import CORPUS as ONE_CRAWL
from data.fineweb import LISTED as OF_ONE_CRAWL
from repro.data.corpus import Corpus

SUBSET = "sample-100BT"
CORPUS = Corpus(
    name="fineweb_100b",
    in_place_of="FineWeb-Edu",
    published=f"FineWeb-Edu ({SUBSET}, revision {ONE_CRAWL.revision[:8]}) in place of the paper's"
    " corpus",
    repository=ONE_CRAWL.repository,
    subset=SUBSET,
    revision=ONE_CRAWL.revision,
    lock=Path(__file__).with_suffix(".lock.json"),
    embedded=NEWS.embedded,
    sha256=NEWS.sha256,
    valid_tokens=5_500_000,
    shard_tokens=500_000_000,  # about 200 shards
    hub_tokens=100e9,
)
identity, describe = CORPUS.identity, CORPUS.describe
LISTED = replace(
    OF_ONE_CRAWL,
    source=f"`{CORPUS.repository}` of the hub, the sample of 100 billion tokens",
    download="about 300 GB, 100 billion tokens",
)
