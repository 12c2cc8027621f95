"""Hayou & Liu's 1B decoder (arXiv 2506.15025), Table 3."""

from collections.abc import Mapping

from repro.cost import Cost, of_training, transformer


def weights(
    *,
    depth: int,
    width: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    inner: int,
    vocab_size: int,
) -> int:
    """Weights in the matrix products of Hayou & Liu's decoder (arXiv 2506.15025), Table 3:
    query and output, key and value, three of SwiGLU, and the untied output."""
    attention = 2 * width * head_dim * (heads + kv_heads)
    return depth * (attention + 3 * width * inner) + vocab_size * width


def activations(
    *, depth: int, width: int, heads: int, head_dim: int, inner: int, vocab_size: int, **rest
) -> int:
    """Numbers kept per token. In each block: 4 times the width for two normalizations; query, key
    and value (repeated for every query head); attention's output by head and joined; SwiGLU's gate
    before and after silu, up projection and product. At the end: 2 widths, log-probabilities."""
    return depth * (4 * width + 5 * heads * head_dim + 4 * inner) + 2 * width + vocab_size


def pretraining_cost(spec: Mapping) -> Cost:
    """One run of task `pretraining`; scores outside the sliding window count: they are masked."""
    data, model = spec["data"], spec["model"]
    keys = ("depth", "width", "heads", "kv_heads", "head_dim", "inner")
    sizes = {key: model[key] for key in keys} | {"vocab_size": data["vocab_size"]}
    depth, width = model["depth"], model["width"]
    matrices = weights(**sizes)
    return of_training(
        spec,
        flops=transformer.flops(
            weights=matrices,
            depth=depth,
            width=model["heads"] * model["head_dim"],
            sequence_length=data["sequence_length"],
        ),
        batch=data["batch_size"] * data["sequence_length"],
        unit="tokens",
        # Besides: the embedding, and gain and bias of 2 L + 1 LayerNorms.
        parameters=matrices + data["vocab_size"] * width + 2 * (2 * depth + 1) * width,
        activations=activations(**sizes),
        rows=data["batch_size"],
        layers=7 * depth + 1,  # query, key and value, output, three of SwiGLU; the output
    )


cost = pretraining_cost
