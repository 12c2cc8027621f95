"""Models over shared blocks; each names the role of every one of its parameters."""

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol

from repro.parametrization import KINDS as ROLE_KINDS
from repro.parametrization import (
    Role,
    attention_multiplier,
    initialize,
    output_multiplier,
    tied_multiplier,
)


class Model(Protocol):
    """What a class of CLASSES must define, besides being a torch.nn.Module.

    Its constructor takes keywords without defaults: `width` and `base_width`, `output_multiplier`
    (the factor on the logits), and whatever else `model` in a study's spec is to say. It draws
    nothing: `repro.parametrization.initialize` draws every parameter that has an init, and what has
    none (biases, gains) the constructor sets itself.

    TIED (optional): True where the readout is the embedding transposed, whose multiplier is
    `repro.parametrization.tied_multiplier`.

    HEAD_DIM_GROWS (optional): True where the heads are as many at every width. The constructor then
    also takes `attention_multiplier`, the factor on attention's logits head_dim^-1/2 q.k.
    """

    def roles(self) -> Mapping[str, Role]:
        """The role of each parameter, by its name; `check_roles` raises unless all have one."""


CLASSES = {
    "mlp": "MLP",
    "resnet": "ResNet",
    "gpt2": "GPT2",
    "llm": "LLM",
    "bart": "BART",
    "vit": "ViT",
}


def build(settings: Mapping, parametrization: str, **more):
    """The model that a spec's settings describe, its parameters not drawn yet (`draw`).

    settings: `name`, one of CLASSES, and the arguments of its class. more: the arguments that
    follow from the data (vocab_size, sequence_length). Readout and attention get the multipliers
    that `parametrization` says.
    """
    name = settings["name"]
    kind = getattr(import_module(f"repro.models.{name}"), CLASSES[name])
    arguments = {key: value for key, value in settings.items() if key != "name"}
    ratio = settings["width"] / settings["base_width"]
    readout = tied_multiplier if getattr(kind, "TIED", False) else output_multiplier
    arguments["output_multiplier"] = readout(parametrization, ratio)
    if getattr(kind, "HEAD_DIM_GROWS", False):
        arguments["attention_multiplier"] = attention_multiplier(parametrization, ratio)
    return kind(**arguments, **more)


def draw(model, init: str | Mapping[str, str], seed: int) -> None:
    """Draw a model's initial parameters, on the device they are on.

    init: the parametrization whose init every role takes, or kind of role -> its own.
    """
    import torch

    device = next(model.parameters()).device
    # Parameters on the meta device have shapes alone, and torch has no generator there.
    generator = torch.Generator("cpu" if device.type == "meta" else device).manual_seed(seed)
    kinds = init if isinstance(init, Mapping) else dict.fromkeys(ROLE_KINDS, init)
    initialize(model, kinds, generator)
