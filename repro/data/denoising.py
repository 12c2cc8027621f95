"""Span denoising (Lewis et al. 2020, as Dinan, Yaida & Zhang, arXiv 2304.02034, II.2.A, use it).

A block is a sequence of whole sentences of one document. To corrupt it, the sentences are put in
random order; then spans of words, with Poisson-distributed lengths, are each replaced by one
[mask]. A span of length 0 inserts a [mask]. Spans are drawn until their lengths add up to a given
share of the block's words; since spans can overlap or reach the block's end, fewer words may be
removed. This follows fairseq's DenoisingDataset with whole words, except for two of its faults:
here noise depends on (seed, epoch, block) alone, and exactly as many masks are inserted as drawn.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike

from repro.cost.bart import denoising_vocabulary_size
from repro.data.batches import Epochs
from repro.data.cutting import cut_shards
from repro.data.shards import ShardedTokens, parts_of
from repro.data.tokenization import load_tokenizer
from repro.errors import UserError

# fairseq's layout: four special tokens, the tokenizer's entries, padding to a multiple of 8, [mask]
BEGIN, PADDING, END, _UNKNOWN = range(4)
FIRST = 4
WORD_MARK = "Ġ"  # a byte-level tokenizer's space before a word
FULL_STOP = "."

PERMUTATION, LENGTHS, WORDS, INSERTIONS = range(4)  # streams of random numbers
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
AHEAD = 2**14  # about how many tokens are corrupted at a time


@dataclass(frozen=True)
class Vocabulary:
    """A model's vocabulary: a tokenizer's entries and special tokens.

    size: special tokens included. mask: id of [mask]. word_start, full_stop: bool (size,), whether
    a token starts a word (so a span may begin there), and whether it is a full stop.
    Raises UserError when it has no [mask].
    """

    size: int
    mask: int
    word_start: np.ndarray
    full_stop: np.ndarray

    def __post_init__(self):
        if not FIRST <= self.mask < self.size:
            raise UserError(
                f"span denoising: a vocabulary of {self.size} has no token [mask] ({self.mask}); "
                "use `vocabulary`, which makes room for it"
            )


def vocabulary(entries: Mapping[str, int]) -> Vocabulary:
    """The vocabulary made from a tokenizer's entries, text -> id.

    A word starts where the tokenizer marks it; if it marks none, every token is a word. A full stop
    is the token ".", alone or after a space.
    """
    size = denoising_vocabulary_size(len(entries))
    marked = any(text.startswith(WORD_MARK) and text != WORD_MARK for text in entries)
    word_start = np.ones(size, dtype=bool)
    full_stop = np.zeros(size, dtype=bool)
    for text, number in entries.items():
        word_start[FIRST + number] = text.startswith(WORD_MARK) or not marked
        full_stop[FIRST + number] = text.removeprefix(WORD_MARK) == FULL_STOP
    return Vocabulary(size, size - 1, word_start, full_stop)


def read_vocabulary(manifest_path: Path) -> Vocabulary:
    """The vocabulary of the tokenizer that lies beside a manifest of tokens."""
    return vocabulary(load_tokenizer(manifest_path)[1].get_vocab())


def mix(z: np.ndarray) -> np.ndarray:
    """SplitMix64's output function (Steele, Lea & Flood 2014) of uint64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def sample_keys(seed: int, epoch: int | np.ndarray, index_B: np.ndarray) -> np.ndarray:
    """uint64 (B,): one key per block, from which all its random numbers are made."""
    key_B = np.zeros(len(index_B), dtype=np.uint64)
    for part in (seed, epoch, index_B):
        key_B = mix((key_B + np.asarray(part, dtype=np.uint64) + np.uint64(1)) * GOLDEN)
    return key_B


def draw(key_B: np.ndarray, stream: int, count: int) -> np.ndarray:
    """Random uint64 (B, count), independent over blocks, streams and columns."""
    column = np.arange(1, count + 1, dtype=np.uint64) + (np.uint64(stream) << np.uint64(32))
    return mix(key_B[:, None] + column * GOLDEN)


def choose(key_B: np.ndarray, stream: int, of_B: np.ndarray, most: int) -> np.ndarray:
    """(B, most): in each row distinct numbers below of_B in random order; ignore columns past of_B.

    most: from 1 to the largest of_B.
    """
    wide = int(of_B.max())
    values = draw(key_B, stream, wide)
    values[np.arange(wide) >= of_B[:, None]] = np.iinfo(np.uint64).max
    smallest = np.argpartition(values, most - 1, axis=1)[:, :most]
    order = np.argsort(np.take_along_axis(values, smallest, 1), axis=1)
    return np.take_along_axis(smallest, order, 1)


