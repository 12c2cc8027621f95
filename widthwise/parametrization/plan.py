"""Initial values and optimizer groups of a model that states its roles."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from widthwise.errors import UserError
from widthwise.parametrization.named import table
from widthwise.parametrization.rules import KINDS, check_groups, check_roles, init_std


def initialize(model, init: Mapping[str, str], generator) -> None:
    """Draw every parameter that is not the model's to set (`Role.drawn`), in the model's order.

    init: kind of role -> name of the parametrization whose init it takes.
    generator: a torch.Generator on the parameters' device.
    """
    import torch

    roles = check_roles(model)
    tables = {kind: table(name, "adam") for kind, name in init.items()}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            role = roles[name]
            if not role.drawn:
                continue
            std = init_std(role, tables[role.kind][role.kind])
            if role.distribution == "uniform":
                parameter.uniform_(-std * 3**0.5, std * 3**0.5, generator=generator)
            else:
                parameter.normal_(0.0, std, generator=generator)


def param_groups(
    model,
    *,
    parametrization: str,
    family: str,
    lr: Mapping[str, float],
    weight_decay: float,
    eps: float | None,
    coupled: bool = False,
    decayed: Sequence[str] = KINDS,
    factors: Mapping[str, float] = MappingProxyType({}),
) -> list[dict]:
    """Optimizer groups, one per distinct (lr, weight decay, eps), covering every parameter.

    parametrization: name of the one whose factors multiply the constants.
    lr: kind of role -> constant. weight_decay, eps: global constants; eps None leaves it out.
    coupled: the optimizer adds weight_decay * w to the gradient (SGD, Adam) rather than decaying
        by lr * weight_decay (AdamW).
    decayed: kinds of role that decay at all.
    factors: parameter name -> factor on its lr in place of the table's; lr * weight_decay stays.
        With 0 the parameter stays as it begins.
    Raises ValueError on a parameter without a role, KeyError on a role without an lr, UserError
    on a factor of a parameter that is not there.
    """
    roles = check_roles(model)
    rows = table(parametrization, family)
    if unknown := set(factors) - set(roles):
        raise UserError(f"factors of {sorted(unknown)}, but the model has {sorted(roles)}")
    groups: dict[tuple, dict] = {}
    for name, parameter in model.named_parameters():
        role = roles[name]
        rule = rows[role.kind]
        decay = rule.coupled_weight_decay if coupled else rule.weight_decay
        group = {
            "lr": lr[role.kind] * rule.lr(role),
            "weight_decay": weight_decay * decay(role) if role.kind in decayed else 0.0,
        }
        if name in factors:
            # The factor takes the place of the table's; AdamW's decay, lr * weight_decay, stays.
            group["lr"] = lr[role.kind] * factors[name]
            if not coupled and factors[name]:
                group["weight_decay"] *= rule.lr(role) / factors[name]
        if eps is not None:
            group["eps"] = eps * rule.eps(role)
        key = tuple(group.values())
        groups.setdefault(key, group | {"params": []})["params"].append(parameter)
    check_groups(model, groups.values())
    return list(groups.values())
