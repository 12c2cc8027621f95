"""What a run costs: operations from its spec, GPU-hours under a stated assumption."""

from collections.abc import Mapping

# Assumption for GPU-hours: 40 % of the 989 TFLOP/s an H100 SXM offers in dense bf16.
GPU_FLOPS = 0.4 * 989e12


def decoder_forward_flops(
    *, vocab_size: int, width: int, depth: int, expansion: int, sequence_length: int
) -> float:
    """Operations of a forward pass per token: 2 per weight, attention over the full context."""
    weights = depth * (4 + 2 * expansion) * width**2 + vocab_size * width
    attention = depth * 4 * sequence_length * width  # q.k and the weighted sum of v
    return 2.0 * weights + attention


def language_model_flops(spec: Mapping) -> float:
    """Operations of one training run; a backward pass costs two forward passes."""
    model = spec["model"]
    forward = decoder_forward_flops(
        vocab_size=spec["vocab_size"],
        width=model["width"],
        depth=model["depth"],
        expansion=model["expansion"],
        sequence_length=spec["sequence_length"],
    )
    return 3 * forward * spec["batch_size"] * spec["sequence_length"] * spec["steps"]


def gpu_hours(flops: float) -> float:
    """Hours on one H100 at GPU_FLOPS."""
    return flops / GPU_FLOPS / 3600
