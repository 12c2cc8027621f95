"""GPT-2: tied embedding, MLP expansion 4."""

from collections.abc import Mapping

from repro.cost import Cost, of_training, transformer


def weights(*, depth: int, width: int, vocab_size: int) -> int:
    """Weights in GPT-2's matrix products (N in F.4); the tied embedding counts once."""
    return transformer.weights(vocab_size=vocab_size, width=width, depth=depth, expansion=4)


def parameters(*, depth: int, width: int, vocab_size: int, sequence_length: int) -> int:
    """GPT-2 without biases: `weights`, learned positions and 2 L + 1 LayerNorm scales."""
    matrices = weights(depth=depth, width=width, vocab_size=vocab_size)
    return matrices + sequence_length * width + (2 * depth + 1) * width


def flops(*, depth: int, width: int, vocab_size: int, sequence_length: int) -> int:
    """GPT-2's training operations per token (`transformer.flops`)."""
    matrices = weights(depth=depth, width=width, vocab_size=vocab_size)
    return transformer.flops(
        weights=matrices, depth=depth, width=width, sequence_length=sequence_length
    )


def nanogpt_weights(*, depth: int, width: int) -> int:
    """The N that gives F.4's printed GPT-2 totals: nanoGPT's `get_num_params` of a default model.

    It differs from the paper's text. It counts all parameters except positions, also biases and
    LayerNorms, where F.4 says weight matrices; and it pads the vocabulary to a multiple of 64,
    where F.3 says 50,257.
    """
    biases = 3 + 1 + 4 + 1  # query, key and value; attention's output; up; down
    norms = 2 * 2  # two LayerNorms a block, scale and shift
    vectors = depth * (biases + norms) + 2  # + 2: the last LayerNorm
    return weights(depth=depth, width=width, vocab_size=50_304) + vectors * width


def cost(spec: Mapping) -> Cost:
    """One run of this model."""
    data, model = spec["data"], spec["model"]
    sizes = {key: model[key] for key in ("width", "depth")}
    sizes["vocab_size"] = data["vocab_size"]
    return of_training(
        spec,
        flops=flops(**sizes, sequence_length=data["sequence_length"]),
        batch=data["batch_size"] * data["sequence_length"],
        unit="tokens",
        parameters=parameters(**sizes, sequence_length=data["sequence_length"]),
        activations=transformer.activations(**sizes, expansion=4),
        rows=data["batch_size"],
        layers=4 * sizes["depth"] + 1,
    )
