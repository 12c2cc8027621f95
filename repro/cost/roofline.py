"""What a step on an H100 should take, part by part, from a run's spec: a roofline, never measured.

Each part is bound by what it needs most: products by operations, all else by the bytes that go
through memory. Parts follow one another. The hours of `repro cost` assume one share of the peak for
all products instead (`cost.GPU_RATES`); here is why it is about that, and what the ways that a GPU
takes (`repro.backend`, `cost.layout`) should save. Evaluations, data and several GPUs are left out.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from repro.cost import ACTIVATION_PASSES, LAYER_SECONDS, STATE_PASSES, Cost, layout
from repro.cost.bart import denoising_vocabulary_size

MEMORY, BANDWIDTH = 80e9, 0.8 * 3.35e12  # bytes; bytes a second, four fifths of what is offered
PEAKS = {"bfloat16": 989e12, "float16": 989e12, "tf32": 495e12, "float32": 67e12}
# Shares of the peak that kernels reach, assumed: large matrix products; fused attention, forward
# and backward; attention under a mask, which no such kernel takes, or with heads above 256 entries.
PRODUCTS, FUSED, MASKED = 0.7, 0.5, 0.25
# How much longer products take whose rows are no multiple of ALIGNED entries, assumed.
ODD, ALIGNED = 3.0, 8
LARGEST_HEAD = 256
# What the suite does on a GPU and not on a CPU.
WAYS = VOCABULARY, WINDOWS, MICROBATCHES, COMPILER = (
    "vocabulary padded",
    "windows by blocks",
    "larger microbatches",
    "compiled",
)
TRANSFORMERS = ("gpt2", "bart", "vit", "llm", "decoder")
# Bytes a weight and microbatch: read, and written in half precision (6); its gradient written,
# read, written in float32, and added to the sum (18).
CAST_AND_ADD = 24
COMPILED = 0.5  # of the bytes of all between the products, where a compiler joins what follows


@dataclass(frozen=True)
class Step:
    """Seconds of a step's parts, on one H100.

    products: but for attention's scores. attention. casting: weights cast and gradients added, once
    a microbatch. between: what is kept for the backward pass, out and in. optimizer: weights,
    gradients, averages. starting: the least that kernels take to start, instead of all others.
    peak: what the operations would take at the full rate.
    """

    products: float
    attention: float
    casting: float
    between: float
    optimizer: float
    starting: float
    peak: float

    @property
    def seconds(self) -> float:
        """Of the whole step."""
        parts = (self.products, self.attention, self.casting, self.between, self.optimizer)
        return max(sum(parts), self.starting)

    @property
    def share(self) -> float:
        """Of the dense peak."""
        return self.peak / self.seconds


def step(cost: Cost, spec: Mapping, ways: Collection[str] = WAYS) -> Step:
    """A step of a run of one of TRANSFORMERS. ways: which of WAYS the GPU takes.

    Operations are those of `Cost`: a causal mask saves none of them, but half of the time. A ViT's
    attention, a few percent, is in its products.
    """
    data, model = spec["data"], spec["model"]
    name, width, depth = model["name"], model["width"], model["depth"]
    rate = PEAKS[cost.precision]
    samples = cost.seen / cost.steps  # tokens, or images
    flops = cost.flops / cost.steps
    length = data.get("sequence_length", 0)
    heads = model.get("heads") or width // model["head_dim"]
    head_dim = model.get("head_dim") or width // heads
    layers = {"bart": 3}.get(name, 1) * depth
    scores = 12 * layers * heads * head_dim * length * samples
    seen, reached = (0.5, FUSED) if head_dim <= LARGEST_HEAD else (0.5, MASKED)
    window = model.get("window", length)
    if name == "bart":  # padding is masked, and probabilities are dropped
        seen, reached = 1.0, MASKED
    elif window < length:
        visible = window / length - 0.5 * (window / length) ** 2
        seen, reached = (visible, FUSED) if WINDOWS in ways else (1.0, MASKED)
    products = (flops - scores) / (PRODUCTS * rate)
    vocabulary = data.get("vocab_size", 0)
    if name == "bart":
        vocabulary = denoising_vocabulary_size(vocabulary)
    if vocabulary % ALIGNED and VOCABULARY not in ways:
        products += (ODD - 1) * 6 * vocabulary * width * samples / (PRODUCTS * rate)
    chosen = layout(cost, 1, MEMORY).microbatches if MICROBATCHES in ways else None
    microbatches = chosen or cost.microbatches
    kept = cost.activation_bytes * cost.microbatches
    is_half = cost.precision in ("bfloat16", "float16")
    return Step(
        products=products,
        attention=seen * scores / (reached * rate),
        casting=microbatches * cost.parameters * CAST_AND_ADD / BANDWIDTH if is_half else 0.0,
        between=ACTIVATION_PASSES * kept * (COMPILED if COMPILER in ways else 1.0) / BANDWIDTH,
        optimizer=STATE_PASSES * cost.state_bytes / BANDWIDTH,
        starting=microbatches * cost.layers * LAYER_SECONDS,
        peak=flops / rate,
    )
