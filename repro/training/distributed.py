"""One run on several ranks (`repro.training.ranks`): its model, gradients and state over them.

Every rank holds the same model, draws the same batches and computes its share of each batch's
microbatches; losses and gradients are summed over the ranks.
"""

import math
from collections.abc import Iterable, Iterator

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

from repro import backend
from repro.errors import UserError
from repro.training import ranks

BUCKET = 2**25  # numbers summed over the ranks at once


def prepare(model: nn.Module) -> None:
    """Prepare a model, the same on all ranks afterwards, for training with the layout.

    Raises UserError on batch normalization: its statistics would be those of one rank's samples.
    """
    if ranks.current_layout().compile:
        for block in _blocks(model):
            block.forward = torch.compile(block.forward)
    if ranks.count() == 1:
        return
    if any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in model.modules()):
        raise UserError("batch normalization needs the whole batch: train this model on one rank")
    for tensor in (*model.parameters(), *model.buffers()):
        dist.broadcast(tensor.detach(), 0)


def _blocks(model: nn.Module) -> Iterator[nn.Module]:
    """The layers in a model's `ModuleList`s that are made of others."""
    for module in model.modules():
        if isinstance(module, nn.ModuleList):
            yield from (layer for layer in module if any(True for _ in layer.children()))


# A step


def split_microbatches(microbatches: int) -> tuple[int, range]:
    """(number of microbatches of a batch, this rank's); every rank has equally many."""
    count = math.lcm(microbatches, ranks.count())
    of_a_rank = count // ranks.count()
    return count, range(ranks.rank() * of_a_rank, (ranks.rank() + 1) * of_a_rank)


def seed_microbatch(seed: int, step: int, microbatch: int, device: torch.device) -> None:
    """Seed dropout for one microbatch, so that it does not depend on the rank that computes it.

    A single process on a CPU keeps drawing from one stream (`backend.reseeds`).
    """
    if ranks.count() > 1 or backend.reseeds(device):
        sequence = np.random.SeedSequence((seed, step, microbatch))
        torch.manual_seed(int(sequence.generate_state(1, np.uint64)[0]))


def all_reduce_gradients(loss: torch.Tensor, model: nn.Module) -> None:
    """Sum a step's loss and gradients over the ranks, in place."""
    if ranks.count() == 1:
        return
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    for bucket in _buckets([loss, *gradients]):
        flat = torch.cat([tensor.flatten() for tensor in bucket])
        dist.all_reduce(flat)
        for tensor, total in zip(bucket, flat.split([t.numel() for t in bucket]), strict=True):
            tensor.copy_(total.view_as(tensor))


def _buckets(tensors: Iterable[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
    """The tensors in groups of at most BUCKET numbers, or of one tensor."""
    bucket: list[torch.Tensor] = []
    for tensor in tensors:
        if bucket and sum(t.numel() for t in (*bucket, tensor)) > BUCKET:
            yield bucket
            bucket = []
        bucket.append(tensor)
    yield bucket
