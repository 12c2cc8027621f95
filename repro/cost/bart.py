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


def activations(*, width: int, depth: int, expansion: int, vocab_size: int, dropout: bool) -> int:
    """Numbers kept per token of the original, counted as in `transformer.activations`.

    Cross-attention keeps 6 more times the width; the ends of both stacks keep 6. dropout: of what
    blocks and both embeddings add to the stream, whose masks of a byte are a quarter of a number.
    """
    blocks = 2 * (8 + 2 * expansion) + 6
    masks = (5 * depth + 2) * width // 4 if dropout else 0
    return (depth * blocks + 6) * width + masks + vocab_size


def on_cpu(
    *, width: int, depth: int, heads: int, sequence_length: int, dropout: bool, attention: bool
) -> int:
    """Numbers that dropout in float32 keeps besides on a CPU, per token.

    It has no fused kernel for attention whose probabilities are dropped (attention: whether they
    are): each head of the three attentions of a depth keeps them, the noise and the product. Noise
    of the stream is float32, in place of a mask of a byte. On a GPU torch's memory-efficient kernel
    takes both dropout and a mask of padding.
    """
    noise = (5 * depth + 2) * width * 3 // 4 if dropout else 0
    return noise + (3 * 3 * depth * heads * sequence_length if attention else 0)


def span_denoising_cost(spec: Mapping) -> Cost:
    """One run of task `span_denoising`, with every block at its maximum length."""
    data, model = spec["data"], spec["model"]
    shape = {key: model[key] for key in ("width", "depth", "expansion")}
    shape["vocab_size"] = denoising_vocabulary_size(data["vocab_size"])
    return of_training(
        spec,
        flops=flops(**shape, sequence_length=data["sequence_length"]),
        batch=data["batch_size"] * data["sequence_length"],
        unit="tokens",
        parameters=parameters(**shape, sequence_length=data["sequence_length"]),
        activations=activations(**shape, dropout=model["dropout"] > 0),
        on_cpu=on_cpu(
            width=model["width"],
            depth=model["depth"],
            heads=model["heads"],
            sequence_length=data["sequence_length"],
            dropout=model["dropout"] > 0,
            attention=model["attention_dropout"] > 0,
        ),
        rows=data["batch_size"],
        layers=11 * shape["depth"] + 1,  # 4 of the encoder, 7 of the decoder; the output
    )


def denoising_vocabulary_size(entries: int) -> int:
    """Size of the model's vocabulary for a tokenizer of `entries`: 50,265 for GPT-2's 50,257.

    As in fairseq: four special tokens are added, the sum is rounded up to a multiple of 8, and
    [mask] is added last.
    """
    return -(-(entries + 4) // 8) * 8 + 1


cost = span_denoising_cost
