"""The GRU language model: untied output, every token in its turn."""

from collections.abc import Mapping

from repro.cost import Cost, of_training

GATES = 3  # each reads the layer's input and its state


def cost(spec: Mapping) -> Cost:
    """One run of a GRU."""
    data, model = spec["data"], spec["model"]
    width, depth, length = model["width"], model["depth"], data["sequence_length"]
    readout = data["vocab_size"] * width
    matrices = depth * 2 * GATES * width**2 + readout
    biases = depth * 2 * GATES * width
    # Kept a token: a layer's input, its gates' six products and its state; embedding and logits.
    kept = width + depth * (2 * GATES + 2) * width + data["vocab_size"]
    return of_training(
        spec,
        flops=6 * matrices,
        batch=data["batch_size"] * length,
        unit="tokens",
        parameters=matrices + biases + readout,
        activations=kept,
        rows=data["batch_size"],
        # Token after token, but started by cuDNN: in a tenth of the time, as is assumed.
        layers=depth * (1 + length // 10) + 1,
    )
