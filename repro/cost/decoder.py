"""The decoder of `language_model`: untied output, no biases, norms without parameters."""

from collections.abc import Mapping

from repro.cost import Cost, of_training, transformer


def forward_flops(
    *, vocab_size: int, width: int, depth: int, expansion: int, sequence_length: int
) -> int:
    """Operations of a forward pass per token: a third of those of a training step."""
    weights = transformer.weights(
        vocab_size=vocab_size, width=width, depth=depth, expansion=expansion
    )
    total = transformer.flops(
        weights=weights, depth=depth, width=width, sequence_length=sequence_length
    )
    return total // 3


def language_model_cost(spec: Mapping) -> Cost:
    """One run of task `language_model`."""
    data, model = spec["data"], spec["model"]
    sizes = {
        "vocab_size": data["vocab_size"],
        **{key: model[key] for key in ("width", "depth", "expansion")},
    }
    return of_training(
        spec,
        flops=3 * forward_flops(**sizes, sequence_length=data["sequence_length"]),
        batch=data["batch_size"] * data["sequence_length"],
        unit="tokens",
        parameters=transformer.weights(**sizes) + data["vocab_size"] * model["width"],
        activations=transformer.activations(**sizes),
        rows=data["batch_size"],
        layers=4 * sizes["depth"] + 1,  # query with key and value, output, up, down; the output
    )


cost = language_model_cost
