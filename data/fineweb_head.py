"""The beginning of dataset `fineweb`: what a workstation can read in an hour or two.

A million documents, about 1.0 billion tokens; validation text is that of `fineweb`.
"""

from dataclasses import replace
from pathlib import Path

from data.fineweb import CORPUS as WHOLE
from data.fineweb import LISTED as OF_WHOLE

DOCUMENTS = 1_000_000
CORPUS = replace(
    WHOLE,
    name="fineweb_head",
    published=WHOLE.published.replace("FineWeb-Edu (", f"FineWeb-Edu ({DOCUMENTS:,} documents of "),
    lock=Path(__file__).with_suffix(".lock.json"),
    train_documents=DOCUMENTS,
    hub_tokens=1.0e9,
)
identity, describe = CORPUS.identity, CORPUS.describe
LISTED = replace(
    OF_WHOLE,
    source=f"`{CORPUS.repository}` of the hub, a million documents of one crawl",
    download="about 3 GB, a million documents, 1.0 billion tokens",
)