def ranks(mask_BX: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(row, column, number of True entries before it in its row) of every True entry."""
    row, column = np.nonzero(mask_BX)
    counts = mask_BX.sum(1)
    return row, column, np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)


@dataclass(frozen=True)
class Denoising:
    """The corruption of blocks.

    share: share of a block's words that spans are drawn for. span_mean: mean span length, words.
    longest: most tokens in a corrupted block; insertions that would exceed it are left out.
    Raises UserError on a share outside 0 to 1 and on a mean that is not positive.
    """

    vocabulary: Vocabulary
    share: float
    span_mean: float
    longest: int

    def __post_init__(self):
        if not 0 <= self.share <= 1:
            raise UserError(f"span denoising: mask_share {self.share} is not a share, 0 to 1")
        if not self.span_mean > 0:
            raise UserError(f"span denoising: span_mean {self.span_mean} is not above 0")

    @cached_property
    def cumulative(self) -> np.ndarray:
        """Cumulative Poisson distribution of span lengths, cut at a probability of 1e-7."""
        mass = [math.exp(-self.span_mean)]
        while mass[-1] >= 1e-7 or len(mass) <= self.span_mean:
            mass.append(mass[-1] * self.span_mean / len(mass))
        return np.cumsum(mass) / sum(mass)

    def __call__(
        self, tokens_BT: np.ndarray, length_B: np.ndarray, key_B: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(corrupted tokens (B, S), their lengths (B,)) of blocks padded on the right.

        tokens_BT: int64, [begin] ... [end]. length_B: including these two tokens, at least 3.
        """
        return self.infill(self.permute(tokens_BT, length_B, key_B), length_B, key_B)

    def permute(self, tokens_BT: np.ndarray, length_B: np.ndarray, key_B: np.ndarray) -> np.ndarray:
        """Put the sentences of every block in random order; repeated full stops at its end stay."""
        stop_BT = self.vocabulary.full_stop[tokens_BT]
        stop_BT[np.arange(len(tokens_BT)), length_B - 2] = True
        last_BT = stop_BT.copy()
        last_BT[:, 1:] &= ~stop_BT[:, :-1]
        sentence_BT = np.cumsum(last_BT, axis=1) - last_BT
        count_B = last_BT.sum(1)
        values = draw(key_B, PERMUTATION, int(count_B.max()) + 1)
        place_BT = np.take_along_axis(values, sentence_BT, 1)
        place_BT[:, 0] = 0
        place_BT[sentence_BT == count_B[:, None]] = np.iinfo(np.uint64).max
        return np.take_along_axis(tokens_BT, np.argsort(place_BT, axis=1, kind="stable"), 1)

    def span_lengths(self, budget_B: np.ndarray, key_B: np.ndarray) -> np.ndarray:
        """(B, X): length of every span in words, the last cut to the budget; then -1."""
        count = int(budget_B.max()) // 2 + 8
        while True:
            uniform = (draw(key_B, LENGTHS, count) >> np.uint64(11)) * 2.0**-53
            lengths = np.searchsorted(self.cumulative, uniform, side="right")
            total = np.cumsum(lengths, axis=1)
            if (total[:, -1] >= budget_B).all():
                break
            count *= 2
        left = budget_B[:, None] - (total - lengths)
        return np.where(left > 0, np.minimum(lengths, left), -1)

    def infill(
        self, tokens_BT: np.ndarray, length_B: np.ndarray, key_B: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Replace every span of words by one [mask]; returns what `__call__` returns."""
        rows, columns = np.arange(len(tokens_BT)), np.arange(tokens_BT.shape[1])
        inside_BT = columns < length_B[:, None]
        # Words, [begin] and [end] aside, and how many to remove: in float32, as fairseq rounds.
        start_BT = self.vocabulary.word_start[tokens_BT] & inside_BT
        start_BT[:, 0] = start_BT[rows, length_B - 1] = False
        words_B = start_BT.sum(1)
        budget_B = np.ceil(words_B.astype(np.float32) * np.float32(self.share)).astype(np.int64)
        if not budget_B.any():
            return tokens_BT, length_B
        # place_BW: column where word w starts; past the last word that of [end], which spans keep.
        words = int(words_B.max())
        place_BW = np.repeat((length_B - 1)[:, None], words + 1, axis=1)
        row, column, word = ranks(start_BT)
        place_BW[row, word] = column

        # Spans of at least one word start at different words, but may overlap: then fewer words are
        # removed than the budget, as in fairseq.
        spans = self.span_lengths(budget_B, key_B)
        row, column, number = ranks(spans > 0)
        chosen = choose(key_B, WORDS, words_B, int(number.max()) + 1)[row, number]
        first = place_BW[row, chosen]
        end = place_BW[row, np.minimum(chosen + spans[row, column], words)]
        # [mask] replaces the first token of a span, the rest is removed. Mark +1 where that rest
        # begins and -1 where it ends: the running sum is 0 exactly at tokens outside all spans.
        result_BT = tokens_BT.copy()
        result_BT[row, first] = self.vocabulary.mask
        wide = len(columns) + 1
        change = np.bincount(row * wide + first + 1, minlength=len(rows) * wide)
        change -= np.bincount(row * wide + end, minlength=len(rows) * wide)
        kept_BT = (np.cumsum(change.reshape(-1, wide)[:, :-1], axis=1) == 0) & inside_BT
        # A span of length 0 removes nothing; its [mask] is inserted at a random place.
        return self._insert(result_BT, kept_BT, (spans == 0).sum(1), key_B)

    def _insert(
        self, tokens_BT: np.ndarray, kept_BT: np.ndarray, count_B: np.ndarray, key_B: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The kept tokens with `count_B` masks inserted at random between [begin] and [end]."""
        kept_B = kept_BT.sum(1)
        count_B = np.minimum(count_B, np.maximum(self.longest - kept_B, 0))
        length_B = kept_B + count_B
        inserted = np.zeros((len(tokens_BT), int(length_B.max())), dtype=bool)
        most = int(count_B.max())
        if most:
            at_BX = choose(key_B, INSERTIONS, length_B - 2, most) + 1
            row, column = np.nonzero(np.arange(most) < count_B[:, None])
            inserted[row, at_BX[row, column]] = True
        source = np.full(inserted.shape, PADDING, dtype=tokens_BT.dtype)
        inside = np.arange(source.shape[1]) < length_B[:, None]
        source[inside & ~inserted] = tokens_BT[kept_BT]
        source[inserted] = self.vocabulary.mask
        return source, length_B


class DenoisingBatches(Epochs):
    """Endless batches (source (B, S), previous (B, T), target (B, T), total (B,)), int64.

    target: a block, [begin] ... [end]. previous: the decoder's input, [end] [begin] ... source: the
    corrupted block. All are on `device`, padded to the longest in the batch. total: number of
    target tokens in the whole batch, repeated in every row, so that a microbatch knows it.
    The order is that of `Epochs`; the noise depends on (seed, epoch, block) alone.
    length: most tokens in a block, including [begin] and [end]. separator: see `cut`.
    Where the blocks of stored shards lie is kept beside them (`ShardedTokens.derived`).
    Raises UserError naming the dataset when its tokens make less than one batch.
    """

    def __init__(
        self,
        dataset: str,
        tokens: np.ndarray | ShardedTokens,
        separator: int | None,
        denoising: Denoising,
        batch_size: int,
        length: int,
        seed: int,
        device,
    ):
        self.shards = parts_of(tokens)
        full_stop = denoising.vocabulary.full_stop[FIRST:]
        self.cuts = cut_shards(tokens, separator, full_stop, length - 2)
        counts = [cuts.shape[1] for cuts in self.cuts]
        if sum(counts) < batch_size:
            raise UserError(
                f"{dataset}: {len(tokens)} tokens make {sum(counts)} blocks of at most "
                f"{length}, fewer than one batch of {batch_size}: use a longer text or a smaller "
                "batch"
            )
        self.first_block = np.cumsum([0, *counts[:-1]])  # number of every shard's first block
        super().__init__(sum(counts), batch_size, seed)
        self.denoising, self.device = denoising, device

    def read(self, numbers: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """(blocks padded on the right (B, T), their lengths (B,))."""
        blocks = np.asarray(numbers)
        shard_B = np.searchsorted(self.first_block, blocks, side="right") - 1
        own_B = blocks - self.first_block[shard_B]
        places = [self.cuts[s][:, i].tolist() for s, i in zip(shard_B, own_B, strict=True)]
        length_B = np.array([end - first + 2 for first, end in places])
        tokens_BT = np.full((len(blocks), int(length_B.max())), PADDING, dtype=np.int64)
        tokens_BT[:, 0] = BEGIN
        for row, (shard, (first, end)) in enumerate(zip(shard_B, places, strict=True)):
            part = self.shards[shard][first:end]
            tokens_BT[row, 1 : len(part) + 1] = part
            tokens_BT[row, 1 : len(part) + 1] += FIRST
            tokens_BT[row, len(part) + 1] = END
        return tokens_BT, length_B

    def from_step(self, step: int) -> Iterator[tuple[torch.Tensor, ...]]:
        """Batches number step, step + 1, ...

        Several batches, about AHEAD tokens, are corrupted at once: numpy is slow on small arrays.
        """
        order = self._from_step(step, "cpu")
        size = self.batch_size
        ahead = max(1, AHEAD // (size * self.denoising.longest))
        while True:
            numbers, indices = zip(*islice(order, ahead), strict=True)
            blocks = torch.cat(indices).numpy()
            targets, lengths = self.read(blocks)
            epochs = np.repeat(numbers, size) // self.per_epoch
            sources, kept = self.denoising(targets, lengths, sample_keys(self.seed, epochs, blocks))
            for rows in (slice(i * size, (i + 1) * size) for i in range(ahead)):
                target_BT = targets[rows, : lengths[rows].max()]
                source_BS = sources[rows, : kept[rows].max()]
                total_B = np.full(size, lengths[rows].sum())
                arrays = (source_BS, previous(target_BT), target_BT, total_B)
                yield tuple(
                    torch.from_numpy(np.ascontiguousarray(a)).to(self.device, non_blocking=True)
                    for a in arrays
                )


def previous(target_BT: np.ndarray) -> np.ndarray:
    """The decoder's input: [end], then the target without its final [end]."""
    shifted = np.empty_like(target_BT)
    shifted[:, 0] = END
    shifted[:, 1:] = np.where(target_BT[:, :-1] == END, PADDING, target_BT[:, :-1])
    return shifted
