"""BART of Dinan et al. (arXiv 2304.02034), II.2.B, and R2C2."""

from collections.abc import Mapping

from repro.cost import Cost, of_training, transformer


def weights(*, width: int, depth: int, expansion: int, vocab_size: int) -> int:
    """Weights of BART's matrix products: both stacks, the tied embedding once as the output."""
    encoder = (4 + 2 * expansion) * width**2
    decoder = (4 + 4 + 2 * expansion) * width**2
    return depth * (encoder + decoder) + vocab_size * width


def parameters(
    *, width: int, depth: int, expansion: int, vocab_size: int, sequence_length: int
) -> int:
    """Dinan et al. (arXiv 2304.02034), II.2.B: `weights`, two tables of T + 2 positions."""
    matrices = weights(width=width, depth=depth, expansion=expansion, vocab_size=vocab_size)
    return matrices + 2 * (sequence_length + 2) * width


def flops(*, width: int, depth: int, expansion: int, vocab_size: int, sequence_length: int) -> int:
    """BART's training operations per token of the original, the corrupted text as long as it.

    Three attentions a depth: the encoder's, the decoder's own and that on the encoder.
    """
    matrices = weights(width=width, depth=depth, expansion=expansion, vocab_size=vocab_size)
    return transformer.flops(
        weights=matrices, depth=3 * depth, width=width, sequence_length=sequence_length
    )


def activations(*, width: int, depth: int, expansion: int, vocab_size: int) -> int:
    """Numbers kept per token of the original, as `transformer.activations`, without dropout.

    The attention on the encoder keeps 6 widths more; 8 are at the ends of both stacks.
    """
    blocks = 2 * (8 + 2 * expansion) + 6
    return (depth * blocks + 8) * width + vocab_size


def span_denoising_cost(spec: Mapping) -> Cost:
    """One run of task `span_denoising`, every block as long as it may be."""
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
    )


def denoising_vocabulary_size(entries: int) -> int:
    """Size of the model's vocabulary over a tokenizer of `entries`: 50,265 over GPT-2's 50,257.

    fairseq's: four special tokens, filled up to a multiple of 8, and [mask].
    """
    return -(-(entries + 4) // 8) * 8 + 1
