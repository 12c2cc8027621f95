"""What a run costs: operations, data read, parameters and memory, from its spec alone. No torch.

Operations are those of training, 2 per multiply-add, a backward pass at twice its forward pass:
6 per multiply-add and sample. Evaluations, normalizations, nonlinearities and the optimizer's
own work are left out, as in Ma et al. (arXiv 2602.10545), Appendix F.4.

decoder.py      the decoder of `language_model`
gpt2.py         GPT-2
gru.py          the GRU language model
llm.py          Hayou & Liu's 1B decoder
mlp.py          a multilayer perceptron
resnet.py       ResNet-18 with a width factor
vit.py          the Vision Transformer
bart.py         BART and R2C2
transformer.py  what the Transformers share
residual_decoder.py  the decoder with a factor on its residual branches
by_model.py     which of these a model's name means
best_rate.py    task `best_rate`
kernels.py      the two tasks that measure kernels
paper.py        the numbers that Ma et al. print
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from repro.errors import UserError

# Assumptions for GPU-hours, of an H100 SXM with 80 GB: operations per second, 40 % of its dense
# peaks; bytes per second, 70 % of what its memory offers; the time in which Python starts the
# kernels of a layer, forward, backward and update, below which no layer goes.
GPU_RATES = {
    "bfloat16": 0.4 * 989e12,
    "float16": 0.4 * 989e12,
    "tf32": 0.4 * 495e12,
    "float32": 0.4 * 67e12,
}
GPU_FLOPS = GPU_RATES["bfloat16"]
GPU_BANDWIDTH = 0.7 * 3.35e12
LAYER_SECONDS = 2.5e-4
# What a worker of a GPU does to a JPEG of ImageNet, decoding and cropping, in seconds of one core
# (docs/speed.md), and how many cores feed a GPU.
IMAGE_SECONDS = 2.4e-3
CORES = 8
# How often what is kept for a backward pass goes through memory: it and its gradient, out and in.
ACTIVATION_PASSES = 4
STATE_PASSES = 2
BYTES = 4  # float32
GPU_SHARE = 0.95  # share of a GPU's memory that state and activations may fill
SAFE_SHARE = 0.8  # the same for microbatches larger than the run says
# A run this long is compiled: that takes a minute or two as it starts, and saves a sixth or more.
COMPILED_SECONDS = 600.0


@dataclass(frozen=True)
class Cost:
    """One run's cost.

    flops: operations of the training steps.
    seen, unit: how many `tokens` or `samples` the training steps read, repetitions included.
    parameters: all of them, including biases and those of normalizations.
    state_bytes: weights, gradients and optimizer state in float32.
    activation_bytes: estimate of what one microbatch keeps for its backward pass, in float32 and
        with fused attention; autocast needs less.
    cpu_bytes: what it keeps besides on a CPU, where dropout takes more.
    rows: number of independent samples or sequences in a step, which data parallelism can split;
        1 if the task cannot be split.
    microbatches: of a step, processed one after another on one GPU.
    drops: whether it draws dropout, which is seeded by microbatch.
    steps: how many training steps. layers: matrix products or convolutions of a forward pass.
    precision: of the products, a key of GPU_RATES.
    images: how many image files the training steps read, repetitions included.
    """

    flops: int = 0
    seen: int = 0
    unit: str = ""
    parameters: int = 0
    state_bytes: int = 0
    activation_bytes: int = 0
    cpu_bytes: int = 0
    rows: int = 1
    microbatches: int = 1
    drops: bool = False
    steps: int = 0
    layers: int = 0
    precision: str = "bfloat16"
    images: int = 0

    @property
    def memory_bytes(self) -> int:
        """State and activations, on a GPU."""
        return self.state_bytes + self.activation_bytes

    def divides(self, gpus: int) -> bool:
        """Whether this number of GPUs can take equal parts of a step."""
        return self.rows % math.lcm(self.microbatches, gpus) == 0 or gpus == 1


@dataclass(frozen=True)
class Layout:
    """How a run uses its GPUs, each of which holds a copy of the model; not part of the run's id.

    compile: blocks are compiled (torch.compile).
    microbatches: how many a step has, on all GPUs together, in place of as many as the run says.
    augment: what changes an image once it is cropped is done here, for a batch at once, and not by
        the CPU.
    """

    gpus: int = 1
    compile: bool = False
    microbatches: int | None = None
    augment: bool = False


def layout(cost: Cost, gpus: int, memory: float) -> Layout:
    """The layout of a run on this number of GPUs with `memory` bytes each; not what it compiles.

    A step has as few microbatches as fit: for each of them weights are cast and gradients
    accumulated anew. Where those that the run says are too large, it has more.
    Raises UserError where a copy does not fit beside the smallest of them.
    """
    for count in microbatch_counts(cost, gpus):
        share = SAFE_SHARE if count < cost.microbatches else GPU_SHARE
        if held_bytes(cost, gpus, count) <= share * memory:
            return Layout(gpus, microbatches=math.lcm(count, gpus))
    raise UserError(too_small(least_memory(cost, gpus), memory))


def microbatch_counts(cost: Cost, gpus: int) -> list[int]:
    """Into how many microbatches a step may be cut, the fewest first. The loss is the same within
    rounding. Dropout would be other, so a run that draws it keeps its own."""
    own, rows = cost.microbatches, cost.rows
    if cost.drops:
        return [own]
    more = [n for n in divisors(rows) if n > own and rows % math.lcm(n, gpus) == 0]
    return divisors(own) + more


def held_bytes(cost: Cost, gpus: int, count: int) -> float:
    """State, and activations of one of `count` microbatches, which the GPUs share evenly."""
    step = cost.activation_bytes * cost.microbatches
    return cost.state_bytes + step / math.lcm(count, gpus)


def least_memory(cost: Cost, gpus: int) -> float:
    """Bytes of the smallest GPU, of so many, that holds a run."""
    return held_bytes(cost, gpus, microbatch_counts(cost, gpus)[-1]) / GPU_SHARE


def too_small(needed: float, memory: float) -> str:
    """What is said of a GPU that cannot hold a run, in bytes."""
    return (
        f"needs a GPU of {needed / 1e9:.3g} GB, for its state and its smallest microbatch, and "
        f"this one has {memory / 1e9:.3g} GB"
    )


def divisors(number: int) -> list[int]:
    """Of a number, the smallest first."""
    small = [n for n in range(1, math.isqrt(number) + 1) if number % n == 0]
    return sorted({*small, *(number // n for n in small)})


def optimizer_copies(optimizer: Mapping) -> int:
    """How many numbers an optimizer keeps per parameter at most: momentum 1, Adam 2, AMSGrad 3;
    Muon beside AdamW 2.

    Raises UserError on an unknown name.
    """
    name = optimizer["name"]
    if name == "sgd":
        return 1 if optimizer.get("momentum") else 0
    if name == "muon":
        return 2
    if name in ("adam", "adamw"):
        return 3 if optimizer.get("amsgrad") else 2
    raise UserError(f"optimizer {name!r} is unknown: choose from sgd, adam, adamw, muon")


def of_training(
    spec: Mapping,
    *,
    flops: int,
    batch: int,
    unit: str,
    parameters: int,
    activations: int,
    rows: int,
    layers: int,
    on_cpu: int = 0,
) -> Cost:
    """The Cost of a training run.

    flops, activations: operations, and numbers kept for the backward pass, per `unit` (a sample
    or a token). batch: how many of these units a step reads. layers: as in `Cost`. on_cpu: numbers
    kept besides on a CPU, per `unit`.
    """
    microbatches = spec.get("microbatches", 1)
    return Cost(
        flops=flops * batch * spec["steps"],
        seen=batch * spec["steps"],
        unit=unit,
        parameters=parameters,
        state_bytes=BYTES * (2 + optimizer_copies(spec["optimizer"])) * parameters,
        activation_bytes=BYTES * batch * activations // microbatches,
        cpu_bytes=BYTES * batch * on_cpu // microbatches,
        rows=rows,
        microbatches=microbatches,
        drops=any(value for key, value in spec["model"].items() if "dropout" in key),
        steps=spec["steps"],
        layers=layers,
        precision=spec.get("precision", "float32"),
    )


def gpu_hours(cost: Cost, cores: int = CORES) -> float:
    """Hours of a run on one H100, as assumed, not measured: `fed_hours`, but no less than the cores
    beside it take for its image files."""
    return max(fed_hours(cost), cost.images * IMAGE_SECONDS / cores / 3600)


def cores_needed(cost: Cost) -> float:
    """How many cores decode a run's images as fast as its GPU takes them."""
    return cost.images * IMAGE_SECONDS / (3600 * fed_hours(cost))


def fed_hours(cost: Cost) -> float:
    """Hours of a run on one GPU that never waits for data: its operations and what goes through
    memory, one after the other, but no less than starting every layer of every microbatch takes."""
    moved = ACTIVATION_PASSES * cost.microbatches * cost.activation_bytes
    moved += STATE_PASSES * cost.state_bytes
    work = cost.flops / GPU_RATES[cost.precision] + cost.steps * moved / GPU_BANDWIDTH
    starts = cost.steps * cost.microbatches * cost.layers * LAYER_SECONDS
    return max(work, starts) / 3600
