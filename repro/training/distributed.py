"""One run on several ranks (`repro.training.ranks`): its model, gradients and state over them.

Every rank holds the same model, draws the same batches and computes its share of each batch's
microbatches; losses and gradients are summed over the ranks. A model that is too large is sharded:
parameters, gradients and optimizer state are split among the ranks (FSDP2).
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.checkpoint import checkpoint

from repro import backend
from repro.errors import UserError
from repro.training import ranks

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor

BUCKET = 2**25  # numbers summed over the ranks at once


def prepare(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Prepare a model and its optimizer, equal on all ranks, for training with the layout.

    Raises UserError on batch normalization: its statistics would be those of one rank's samples.
    """
    blocks = [b for b in _blocks(model) if any(True for _ in b.children())]
    for block in blocks:
        if ranks.current_layout().compile:
            block.forward = torch.compile(block.forward)
        if ranks.current_layout().recompute:
            block.forward = partial(checkpoint, block.forward, use_reentrant=False)
    if ranks.count() == 1:
        return
    if any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in model.modules()):
        raise UserError("batch normalization needs the whole batch: train this model on one rank")
    for tensor in (*model.parameters(), *model.buffers()):
        dist.broadcast(tensor.detach(), 0)
    if ranks.is_sharded():
        _shard(model, optimizer, blocks)


def _blocks(model: nn.Module) -> Iterator[nn.Module]:
    """The layers in a model's `ModuleList`s."""
    for module in model.modules():
        if isinstance(module, nn.ModuleList):
            yield from module


def _shard(model: nn.Module, optimizer: torch.optim.Optimizer, blocks: Iterable) -> None:
    """Shard parameters and their optimizer state over the ranks; gradients become sums over ranks.

    FSDP replaces the parameters, but the optimizer still refers to the old ones: its groups and its
    state are moved to the new ones here.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    # FSDP keeps the names, so a name leads from an old parameter to the new one.
    whole: dict[str, torch.Tensor] = dict(model.named_parameters())
    mesh = init_device_mesh(next(model.parameters()).device.type, (ranks.count(),))
    for module in (*blocks, model):
        # The outermost module too: otherwise its parameters stay gathered after an evaluation.
        fully_shard(module, mesh=mesh, reshard_after_forward=True)
        # The loop divides by the number of microbatches on all ranks: gradients are summed.
        module.set_gradient_divide_factor(1.0)
        module.set_force_sum_reduction_for_comms(True)  # gloo cannot scale a sum
    sharded = {whole[name]: parameter for name, parameter in model.named_parameters()}
    for group in optimizer.param_groups:
        group["params"] = [sharded[parameter] for parameter in group["params"]]
        group["fused"] &= not isinstance(optimizer, torch.optim.SGD)  # no fused SGD of DTensors
    # The optimizer has state already if a checkpoint was widened (`tasks.warm_start`).
    for parameter, state in list(optimizer.state.items()):
        del optimizer.state[parameter]
        optimizer.state[sharded[parameter]] = {
            key: shard_like(value, sharded[parameter]) for key, value in state.items()
        }


def is_dtensor(tensor: object) -> "TypeGuard[DTensor]":
    """Whether a tensor is sharded, a DTensor (whose module takes a second to import)."""
    return hasattr(tensor, "full_tensor")


def full_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """The whole tensor, gathered if it is sharded; all ranks must call this."""
    return tensor.full_tensor() if is_dtensor(tensor) else tensor


def shard_like(value, like: torch.Tensor):
    """A tensor of a parameter's shape, sharded like the parameter; anything else unchanged."""
    if not is_dtensor(like) or getattr(value, "shape", None) != like.shape:
        return value
    from torch.distributed.tensor import distribute_tensor

    value = value.to(like.device)
    return distribute_tensor(value, like.device_mesh, like.placements, src_data_rank=None)


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
    """Sum a step's loss and gradients over the ranks, in place; FSDP has summed sharded ones."""
    if ranks.count() == 1:
        return
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    for bucket in _buckets([loss, *(g for g in gradients if not is_dtensor(g))]):
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


def all_reduce_max(tensor: torch.Tensor) -> None:
    """Replace a tensor by the largest over the ranks, entry by entry."""
    if ranks.count() > 1:
        dist.all_reduce(tensor, dist.ReduceOp.MAX)


# The state of a run


def full_state(state):
    """A nested state with every sharded tensor gathered on rank 0's CPU; empty on other ranks."""
    if isinstance(state, Mapping):
        return {key: full_state(value) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return [full_state(value) for value in state]
    if not is_dtensor(state):
        return state
    gathered = full_tensor(state.detach())
    return gathered.cpu() if ranks.is_main() else None


def load_state(model: nn.Module, optimizer: torch.optim.Optimizer, state: Mapping) -> None:
    """Load full states of a model and its optimizer, written by any number of ranks."""
    targets = model.state_dict()
    model.load_state_dict({k: shard_like(v, targets[k]) for k, v in state["model"].items()})
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    kept = {
        index: {key: shard_like(value, parameters[index]) for key, value in entries.items()}
        for index, entries in state["optimizer"]["state"].items()
    }
    fused = [group["fused"] for group in optimizer.param_groups]
    optimizer.load_state_dict({**state["optimizer"], "state": kept})
    for group, own in zip(optimizer.param_groups, fused, strict=True):
        group["fused"] = own
