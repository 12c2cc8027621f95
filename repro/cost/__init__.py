"""What a run costs: operations, data read, parameters and memory, from its spec alone. No torch.

Operations are those of training, 2 per multiply-add, a backward pass at twice its forward pass:
6 per multiply-add and sample. Evaluations, normalizations, nonlinearities and the optimizer's
own work are left out, as in Ma et al. (arXiv 2602.10545), Appendix F.4.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from repro.errors import UserError

# Assumption for GPU-hours: 40 % of the 989 TFLOP/s an H100 SXM offers in dense bf16.
GPU_FLOPS = 0.4 * 989e12
BYTES = 4  # float32
GPU_SHARE = 0.95  # share of a GPU's memory that state and activations may fill
REPLICA_SHARE = 0.5  # the same with a full copy on each of several GPUs; above it, state is sharded


@dataclass(frozen=True)
class Cost:
    """One run's cost.

    flops: operations of the training steps.
    seen, unit: how many `tokens` or `samples` the training steps read, repetitions included.
    parameters: all of them, including biases and those of normalizations.
    state_bytes: weights, gradients and optimizer state in float32.
    activation_bytes: estimate of what one microbatch keeps for its backward pass, in float32;
        autocast needs less.
    rows: number of independent samples or sequences in a step, which data parallelism can split;
        1 if the task cannot be split.
    microbatches: of a step, processed one after another on one GPU.
    """

    flops: int = 0
    seen: int = 0
    unit: str = ""
    parameters: int = 0
    state_bytes: int = 0
    activation_bytes: int = 0
    rows: int = 1
    microbatches: int = 1

    @property
    def memory_bytes(self) -> int:
        """State and activations."""
        return self.state_bytes + self.activation_bytes

    def divides(self, gpus: int) -> bool:
        """Whether this number of GPUs can take equal parts of a step."""
        return self.rows % math.lcm(self.microbatches, gpus) == 0 or gpus == 1


@dataclass(frozen=True)
class Layout:
    """How a run uses its GPUs; not part of the run's id.

    shard: parameters, gradients and optimizer state are split among the GPUs (FSDP2); otherwise
        every GPU holds all of them.
    recompute: a block's activations are computed again for the backward pass (checkpointing).
    compile: blocks are compiled (torch.compile); only if the user asks for it.
    """

    gpus: int = 1
    shard: bool = False
    recompute: bool = False
    compile: bool = False

    def __str__(self) -> str:
        words = {"sharded": self.shard, "recomputing": self.recompute}
        return ", ".join([str(self.gpus), *(word for word, set_ in words.items() if set_)])


def layout(cost: Cost, gpus: int, memory: float) -> Layout:
    """The layout of a run on this number of GPUs with `memory` bytes each."""
    activations = cost.activation_bytes * cost.microbatches / math.lcm(cost.microbatches, gpus)
    shard = gpus > 1 and cost.state_bytes + activations > REPLICA_SHARE * memory
    state = cost.state_bytes / (gpus if shard else 1)
    return Layout(gpus, shard, recompute=state + activations > GPU_SHARE * memory)


def optimizer_copies(optimizer: Mapping) -> int:
    """How many numbers an optimizer keeps per parameter: momentum 1, Adam 2, AMSGrad 3.

    Raises UserError on an unknown name.
    """
    name = optimizer["name"]
    if name == "sgd":
        return 1 if optimizer.get("momentum") else 0
    if name in ("adam", "adamw"):
        return 3 if optimizer.get("amsgrad") else 2
    raise UserError(f"optimizer {name!r} is unknown: choose from sgd, adam, adamw")


def of_training(
    spec: Mapping,
    *,
    flops: int,
    batch: int,
    unit: str,
    parameters: int,
    activations: int,
    rows: int,
) -> Cost:
    """The Cost of a training run.

    flops, activations: operations, and numbers kept for the backward pass, per `unit` (a sample
    or a token). batch: how many of these units a step reads.
    """
    microbatches = spec.get("microbatches", 1)
    return Cost(
        flops=flops * batch * spec["steps"],
        seen=batch * spec["steps"],
        unit=unit,
        parameters=parameters,
        state_bytes=BYTES * (2 + optimizer_copies(spec["optimizer"])) * parameters,
        activation_bytes=BYTES * batch * activations // microbatches,
        rows=rows,
        microbatches=microbatches,
    )


def hours(flops: float, rate: float) -> float:
    """Hours that a device needs at `rate` operations per second."""
    return flops / rate / 3600


def gpu_hours(flops: float) -> float:
    """Hours on one H100 at GPU_FLOPS."""
    return hours(flops, GPU_FLOPS)
