"""Batches in an order fixed by the seed: token blocks, and rows of arrays."""

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
import torch

from repro import backend
from repro.data.shards import ShardedTokens, parts_of
from repro.errors import UserError

HALVED = 2**25  # from so many rows on an order takes four bytes a row


class Batches(Protocol):
    """Training batches, tuples of tensors with a row for each sample."""

    def from_step(self, step: int) -> Iterator[tuple[torch.Tensor, ...]]:
        """Batches number step, step + 1, ..."""


class Epochs:
    """Endless batches of row numbers 0 to rows - 1; the batch of a step needs no earlier one.

    Every epoch is a new permutation seeded by (seed, epoch); its last incomplete batch is dropped.
    """

    def __init__(self, rows: int, batch_size: int, seed: int):
        self.rows, self.batch_size, self.seed = rows, batch_size, seed
        self.per_epoch = rows // batch_size

    def _from_step(self, step: int, device) -> Iterator[tuple[int, torch.Tensor]]:
        """(step, the batch's row numbers on `device`), (step + 1, ...), ..."""
        while True:
            epoch, position = divmod(step, self.per_epoch)
            rng = np.random.default_rng((self.seed, epoch))
            # The same order in either type; of hundreds of millions of rows every process has one.
            kind = np.int32 if HALVED <= self.rows < 2**31 else np.int64
            order = torch.from_numpy(rng.permutation(np.arange(self.rows, dtype=kind)))
            order = backend.to_device(order, device)
            for i in range(position, self.per_epoch):
                yield step, order[i * self.batch_size : (i + 1) * self.batch_size]
                step += 1


class TokenBatches(Epochs):
    """Endless batches of (inputs, targets), each (batch_size, length) int64 on `device`.

    The text is cut into consecutive blocks of `length` tokens; their order is that of `Epochs`. An
    array is kept on the device as a whole. Of shards only the batch is read and moved there, and no
    block crosses the end of a shard.
    Raises UserError naming the dataset when its tokens make less than one batch.
    """

    def __init__(
        self,
        dataset: str,
        tokens: np.ndarray | ShardedTokens,
        batch_size: int,
        length: int,
        seed: int,
        device,
    ):
        counts = [max((len(part) - 1) // length, 0) for part in parts_of(tokens)]
        blocks = sum(counts)
        if blocks < batch_size:
            raise UserError(
                f"{dataset}: {len(tokens)} tokens make {blocks} blocks of {length}, fewer "
                f"than one batch of {batch_size}: use a longer text or a smaller batch"
            )
        super().__init__(blocks, batch_size, seed)
        self.length, self.device = length, device
        self.shards: list[np.ndarray] = []  # none of an array, whose blocks lie on the device
        if isinstance(tokens, ShardedTokens):
            self.shards = tokens.shards
            self.first_block = np.cumsum([0, *counts[:-1]])  # number of every shard's first block
        else:
            used = torch.from_numpy(tokens[: blocks * length + 1].astype(np.int64)).to(device)
            self.inputs = used[:-1].view(blocks, length)
            self.targets = used[1:].view(blocks, length)

    def from_step(self, step: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Batches number step, step + 1, ..."""
        if not self.shards:
            for _, index in self._from_step(step, self.device):
                yield self.inputs.index_select(0, index), self.targets.index_select(0, index)
        else:
            for _, index in self._from_step(step, "cpu"):
                tokens_BT = backend.to_device(self._read(index.numpy()), self.device)
                yield tokens_BT[:, :-1], tokens_BT[:, 1:]

    def _read(self, blocks: np.ndarray) -> torch.Tensor:
        """Tokens of the given blocks, and one more after each, (len(blocks), length + 1) int64."""
        shard_of = np.searchsorted(self.first_block, blocks, side="right") - 1
        result = np.empty((len(blocks), self.length + 1), dtype=np.int64)
        for row, (shard, block) in enumerate(zip(shard_of, blocks, strict=True)):
            start = (block - self.first_block[shard]) * self.length
            result[row] = self.shards[shard][start : start + self.length + 1]
        return torch.from_numpy(result)


class ArrayBatches(Epochs):
    """Endless batches of (inputs, labels), kept on `device`: inputs (batch_size, ...), as given,
    labels (batch_size,) int64.

    The order is that of `Epochs`.
    transform: (inputs, step) -> inputs, which must depend on nothing else, or None.
    Raises UserError naming the dataset when there are fewer rows than one batch.
    """

    def __init__(
        self,
        dataset: str,
        inputs: np.ndarray,
        labels: np.ndarray,
        batch_size: int,
        seed: int,
        device,
        transform: Callable[[torch.Tensor, int], torch.Tensor] | None = None,
    ):
        if len(inputs) < batch_size:
            raise UserError(
                f"{dataset}: {len(inputs)} rows are fewer than one batch of {batch_size}: use more "
                "rows or a smaller batch"
            )
        super().__init__(len(inputs), batch_size, seed)
        self.inputs = torch.from_numpy(inputs).to(device)
        self.labels = torch.from_numpy(labels.astype(np.int64)).to(device)
        self.transform = transform

    def from_step(self, step: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Batches number step, step + 1, ..."""
        for number, index in self._from_step(step, self.inputs.device):
            inputs = self.inputs.index_select(0, index)
            if self.transform is not None:
                inputs = self.transform(inputs, number)
            yield inputs, self.labels.index_select(0, index)


class OrderedBatches:
    """Every row once, in order, for evaluation: (inputs, labels); the last batch may be smaller.

    transform: inputs -> inputs, or None. Can be iterated over again and again.
    """

    def __init__(
        self,
        inputs: np.ndarray,
        labels: np.ndarray,
        batch_size: int,
        device,
        transform: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ):
        self.inputs = torch.from_numpy(inputs).to(device).split(batch_size)
        self.labels = torch.from_numpy(labels.astype(np.int64)).to(device).split(batch_size)
        self.transform = transform

    def __len__(self) -> int:
        return len(self.inputs)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for inputs, labels in zip(self.inputs, self.labels, strict=True):
            yield (inputs if self.transform is None else self.transform(inputs)), labels
