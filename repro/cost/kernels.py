"""The two tasks that measure kernels of randomly initialized encoders."""

from collections.abc import Mapping
from typing import NamedTuple

from repro.cost import BYTES, Cost, transformer, vit

STACKED = 2**22  # parameters drawn at a time (16 MB in float32), but at least one network
# How many operations take a CPU as long as drawing a normal number, or handling a gradient entry.
HANDLED = 40


class Encoder(NamedTuple):
    """A network of `repro.tasks.transformer_kernels`.

    tokens: in all samples together. outputs: rows of its kernel, one per token or per sample.
    forward: operations of one forward pass. kept: activations it keeps, in numbers.
    """

    parameters: int
    tokens: int
    outputs: int
    forward: int
    kept: int


def encoder(spec: Mapping) -> Encoder:
    """The network of a spec of either kernel task."""
    model = spec["model"]
    shape = {key: model[key] for key in ("depth", "expansion")} | {"width": spec["width"]}
    samples, width = model["samples"], spec["width"]
    if model["kind"] == "vision":
        sizes = shape | {key: model[key] for key in ("patch", "resolution", "classes")}
        tokens = samples * vit.patches(resolution=model["resolution"], patch=model["patch"])
        parameters, rest = vit.parameters(**sizes), model["classes"] * samples
        outputs, flops = samples, samples * vit.flops(**sizes)
    else:
        length, vocab_size = model["sequence_length"], model["vocab_size"]
        weights = transformer.weights(**shape, vocab_size=vocab_size)
        tokens = outputs = samples * length
        parameters, rest = weights + length * width, tokens * vocab_size
        flops = tokens * transformer.flops(
            weights=weights, depth=shape["depth"], width=width, sequence_length=length
        )
    kept = tokens * transformer.activations(**shape, vocab_size=0) + rest
    return Encoder(parameters, tokens, outputs, flops // 3, kept)


def transformer_kernels_cost(spec: Mapping) -> Cost:
    """One run of task `transformer_kernels`: its random draws and forward passes. The recursions
    are left out: they take a second at any width. Of a model by its name it is not known."""
    if "kind" not in spec["model"]:
        return Cost()
    net, draws = encoder(spec), spec["draws"]
    at_once = max(1, min(draws, STACKED // net.parameters))
    return Cost(
        flops=draws * (HANDLED * net.parameters + net.forward),
        parameters=net.parameters,
        state_bytes=BYTES * at_once * net.parameters,
        activation_bytes=BYTES * at_once * net.kept,
    )


def tangent_kernels_cost(spec: Mapping) -> Cost:
    """One run of task `tangent_kernels`: for each row of the kernel a gradient of all parameters,
    and their products. Where all blocks are measured, a row of an earlier block counts as half. Of
    a model by its name it is not known."""
    if "kind" not in spec["model"]:
        return Cost()
    net, rows = encoder(spec), spec["channels"]
    earlier = (2 * spec["model"]["depth"] + 1) * net.tokens / 2 if spec["every_block"] else 0
    passes = round(rows * (net.outputs + earlier))
    entries = passes * net.parameters
    products = 2 * rows * net.outputs * entries
    one = HANDLED * (net.parameters + entries) + (1 + 2 * passes) * net.forward + products
    return Cost(
        flops=spec["draws"] * one,
        parameters=net.parameters,
        state_bytes=BYTES * net.parameters,
        activation_bytes=BYTES * (rows * net.tokens * net.parameters + net.kept),
    )
