"""An optimizer, its groups' hyperparameters and its state, widened with its model."""

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import torch
from torch import nn

from widthwise.errors import UserError
from widthwise.optimizers._probed import LISTS, required
from widthwise.optimizers.known import Update, shipped
from widthwise.upscaling.growth import Growth

# Keys of a parameter group that are learning rates: torch's own, its schedulers', and a plan's.
RATES = ("lr", "lr_scale", "initial_lr", "max_lr", "min_lr", "swa_lr")
# Entries of a parameter's state that are numbers; torch keeps them beside the parameter in groups
# that are fused or can be captured in a graph, else on the CPU.
COUNTERS = ("step", "mu_product")
Kind = TypeVar("Kind", bound=torch.optim.Optimizer)
Origin = tuple[int, float]  # of a wide group: the narrow group's place, the factor on its rate


def widen_optimizer(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    wide: nn.Module,
    growth: Mapping[str, Growth],
    updates: Mapping[type, Update] = MappingProxyType({}),
) -> tuple[Any, list[Origin]]:
    """The optimizer of the wide model, and where each of its groups comes from.

    Groups are split where their factors differ; state is scaled, by "shrink" there is none.
    updates: of classes that no file of `widthwise/optimizers/` is of.
    Raises UserError on a class or a state that no `Update` is known of.
    """
    kind: Any = type(optimizer)
    update = _update(kind, updates)
    names = {id(p): name for name, p in model.named_parameters()}
    parameters = dict(wide.named_parameters())
    # Parameters that shared a group may need different factors: a wide group is known by the narrow
    # one's index and the factors on its settings.
    groups: dict[tuple, dict] = {}
    places: dict[str, dict] = {}
    for index, group in enumerate(optimizer.param_groups):
        coupled = not (update.decoupled or group.get("decoupled_weight_decay"))
        for parameter in group["params"]:
            if id(parameter) not in names:
                raise UserError("the optimizer holds a parameter that is not the model's")
            name = names[id(parameter)]
            factors = {
                **dict.fromkeys(RATES, growth[name].lr(update.degree)),
                "weight_decay": growth[name].weight_decay(update.degree, coupled),
                "eps": growth[name].eps,
            }
            key = (index, *factors.values())
            if key not in groups:
                settings = {k: v for k, v in group.items() if k not in LISTS}
                settings = copy.deepcopy(settings)
                scaled = {k: v * factors[k] for k, v in settings.items() if k in factors}
                groups[key] = settings | scaled | {"params": [], "names": []}
            groups[key]["params"].append(parameters[name])
            groups[key]["names"].append(name)
            places[name] = groups[key]
    for (index, *_), group in groups.items():
        if "param_names" in optimizer.param_groups[index]:
            group["params"] = list(zip(group["names"], group["params"], strict=True))
    if all(not float(group["lr"]) for group in groups.values() if "lr" in group):
        warnings.warn(
            "widen: every learning rate is 0, as at the end of a schedule: the wide optimizer "
            "moves nothing until its groups are given rates",
            stacklevel=3,
        )
    result = kind(list(groups.values()), **required(kind, optimizer.defaults))
    if all(each.by != "shrink" for each in growth.values()):
        result.state.update(_widen_state(model, optimizer, wide, growth, update.state, places))
    return result, [(key[0], key[1]) for key in groups]


def resume(kind: Callable[..., Kind], model: nn.Module, state: Mapping[str, Any]) -> Kind:
    """The optimizer of a model that was widened before, from what was saved of it.

    kind: its class. state: its `state_dict()`, whose groups name their parameters.
    Raises UserError where it names none, or others than the model has.
    """
    parameters, groups = dict(model.named_parameters()), []
    for saved in state["param_groups"]:
        names = saved.get("names")
        if names is None or set(names) - set(parameters):
            raise UserError(
                "resume: the state's groups do not name the model's parameters: give the "
                "state_dict() of an optimizer that `widen` returned, and the model it was of"
            )
        group = {key: value for key, value in saved.items() if key not in LISTS}
        of = [parameters[name] for name in names]
        named = "param_names" in saved
        params = list(zip(names, of, strict=True)) if named else of
        groups.append(group | {"params": params, "names": list(names)})
    optimizer = kind(groups, **required(kind, groups[0]))
    optimizer.load_state_dict(dict(state))
    return optimizer


def _update(kind: type, updates: Mapping[type, Update]) -> Update:
    """What is known of a class, by the exact class: a subclass may do anything."""
    known = {u.kind: u for u in shipped().values() if u.entrywise and u.path}
    found = updates.get(kind) or known.get(kind)
    if found is None or not found.entrywise:
        raise UserError(
            f"optimizer {kind.__name__} cannot be widened; known are "
            f"{', '.join(k.__name__ for k in known)}, and what updates= says of others that act "
            "entry by entry"
        )
    return found


def _widen_state(
    model, optimizer, wide, growth: Mapping[str, Growth], powers: Mapping, groups: Mapping
) -> dict:
    """Wide parameter -> its optimizer state, where torch's own would be; groups: of each parameter.
    Raises UserError on a state tensor it cannot scale."""
    narrow, state = dict(model.named_parameters()), {}
    for name, parameter in wide.named_parameters():
        old = optimizer.state.get(narrow[name], {})
        unknown = [key for key in old if key not in powers]
        if unknown:
            raise UserError(f"optimizer state {unknown[0]!r} of {name}: no rule to widen it")
        _check_state(name, narrow[name], old)
        if old:
            state[parameter] = {
                key: _widen_entry(value, powers[key], growth[name]) for key, value in old.items()
            }
            group = groups[name]
            beside = group.get("capturable") or group.get("fused")
            for key in COUNTERS:
                if torch.is_tensor(state[parameter].get(key)):
                    device = parameter.device if beside else torch.device("cpu")
                    state[parameter][key] = state[parameter][key].to(device)
    return state


def _check_state(name: str, parameter: torch.Tensor, state: Mapping) -> None:
    """Raise UserError on a state tensor of another shape than its parameter's: torch's fused
    optimizers do not look, and write past its end."""
    for key, value in state.items():
        if torch.is_tensor(value) and value.ndim and value.shape != parameter.shape:
            raise UserError(
                f"optimizer state {key!r} of {name}: has the shape {tuple(value.shape)}, "
                f"the parameter {tuple(parameter.shape)}"
            )


def _widen_entry(value, power: int, growth: Growth):
    if value is None or not torch.is_tensor(value):
        return value
    return growth.repeat(value, growth.gradient**power) if value.ndim else value.clone()


def check_covered(model: nn.Module, optimizers: Sequence[torch.optim.Optimizer]) -> None:
    """Raise UserError unless each parameter that is trained is in one of the optimizers."""
    held = [id(p) for o in optimizers for group in o.param_groups for p in group["params"]]
    for name, parameter in model.named_parameters():
        count = held.count(id(parameter)) if parameter.requires_grad else 1
        if count != 1:
            where = "in no optimizer" if not count else f"in {count} optimizers"
            raise UserError(
                f"{name}: is {where}: give all of them in a list, and freeze what is not trained "
                "(requires_grad_(False))"
            )
