"""A readout that is the embedding too, given weights of its own."""

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from widthwise.errors import UserError
from widthwise.tracing.roles import Roles


def tied_readouts(roles: Roles, model: nn.Module) -> dict[str, str]:
    """Names of the readouts' own weights among those that are tied to an embedding -> its name.

    Raises UserError where a readout has none: it reads by the embedding's, in a function.
    """
    found: dict[str, str] = {}
    aliases = dict(model.named_parameters(remove_duplicate=False))
    for name, each in roles.found.items():
        if not each.tied or each.role.kind != "embedding":
            continue
        shared = [alias for alias, p in aliases.items() if p is aliases[name]]
        for place in each.readouts:
            own = [alias for alias in shared if alias.rpartition(".")[0] == place]
            if not own or len(shared) < 2:
                raise UserError(
                    f"untie: {name} is read in {place or 'the module itself'}, which has no "
                    "weights of its own: give the readout a layer in make, whose weight is the "
                    "embedding's"
                )
            found |= dict.fromkeys(own, name)
    return found


def untie(model: nn.Module, readouts: Collection[str]) -> nn.Module:
    """Give these weights, shared with an embedding, values of their own, in place; returns the
    model. Where it has a config that says they are tied (Hugging Face's), that says so no more."""
    for name in readouts:
        place, _, last = name.rpartition(".")
        layer = model.get_submodule(place)
        tied = getattr(layer, last)
        setattr(layer, last, nn.Parameter(tied.detach().clone(), tied.requires_grad))
    config: Any = getattr(model, "config", None)
    if readouts and getattr(config, "tie_word_embeddings", False):
        config = copy.deepcopy(config)
        config.tie_word_embeddings = False
        model.config = config
    return model


def untied(
    model: nn.Module, optimizers: Sequence[torch.optim.Optimizer], readouts: Collection[str]
) -> tuple[nn.Module, list[torch.optim.Optimizer]]:
    """Copies of a model and its optimizers in which these readouts have weights of their own, and
    states of their own in the optimizer, with the values that they shared.

    Raises UserError on a shared gradient, of which nobody knows whose it is.
    """
    for name in readouts:
        if model.get_parameter(name).grad is not None:
            raise UserError(
                f"untie: {name} has a gradient, the sum of the embedding's and the readout's: "
                "take the step, or optimizer.zero_grad(), before"
            )
    copied, others = copy.deepcopy((model, list(optimizers)))
    before = {name: copied.get_parameter(name) for name in readouts}
    untie(copied, readouts)
    for name, tied in before.items():
        own = copied.get_parameter(name)
        for optimizer in others:
            for group in optimizer.param_groups:
                _add(optimizer, group, tied, own, name)
    return copied, others


def _add(
    optimizer: torch.optim.Optimizer, group: dict, tied: nn.Parameter, own: nn.Parameter, name: str
) -> None:
    """Put a parameter behind the one that it was tied to, where a group has that."""
    place = next((i for i, p in enumerate(group["params"]) if p is tied), None)
    if place is None:
        return
    group["params"].insert(place + 1, own)
    for key in ("names", "param_names"):
        if key in group:
            group[key].insert(place + 1, name)
    state: Mapping = optimizer.state.get(tied, {})
    if state:
        optimizer.state[own] = copy.deepcopy(dict(state))
