"""Initial spreads and optimizer groups of any module, by its traced roles.

At the base width, where the roles were traced, every parametrization is the user's own model and
optimizer: no value is changed, and no factor is other than 1.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from widthwise.errors import UserError, did_you_mean
from widthwise.parametrization.named import find
from widthwise.parametrization.rules import KINDS, check_groups, init_std
from widthwise.tracing.roles import Roles

# Optimizer -> (family, whether its weight decay is added to the gradient). Adam's relatives divide
# the gradient by its size, so a step does not depend on it.
OPTIMIZERS = {
    "SGD": ("sgd", True),
    "Adam": ("adam", True),
    "AdamW": ("adam", False),
    "NAdam": ("adam", True),
    "Adamax": ("adam", True),
}
BY_LOWER_CASE = {name.lower(): name for name in OPTIMIZERS}


@torch.no_grad()
def initialize(
    model: nn.Module,
    roles: Roles,
    parametrization: str,
    generator: torch.Generator | None = None,
) -> None:
    """Give a model the initial spreads that a parametrization says at its width.

    The spread of each parameter at the base width is the user's own (`roles`); wider, that of a
    matrix falls as fan_in^-1/2, times the table's factor. Where no width differs from the base's
    nothing is touched, and neither are values that are all equal, as gains of 1.

    model: freshly made, not trained. parametrization: a name, or the path of a file of one's own.
    generator: None: the model's own draws are kept and scaled. Else they are drawn afresh, in the
    model's order, normal or uniform as at the base width: for a model whose values are not there
    yet, as after `to_empty`; on the parameters' device.
    Raises UserError where the roles are of another module.
    """
    at, rows = roles.at(model), find(parametrization).rules("adam")
    for name, parameter in model.named_parameters():
        role = at[name]
        if not role.drawn or role.width_in == role.width_out == 1:
            continue
        std = init_std(role, rows[role.kind])
        if generator is None:
            own = float(parameter.float().square().mean().sqrt())
            if own > 0:
                parameter.mul_(std / own)
        elif role.distribution == "uniform":
            parameter.uniform_(-std * 3**0.5, std * 3**0.5, generator=generator)
        else:
            parameter.normal_(0.0, std, generator=generator)


def param_groups(
    model: nn.Module,
    roles: Roles,
    parametrization: str,
    optimizer: str | type[torch.optim.Optimizer],
    lr: float | Mapping[str, float],
    weight_decay: float = 0.0,
    *,
    eps: float | None = None,
    decayed: Sequence[str] = KINDS,
) -> list[dict]:
    """Groups for an optimizer, one for each distinct (lr, weight decay, eps).

    optimizer: a class of torch.optim (OPTIMIZERS), or its name in lower case.
    lr: the rate tuned at the base width; or one for each kind of role.
    weight_decay: AdamW's decays by lr * weight_decay whatever a group's factor. eps: Adam's, the
        class's own if None; it is scaled, as gradients are.
    decayed: the kinds of role that decay at all.
    Factors are relative to the base width, so that there every group has these constants.
    Raises UserError where the optimizer is not known, the roles are of another module, or a kind
    has no rate.
    """
    kind = _class_name(optimizer)
    family, coupled = OPTIMIZERS[kind]
    at, rows = roles.at(model), find(parametrization).rules(family)
    if eps is None and family == "adam":
        given = inspect.signature(optimizer_class(kind)).parameters["eps"].default
        eps = given if isinstance(given, float) else None
    groups: dict[tuple, dict] = {}
    for name, parameter in model.named_parameters():
        role, base = at[name], roles[name]
        rule = rows[role.kind]
        if isinstance(lr, Mapping) and role.kind not in lr:
            raise UserError(f"param_groups: lr has no rate for {role.kind}, the kind of {name}")
        rate = lr[role.kind] if isinstance(lr, Mapping) else lr
        decay = rule.coupled_weight_decay if coupled else rule.weight_decay
        group = {
            "lr": rate * (rule.lr(role) / rule.lr(base)),
            "weight_decay": (
                weight_decay * (decay(role) / decay(base)) if role.kind in decayed else 0.0
            ),
        }
        if eps is not None:
            group["eps"] = eps * rule.eps(role)
        key = tuple(group.values())
        groups.setdefault(key, {"params": [], **group})["params"].append(parameter)
    check_groups(model, groups.values())
    return list(groups.values())


def optimizer_class(optimizer: str | type[torch.optim.Optimizer]) -> Any:
    """The class of torch.optim of a name, or the class that was given; UserError as above."""
    name = _class_name(optimizer)
    return getattr(torch.optim, name) if isinstance(optimizer, str) else optimizer


def _class_name(optimizer: str | type[torch.optim.Optimizer]) -> str:
    name = optimizer if isinstance(optimizer, str) else optimizer.__name__
    name = BY_LOWER_CASE.get(name, name)
    if name not in OPTIMIZERS:
        raise UserError(f"optimizer {name}: {did_you_mean(name.lower(), BY_LOWER_CASE)}")
    return name
