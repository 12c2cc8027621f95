"""The processes that share a run (PyTorch's ranks), one GPU each, and how they use their GPUs.

`training.launch` starts them; `training.distributed` is what they do with a model. No torch until
there are several, or a GPU is asked about: a job whose runs turn out not to be needed loads none.
"""

import os
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from repro.cost import COMPILED_SECONDS, Cost, Layout, gpu_hours, layout
from repro.errors import UserError
from repro.training import launch

if TYPE_CHECKING:
    import torch.distributed

CONTROL_TIMEOUT = timedelta(days=30)  # rank 0 may wait for another job's lock, or a slow disk

_layout = Layout()
_control: "torch.distributed.ProcessGroup | None" = None  # gloo, for messages besides gradients


def _joined() -> Any:
    """torch.distributed, where this process has joined others; None where it is alone."""
    dist = sys.modules.get("torch.distributed")
    return dist if dist and dist.is_initialized() else None


def count() -> int:
    """Number of processes that share the run."""
    dist = _joined()
    return dist.get_world_size() if dist else 1


def rank() -> int:
    """This process's number."""
    dist = _joined()
    return dist.get_rank() if dist else 0


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
    import torch.distributed as dist

    from repro import backend

    if device != "cpu":
        backend.use(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(backend.COLLECTIVES[device], init_method=init_method, **place)
    _control = dist.new_group(backend="gloo", timeout=CONTROL_TIMEOUT)
    yield  # no cleanup on an error: the launcher ends all ranks
    dist.destroy_process_group()


def broadcast_from_rank0(make: Callable):
    """On every rank, what `make` returns on rank 0. If `make` fails there, the job ends."""
    if count() == 1:
        return make()
    box = [make() if is_main() else None]
    _joined().broadcast_object_list(box, 0, group=_control)
    return box[0]


# How a run uses its GPUs


def choose_layout(
    cost: Cost,
    device: str,
    *,
    compile: bool = False,
    eager: bool = False,
) -> Layout:
    """The layout that a run's cost and this GPU's memory call for; compile: a short run too; eager:
    compile nothing.

    On a GPU a run that takes long is compiled, where there is what compiling needs and
    `benchmarks/gpu.sh` found nothing wrong with it, and images are
    changed there once they are cropped. On a CPU, whose runs must give the same bits again, neither
    is, and microbatches are the run's own.
    Raises UserError where compiling is asked for on a CPU, where there is no compiler, or where it
    was found wrong, and on a run that this GPU cannot hold.
    """
    if compile and device == "cpu":
        raise UserError("--compile: runs on a CPU are not compiled; leave it out")
    if compile and eager:
        raise UserError("--compile and --eager: give one of them")
    if device == "cpu":
        return Layout(count())
    from repro import backend

    long = 3600 * gpu_hours(cost) > COMPILED_SECONDS and not eager
    wrong = backend.wrong_when_compiled() if compile or long else ""
    if compile and wrong:
        raise UserError(f"--compile: {wrong}; leave it out")
    if compile and not backend.can_compile():
        raise UserError(
            "--compile: needs Triton, a C compiler (cc) and Python's headers; leave it out"
        )
    if long and wrong and is_main():
        print(f"not compiled: {wrong}", flush=True)
    compiled = compile or (long and not wrong and backend.can_compile())
    chosen = layout(cost, count(), backend.memory(device))
    return replace(chosen, compile=compiled, augment=cost.images > 0)


@contextmanager
def laid_out(chosen: Layout):
    """Context in which models are trained with this layout."""
    global _layout
    before, _layout = _layout, chosen
    try:
        yield
    finally:
        _layout = before


def current_layout() -> Layout:
    """The layout of the run that is trained."""
    return _layout
