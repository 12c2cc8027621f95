"""Models over shared blocks; each names the role of every one of its parameters."""

from collections.abc import Mapping
from importlib import import_module

from repro.parametrization import Role, table, tied_multiplier

KINDS = {
    "mlp": "MLP",
    "resnet": "ResNet",
    "gpt2": "GPT2",
    "llm": "LLM",
    "bart": "BART",
    "vit": "ViT",
}


def build(settings: Mapping, parametrization: str, **more):
    """The model a spec names, uninitialized: `name`, and the keyword arguments of its class.

    more: what the data fix (vocab_size, sequence_length). The readout gets the multiplier of
    `parametrization`.
    """
    name = settings["name"]
    kind = getattr(import_module(f"repro.models.{name}"), KINDS[name])
    arguments = {key: value for key, value in settings.items() if key != "name"}
    ratio = settings["width"] / settings["base_width"]
    if getattr(kind, "RESCALED", False):
        multiplier = tied_multiplier(parametrization, ratio)
    else:
        rule = table(parametrization, "sgd")["output"]
        multiplier = rule.multiplier(Role("output", width_in=ratio))
    return kind(**arguments, output_multiplier=multiplier, **more)
