"""Initial values and optimizer groups of any model, by the roles of its parameters.

Roles are traced at the base width (`widthwise.roles`), or stated by the model itself, whose method
`roles()` then has the role of each parameter at the model's own width.
At the base width every parametrization is the user's own model and optimizer: where the roles were
traced no value is changed there, and no factor is other than 1.
"""

import inspect
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from widthwise.errors import UserError
from widthwise.optimizers.known import OPTIMIZERS, class_name, optimizer_class
from widthwise.parametrization.named import table
from widthwise.parametrization.rules import (
    KINDS,
    Power,
    Role,
    check_groups,
    check_roles,
    init_std,
)

if TYPE_CHECKING:
    import torch

# As torch.optim.Muon has them.
MUON = MappingProxyType({"momentum": 0.95, "adjust_lr_fn": "original"})


class Traced(Protocol):
    """Roles that were traced at the base width, as `widthwise.roles` returns them."""

    def __getitem__(self, name: str, /) -> Role:
        """The role of a parameter at the base width."""

    def at(self, model: Any, /) -> dict[str, Role]:
        """The roles of the same module at another width."""


def initialize(
    model,
    roles: Traced | None,
    parametrization: str | Mapping[str, str],
    generator: "torch.Generator | None" = None,
) -> None:
    """Give a model the initial spreads that a parametrization says at its width.

    The spread of each parameter at the base width is the user's own, where its roles were traced
    there; wider, that of a matrix falls as fan_in^-1/2, times the table's factor. Where no width
    differs from the base's nothing is touched, and neither are values that are all equal, as gains
    of 1. Roles that a model states say what the spreads are, at any width.

    model: freshly made, not trained. roles: None: the model's own, `model.roles()`.
    parametrization: a name, or the path of a file of one's own; or one for each kind of role.
    generator: None: the model's own draws are kept and scaled. Else they are drawn afresh, in the
    model's order: for a model whose values are not there yet, as after `to_empty`; on the
    parameters' device.
    Raises UserError where the roles are of another module.
    """
    import torch

    at, base = _at(model, roles)
    if isinstance(parametrization, str):
        parametrization = dict.fromkeys(KINDS, parametrization)
    tables = {kind: table(name, "adam") for kind, name in parametrization.items()}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            role = at[name]
            if not role.drawn or (base is not None and role.width_in == role.width_out == 1):
                continue
            std = init_std(role, tables[role.kind][role.kind])
            if generator is None:
                own = float(parameter.float().square().mean().sqrt())
                if own > 0:
                    parameter.mul_(std / own)
            elif role.distribution == "uniform":
                parameter.uniform_(-std * 3**0.5, std * 3**0.5, generator=generator)
            else:
                parameter.normal_(0.0, std, generator=generator)


def param_groups(
    model,
    roles: Traced | None,
    parametrization: str,
    optimizer: "str | type[torch.optim.Optimizer]",
    lr: float | Mapping[str, float],
    weight_decay: float = 0.0,
    *,
    eps: float | None = None,
    decayed: Sequence[str] = KINDS,
    factors: Mapping[str, float] = MappingProxyType({}),
    muon: Mapping[str, Any] = MUON,
) -> list[dict]:
    """Groups for an optimizer, one for each distinct (lr, weight decay, eps).

    roles, parametrization: as in `initialize`.
    optimizer: a class of torch.optim (OPTIMIZERS), or its name in lower case; "muon": `MuonAdamW`.
    lr: the rate tuned at the base width; or one for each kind of role.
    weight_decay: AdamW's and Muon's decay by lr * weight_decay whatever a group's factor.
    eps: Adam's, the class's own if None; it is scaled, as gradients are.
    decayed: the kinds of role that decay at all.
    factors: parameter name -> factor on its lr in place of the table's; lr * weight_decay stays.
        With 0 the parameter stays as it begins.
    muon: the settings of its groups, those of matrices between two widths (`muon.split`).
    Factors are relative to the base width, so that there every group has these constants.
    Raises UserError where the optimizer is not known, the roles are of another module, a kind has
    no rate, or a factor is of a parameter that is not there; ValueError on a parameter for which a
    model states no role.
    """
    kind = class_name(optimizer)
    family, coupled = OPTIMIZERS[kind]
    (at, base), rows = _at(model, roles), table(parametrization, family)
    if unknown := set(factors) - set(at):
        raise UserError(f"factors of {sorted(unknown)}, but the model has {sorted(at)}")
    if eps is None and family != "sgd":
        given = inspect.signature(optimizer_class(optimizer)).parameters["eps"].default
        eps = given if isinstance(given, float) else None
    groups: dict[tuple, dict] = {}
    for name, parameter in model.named_parameters():
        role, rule = at[name], rows[at[name].kind]
        if isinstance(lr, Mapping) and role.kind not in lr:
            raise UserError(f"param_groups: lr has no rate for {role.kind}, the kind of {name}")
        rate = lr[role.kind] if isinstance(lr, Mapping) else lr
        narrow = None if base is None else base[name]
        scale = _factor(rule.lr, role, narrow)
        decay = _factor(rule.coupled_weight_decay if coupled else rule.weight_decay, role, narrow)
        group = {
            "lr": rate * scale,
            "weight_decay": weight_decay * decay if role.kind in decayed else 0.0,
        }
        if name in factors:
            # The factor takes the place of the table's; AdamW's decay, lr * weight_decay, stays.
            group["lr"] = rate * factors[name]
            if not coupled and factors[name]:
                group["weight_decay"] *= scale / factors[name]
        if eps is not None:
            group["eps"] = eps * rule.eps(role)
        key = tuple(group.values())
        groups.setdefault(key, {"params": [], **group})["params"].append(parameter)
    check_groups(model, groups.values())
    if family != "muon":
        return list(groups.values())
    from widthwise.optimizers.muon import split

    hidden = {name: p for name, p in model.named_parameters() if at[name].kind == "hidden"}
    return split(list(groups.values()), hidden, muon)


def _at(model, roles: Traced | None) -> tuple[Mapping[str, Role], Traced | None]:
    """(the roles at the model's width, those at the base width where they were traced there)."""
    return (check_roles(model), None) if roles is None else (roles.at(model), roles)


def _factor(power: Power, role: Role, base: Role | None) -> float:
    """What a power says at a width, relative to the base width where the role is known there."""
    return power(role) if base is None else power(role) / power(base)
