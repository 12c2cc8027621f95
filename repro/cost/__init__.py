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
GPU_SHARE = 0.95  # of a GPU's memory that state and activations may fill
REPLICA_SHARE = 0.5  # that they may fill on each of several GPUs before the state is cut among them


@dataclass(frozen=True)
class Cost:
    """One run's cost.

    flops: operations of the training steps.
    seen, unit: how many `tokens` or `samples` the training steps read, repetitions included.
    parameters: all of them, biases and normalizations' included.
    state_bytes: weights, gradients and optimizer state in float32.
    activation_bytes: an estimate of what a step keeps for its backward pass, float32, of a
        batch or of one of its `parts`; autocast needs less.
    rows: number of independent samples or sequences in a step, which data parallelism can split;
        1 if the task cannot be split.
    parts: microbatches that a step goes through one after another on one GPU.
    """

    flops: int = 0
    seen: int = 0
    unit: str = ""
    parameters: int = 0
    state_bytes: int = 0
    activation_bytes: int = 0
    rows: int = 1
    parts: int = 1

    @property
    def memory_bytes(self) -> int:
        """State and activations."""
        return self.state_bytes + self.activation_bytes

    def divides(self, gpus: int) -> bool:
        """Whether so many GPUs take equal parts of a step."""
        return self.rows % math.lcm(self.parts, gpus) == 0 or gpus == 1


@dataclass(frozen=True)
class Layout:
    """How a run lies on its GPUs; no part of its id.

    shard: parameters, gradients and optimizer state are cut among them (FSDP2), or each holds all.
    recompute: a block's activations are made again for the backward pass (checkpointing).
    compile: blocks are compiled (torch.compile), which is never chosen but asked for.
    """

    gpus: int = 1
    shard: bool = False
    recompute: bool = False
    compile: bool = False

    def __str__(self) -> str:
        words = {"sharded": self.shard, "recomputing": self.recompute}
        return ", ".join([str(self.gpus), *(word for word, set_ in words.items() if set_)])


def layout(cost: Cost, gpus: int, memory: float) -> Layout:
    """How a run lies on so many GPUs of `memory` bytes each."""
    activations = cost.activation_bytes * cost.parts / math.lcm(cost.parts, gpus)
    shard = gpus > 1 and cost.state_bytes + activations > REPLICA_SHARE * memory
    state = cost.state_bytes / (gpus if shard else 1)
    return Layout(gpus, shard, recompute=state + activations > GPU_SHARE * memory)


def optimizer_copies(optimizer: Mapping) -> int:
    """Numbers an optimizer keeps per parameter: momentum 1, Adam's moments 2, AMSGrad 3.

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
    """flops and activations (numbers kept): per sample or token, of which a step reads `batch`."""
    parts = spec.get("parts", 1)
    return Cost(
        flops=flops * batch * spec["steps"],
        seen=batch * spec["steps"],
        unit=unit,
        parameters=parameters,
        state_bytes=BYTES * (2 + optimizer_copies(spec["optimizer"])) * parameters,
        activation_bytes=BYTES * batch * activations // parts,
        rows=rows,
        parts=parts,
    )


def hours(flops: float, rate: float) -> float:
    """Hours of a device that carries out `rate` operations a second."""
    return flops / rate / 3600


def gpu_hours(flops: float) -> float:
    """Hours on one H100 at GPU_FLOPS."""
    return hours(flops, GPU_FLOPS)
