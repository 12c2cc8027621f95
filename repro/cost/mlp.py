"""A multilayer perceptron with biases, counted as in Ma et al., Appendix F.4."""

from collections.abc import Mapping

from repro.cost import Cost, of_training


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


def cost(spec: Mapping) -> Cost:
    """One run of this model."""
    data, model = spec["data"], spec["model"]
    sizes = {key: model[key] for key in ("inputs", "hidden_layers", "width", "classes")}
    return of_training(
        spec,
        flops=flops(**sizes),
        batch=data["batch_size"],
        unit="samples",
        parameters=parameters(**sizes),
        activations=activations(**sizes),
        rows=data["batch_size"],
        layers=sizes["hidden_layers"] + 1,
    )
