"""A Transformer's operations, weights and activations, as of Ma et al., Appendix F.4."""


def flops(*, weights: int, depth: int, width: int, sequence_length: int) -> int:
    """Training operations per token, F.4: 6 N + 12 L H Q T, H heads of Q being the width.

    weights: those of the matrix products, N. Every query meets all T keys (no causal saving).
    """
    return 6 * weights + 12 * depth * width * sequence_length


def weights(*, vocab_size: int, width: int, depth: int, expansion: int) -> int:
    """Weights of the matrix products: query, key, value, out, up, down, and the output."""
    return depth * (4 + 2 * expansion) * width**2 + vocab_size * width


def activations(*, vocab_size: int, width: int, depth: int, expansion: int) -> int:
    """Numbers kept per token: 8 + 2 expansion widths a block, 2 at the end, log-probabilities.

    A block keeps its two normalizations' inputs and outputs (4), query, key and value (3), the
    attention's output, GELU's input and output; fused attention, which keeps no T x T matrix.
    """
    return depth * (8 + 2 * expansion) * width + 2 * width + vocab_size
