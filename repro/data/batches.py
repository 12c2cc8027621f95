"""Batches of token blocks, held in memory on the device, in an order fixed by the seed."""

from collections.abc import Iterator

import numpy as np
import torch

from repro.errors import UserError


class TokenBatches:
    """Endless batches of (inputs, targets), each (batch_size, length) int64 on `device`.

    Consecutive blocks of `length` tokens; every epoch is a fresh permutation seeded by
    (seed, epoch), its last incomplete batch dropped. Batch number `step` is the same whatever
    was drawn before it.
    Raises UserError naming the dataset when its tokens make less than one batch.
    """

    def __init__(
        self, dataset: str, tokens: np.ndarray, batch_size: int, length: int, seed: int, device
    ):
        blocks = (len(tokens) - 1) // length
        if blocks < batch_size:
            raise UserError(
                f"{dataset}: {len(tokens)} tokens make {max(blocks, 0)} blocks of {length}, fewer "
                f"than one batch of {batch_size}: use a longer text or a smaller batch"
            )
        used = torch.from_numpy(tokens[: blocks * length + 1].astype(np.int64)).to(device)
        self.inputs = used[:-1].view(blocks, length)
        self.targets = used[1:].view(blocks, length)
        self.batch_size, self.seed = batch_size, seed
        self.per_epoch = blocks // batch_size

    def from_step(self, step: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Batches number step, step + 1, ..."""
        epoch, position = divmod(step, self.per_epoch)
        while True:
            rng = np.random.default_rng((self.seed, epoch))
            order = torch.from_numpy(rng.permutation(len(self.inputs))).to(self.inputs.device)
            for i in range(position, self.per_epoch):
                index = order[i * self.batch_size : (i + 1) * self.batch_size]
                yield self.inputs[index], self.targets[index]
            epoch, position = epoch + 1, 0
