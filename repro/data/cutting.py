"""A corpus cut into blocks for span denoising: whole sentences of one document."""

import numpy as np

from repro.data.shards import ShardedTokens

WINDOW = 2**23  # about how many tokens are cut at a time
VERSION = 1  # raise it when `cut` gives other blocks


def cut_shards(
    tokens: np.ndarray | ShardedTokens, separator: int | None, full_stop: np.ndarray, longest: int
) -> list[np.ndarray]:
    """`cut` of every shard, or of the one array: (2, blocks), first and end, in four bytes a number
    where that is enough. Those of shards are kept beside them (`ShardedTokens.derived`)."""

    def make(shard: np.ndarray) -> np.ndarray:
        places = np.stack(cut(shard, separator, full_stop, longest))
        return places.astype(np.int32) if places.max(initial=0) < 2**31 else places

    if not isinstance(tokens, ShardedTokens):
        return [make(tokens)]
    stops = np.flatnonzero(full_stop).tolist()
    settings = {"separator": separator, "full_stops": stops, "longest": longest}
    return tokens.derived(f"blocks-{longest}", settings | {"version": VERSION}, make)


def cut(
    tokens: np.ndarray, separator: int | None, full_stop: np.ndarray, longest: int
) -> tuple[np.ndarray, np.ndarray]:
    """(first, end) of consecutive blocks of at most `longest` tokens, each of one document.

    A block holds as many whole sentences as fit; a sentence longer than a block is cut. If several
    full stops follow each other, the sentence ends with the first, as in `Denoising.permute`.
    tokens: a tokenizer's ids. separator: id between documents, None if there is only one document.
    full_stop: id -> whether it is a full stop, bool.
    """
    # No block has tokens of two documents, so that whole documents are cut by themselves, a window
    # of them at a time: in memory are a few numbers a sentence of a window, not of the text.
    found, at = [], 0
    while at < len(tokens):
        window = tokens[at : at + WINDOW]
        if separator is not None and at + WINDOW < len(tokens):
            inside = np.flatnonzero(window == separator)
            window = window[: inside[-1] + 1] if len(inside) else tokens[at:]
        elif separator is None:
            window = tokens[at:]
        found.append(tuple(at + part for part in _cut(window, separator, full_stop, longest)))
        at += len(window)
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    first, end = zip(*found, strict=True)
    return np.concatenate(first), np.concatenate(end)


def _cut(
    tokens: np.ndarray, separator: int | None, full_stop: np.ndarray, longest: int
) -> tuple[np.ndarray, np.ndarray]:
    """`cut` of whole documents at once."""
    # 1. Sentences. They end after a full stop (the first of several) and where a document ends.
    stop = full_stop[tokens]
    is_end = np.zeros(len(tokens) + 1, dtype=bool)
    is_end[1:] = stop
    is_end[2:] &= ~stop[:-1]
    ends_document = np.zeros(len(tokens) + 1, dtype=bool)
    ends_document[-1] = True
    if separator is not None:
        ends_document[:-1] = tokens == separator
    ends = np.flatnonzero(is_end | ends_document)
    last = ends_document[ends]
    # A sentence starts where the previous one ends; after a document, behind the separator.
    starts = np.concatenate([[0], ends[:-1] + last[:-1]])
    document = np.cumsum(last) - last
    full = starts < ends  # a document may be empty
    starts, ends, document = starts[full], ends[full], document[full]
    # 2. Pieces. A sentence longer than a block is cut into pieces of `longest` tokens.
    pieces = -(-(ends - starts) // longest)
    number = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    starts = np.repeat(starts, pieces) + longest * number
    ends = np.minimum(starts + longest, np.repeat(ends, pieces))
    document = np.repeat(document, pieces)

    # 3. Blocks. A block that starts with piece i ends before piece following[i]: it holds as many
    # pieces as fit, and none of the next document.
    reached = np.searchsorted(ends, starts + longest, side="right")
    following = np.minimum(reached, np.searchsorted(document, document, side="right")).tolist()
    # A block starts where the previous one ended, which no array operation can compute.
    first = []
    at = 0
    while at < len(following):
        first.append(at)
        at = following[at]
    chosen = np.array(first, dtype=np.int64)
    return starts[chosen], ends[np.append(chosen[1:], len(ends)) - 1]
