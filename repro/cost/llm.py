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


BLOCK = 128  # queries and keys that attention by blocks takes together


def keys(length: int, window: int) -> int:
    """How many keys a query of `length` meets on average: all of them, as in Appendix F.4, unless
    the window is shorter. Then a GPU passes over the blocks of which nothing is seen
    (`backend.window_mask`)."""
    if window >= length:
        return length
    before = -(-(window - 1) // BLOCK)
    rows = -(-length // BLOCK)
    blocks = sum(min(row, before) + 1 for row in range(rows))
    return min(length, blocks * BLOCK // rows)


def pretraining_cost(spec: Mapping) -> Cost:
    """One run of task `pretraining`."""
    data, model = spec["data"], spec["model"]
    shape = ("depth", "width", "heads", "kv_heads", "head_dim", "inner")
    sizes = {key: model[key] for key in shape} | {"vocab_size": data["vocab_size"]}
    depth, width = model["depth"], model["width"]
    matrices = weights(**sizes)
    return of_training(
        spec,
        flops=transformer.flops(
            weights=matrices,
            depth=depth,
            width=model["heads"] * model["head_dim"],
            sequence_length=keys(data["sequence_length"], model["window"]),
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
