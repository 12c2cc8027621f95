"""A Transformer's operations, weights and activations, as in Ma et al., Appendix F.4."""


def flops(*, weights: int, depth: int, width: int, sequence_length: int) -> int:
    """Training operations per token, F.4: 6 N + 12 L H Q T; H heads of dimension Q make the width.

    weights: N, those in matrix products. A causal mask saves nothing: a query meets all T keys.
    """
    return 6 * weights + 12 * depth * width * sequence_length


def weights(*, vocab_size: int, width: int, depth: int, expansion: int) -> int:
    """Weights in matrix products: query, key, value, out, up, down, and the output."""
    return depth * (4 + 2 * expansion) * width**2 + vocab_size * width


def activations(*, vocab_size: int, width: int, depth: int, expansion: int) -> int:
    """Numbers kept per token: per block 8 + 2 expansion times the width; at the end 2 times the
    width and the log-probabilities.

    A block keeps inputs and outputs of two normalizations (4), query, key and value (3), the output
    of attention (1), and GELU's input and output. Fused attention keeps no T x T matrix.
    """
    return depth * (8 + 2 * expansion) * width + 2 * width + vocab_size
