"""BART of Dinan et al. (arXiv 2304.02034), II.2.B, and R2C2."""

from collections.abc import Mapping

from repro.cost import Cost, of_training, transformer


def weights(*, width: int, depth: int, expansion: int, vocab_size: int) -> int:
    """Weights in BART's matrix products: both stacks, and the tied embedding as the output."""
    encoder = (4 + 2 * expansion) * width**2
    decoder = (4 + 4 + 2 * expansion) * width**2
    return depth * (encoder + decoder) + vocab_size * width


def parameters(
    *, width: int, depth: int, expansion: int, vocab_size: int, sequence_length: int
) -> int:
    """Dinan et al. (arXiv 2304.02034), II.2.B: `weights` and two tables of T + 2 positions."""
    matrices = weights(width=width, depth=depth, expansion=expansion, vocab_size=vocab_size)
    return matrices + 2 * (sequence_length + 2) * width


def flops(*, width: int, depth: int, expansion: int, vocab_size: int, sequence_length: int) -> int:
    """BART's training operations per token of the original text, if the corrupted is as long.

    Three attentions per depth: the encoder's, the decoder's self-attention and cross-attention.
    """
    matrices = weights(width=width, depth=depth, expansion=expansion, vocab_size=vocab_size)
    return transformer.flops(
        weights=matrices, depth=3 * depth, width=width, sequence_length=sequence_length
    )


def activations(*, width: int, depth: int, expansion: int, vocab_size: int) -> int:
    """Numbers kept per token of the original, counted as in `transformer.activations`; no dropout.

    Cross-attention keeps 6 more times the width; the ends of both stacks keep 8.
    """
    blocks = 2 * (8 + 2 * expansion) + 6
    return (depth * blocks + 8) * width + vocab_size


def span_denoising_cost(spec: Mapping) -> Cost:
    """One run of task `span_denoising`, with every block at its maximum length."""
    data = spec["data"]
    shape = {key: spec["model"][key] for key in ("width", "depth", "expansion")}
    shape["vocab_size"] = denoising_vocabulary_size(data["vocab_size"])
    return of_training(
        spec,
        flops=flops(**shape, sequence_length=data["sequence_length"]),
        batch=data["batch_size"] * data["sequence_length"],
        unit="tokens",
        parameters=parameters(**shape, sequence_length=data["sequence_length"]),
        activations=activations(**shape),
        rows=data["batch_size"],
        layers=11 * shape["depth"] + 1,  # 4 of the encoder, 7 of the decoder; the output
    )


def denoising_vocabulary_size(entries: int) -> int:
    """Size of the model's vocabulary for a tokenizer of `entries`: 50,265 for GPT-2's 50,257.

    As in fairseq: four special tokens are added, the sum is rounded up to a multiple of 8, and
    [mask] is added last.
    """
    return -(-(entries + 4) // 8) * 8 + 1
