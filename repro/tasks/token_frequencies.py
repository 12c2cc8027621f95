"""Token frequency against frequency rank in a tokenized corpus."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from repro.data.needs import Tokens
from repro.data.shards import parts_of
from repro.data.tokenization import load_tokens


def run(
    *,
    data: Mapping,
    split: str,
    points: int,
    inputs: Mapping[Tokens, Path],
    device: None,
    progress,
    checkpoint: Path,
) -> list[dict]:
    """Counts at about `points` ranks, evenly spaced in log rank, among tokens that occur at all.

    Returns one record per rank: `rank`, `count`, and of the corpus `tokens` (their total number),
    `types_used` (distinct tokens that occur) and `vocab_reached`.
    """
    manifest, tokens = load_tokens(
        inputs[Tokens(data["dataset"], data["vocab_size"], data["tokenizer"])]
    )
    size = manifest["vocab_reached"]
    found = [np.bincount(part, minlength=size) for part in parts_of(tokens[split])]
    counts = np.sort(np.sum(found, axis=0))[::-1]
    counts = counts[counts > 0]
    ranks = np.unique(np.geomspace(1, len(counts), points).round().astype(int))
    return [
        {
            "rank": int(rank),
            "count": int(counts[rank - 1]),
            "tokens": int(counts.sum()),
            "types_used": len(counts),
            "vocab_reached": manifest["vocab_reached"],
        }
        for rank in ranks
    ]
