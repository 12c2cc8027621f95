"""A model of `repro.models` whose kernels are measured: no recursions are known for it."""

from collections.abc import Mapping

import numpy as np
import torch

from repro import models
from repro.errors import UserError, did_you_mean
from widthwise import parametrization


def build(
    settings: Mapping, width: int, samples: int, strategy: str, rng: np.random.Generator
) -> tuple[torch.nn.Module, torch.Tensor, list[int]]:
    """(uninitialized network, inputs, ids of the outputs to look at).

    settings: `name`, one of `repro.models.ARCHITECTURES`, and all arguments of its class but the
    width and the multipliers, which `strategy`, a parametrization, says. Inputs are Gaussian images
    where there is a `resolution`, features where there are `inputs`, and words where there is a
    `vocab_size`. Words are of the first half of the vocabulary, outputs of the second: logits of
    the words that are read differ from the others where the readout is the embedding.
    Raises UserError on a name, settings or a model for which this cannot be done, and on a strategy
    that needs a matrix' number of outputs where the model's roles do not say it.
    """
    name = settings["name"]
    if name not in models.ARCHITECTURES:
        raise UserError(f"model: name {name!r}: {did_you_mean(name, models.ARCHITECTURES)}")
    try:
        network = models.build({**settings, "width": width}, strategy)
        if "vocab_size" in settings:
            used = settings["vocab_size"] // 2
            words = rng.integers(used, size=(samples, settings["sequence_length"]))
            inputs, seen = torch.from_numpy(words), range(used, settings["vocab_size"])
        else:
            sides = [3] + 2 * [settings["resolution"]] if "resolution" in settings else None
            shape = sides or [settings["inputs"]]
            inputs, seen = torch.from_numpy(rng.normal(size=(samples, *shape))).float(), None
        with torch.no_grad():
            outputs = network(inputs)
    except KeyError as error:
        raise UserError(f"model {name}: its settings have no {error}") from None
    except TypeError as error:
        raise UserError(f"model {name}: {error}") from None
    rows = parametrization.table(strategy, "adam")
    for parameter, role in network.roles().items():
        if role.kind == "hidden" and rows["hidden"].lr.fan_out and role.fan_out == 1:
            raise UserError(
                f"model {name}: {strategy!r} needs fan_out, which the role of {parameter} does not "
                'say; name a "parametrization" that does not, such as "neural-tangent"'
            )
    return network, inputs, list(seen if seen is not None else range(outputs.shape[-1]))


def part(parameter: str) -> str:
    """A parameter's part of a tangent kernel: its name, then its number where there are several.

    `attention.1.qkv.weight` is `attention qkv.1`, `output.bias` is `output bias`.
    """
    words = parameter.removesuffix(".weight").split(".")
    numbers = [word for word in words if word.isdigit()]
    return ".".join([" ".join(word for word in words if not word.isdigit()), *numbers])
