"""One run on several processes (PyTorch's ranks), one GPU each. A single process needs none of it.

Every rank holds the same model, draws the same batches and computes its share of each batch's
microbatches; losses and gradients are summed over the ranks. A model that is too large is sharded:
parameters, gradients and optimizer state are split among the ranks (FSDP2). `training.launch`
starts the ranks.
"""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.checkpoint import checkpoint

from repro.cost import Cost, Layout, layout
from repro.errors import UserError
from repro.training import launch

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor

BUCKET = 2**25  # numbers summed over the ranks at once
CONTROL_TIMEOUT = timedelta(days=30)  # rank 0 may wait for another job's lock, or a slow disk

_layout = Layout()
_control: dist.ProcessGroup | None = None  # a gloo group, for messages other than gradients


def ranks() -> int:
    """Number of processes that share the run."""
    return dist.get_world_size() if dist.is_initialized() else 1


def rank() -> int:
    """This process's number."""
    return dist.get_rank() if dist.is_initialized() else 0


def is_main() -> bool:
    """Whether this process is rank 0, which alone writes files, logs and takes locks."""
    return rank() == 0


@contextmanager
def process_group(device: str, init_method: str = "env://", **place):
    """Join the group of ranks if `repro.training.launch` started this process as one of them.

    device: cpu (gloo) or cuda (NCCL, one GPU each). place: rank and world_size, given instead of
    the launcher's.
    """
    global _control
    if not (launch.is_rank() or place):
        yield
        return
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    backend = "nccl" if device == "cuda" else "gloo"
    dist.init_process_group(backend, init_method=init_method, **place)
    _control = dist.new_group(backend="gloo", timeout=CONTROL_TIMEOUT)
    yield  # no cleanup on an error: the launcher ends all ranks
    dist.destroy_process_group()


def is_sharded() -> bool:
    """Whether a run's state is sharded over the ranks."""
    return _layout.shard and ranks() > 1


def broadcast_from_rank0(make: Callable):
    """On every rank, what `make` returns on rank 0. If `make` fails there, the job ends."""
    if ranks() == 1:
        return make()
    box = [make() if is_main() else None]
    dist.broadcast_object_list(box, 0, group=_control)
    return box[0]


# How a run uses its GPUs


def device_memory(device: str) -> float:
    """Bytes of this process's GPU; infinite on a CPU."""
    return torch.cuda.get_device_properties(device).total_memory if device == "cuda" else math.inf


def choose_layout(
    cost: Cost, device: str, *, shard: bool, recompute: bool, compile: bool
) -> Layout:
    """The layout that a run's cost and this GPU's memory call for; shard, recompute: force these.

    Raises UserError on compile for a CPU, whose runs must give the same bits again.
    """
    if compile and device == "cpu":
        raise UserError("--compile: runs on a CPU are not compiled; leave it out")
    chosen = layout(cost, ranks(), device_memory(device))
    return Layout(ranks(), chosen.shard or shard, chosen.recompute or recompute, compile)


@contextmanager
def laid_out(chosen: Layout):
    """Context in which models are trained with this layout."""
    global _layout
    before, _layout = _layout, chosen
    try:
        yield
    finally:
        _layout = before


def prepare(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Prepare a model and its optimizer, equal on all ranks, for training with the layout.

    Raises UserError on batch normalization: its statistics would be those of one rank's samples.
    """
    blocks = [b for b in _blocks(model) if any(True for _ in b.children())]
    for block in blocks:
        if _layout.compile:
            block.forward = torch.compile(block.forward)
        if _layout.recompute:
            block.forward = partial(checkpoint, block.forward, use_reentrant=False)
    if ranks() == 1:
        return
    if any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in model.modules()):
        raise UserError("batch normalization needs the whole batch: train this model on one rank")
    for tensor in (*model.parameters(), *model.buffers()):
        dist.broadcast(tensor.detach(), 0)
    if is_sharded():
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
    mesh = init_device_mesh(next(model.parameters()).device.type, (ranks(),))
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
    count = math.lcm(microbatches, ranks())
    of_a_rank = count // ranks()
    return count, range(rank() * of_a_rank, (rank() + 1) * of_a_rank)


def seed_microbatch(seed: int, step: int, microbatch: int, device: torch.device) -> None:
    """Seed dropout for one microbatch, so that it does not depend on the rank that computes it.

    A single process on a CPU keeps drawing from one stream instead, because recorded results do.
    """
    if ranks() > 1 or device.type == "cuda":
        sequence = np.random.SeedSequence((seed, step, microbatch))
        torch.manual_seed(int(sequence.generate_state(1, np.uint64)[0]))


def all_reduce_gradients(loss: torch.Tensor, model: nn.Module) -> None:
    """Sum a step's loss and gradients over the ranks, in place; FSDP has summed sharded ones."""
    if ranks() == 1:
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
    if ranks() > 1:
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
    return gathered.cpu() if is_main() else None


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
