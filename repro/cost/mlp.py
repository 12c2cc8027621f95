"""A multilayer perceptron with biases, counted as in Ma et al., Appendix F.4."""


def flops(*, inputs: int, hidden_layers: int, width: int, classes: int) -> int:
    """Training operations per sample, F.4: 6 (d_in d_h + (L - 2) d_h^2 + d_h d_out).

    L = hidden_layers + 1 weight layers.
    """
    return 6 * (inputs * width + (hidden_layers - 1) * width**2 + width * classes)


def parameters(*, inputs: int, hidden_layers: int, width: int, classes: int) -> int:
    """Weights and biases."""
    weights = inputs * width + (hidden_layers - 1) * width**2 + width * classes
    return weights + hidden_layers * width + classes


def activations(*, inputs: int, hidden_layers: int, width: int, classes: int) -> int:
    """Numbers kept per sample: every layer's input and the log-probabilities."""
    return inputs + hidden_layers * width + classes
