"""What `Plan.init_` does: initial values of the spreads that a recipe says."""

import math
from typing import TYPE_CHECKING

from widthwise.errors import UserError
from widthwise.identity import named
from widthwise.parametrization.checked import Planned, check_names, check_whole, spread

if TYPE_CHECKING:
    import torch


def init_(plan: Planned, generator: "torch.Generator | None") -> None:
    """See `Plan.init_`."""
    import torch

    check_names("init_", plan)
    if plan.kept and not plan.lacking and generator is None:
        raise UserError(
            "init_: the model's values are to stay, for they were loaded or plan.keep() was "
            "called, and would be scaled: call init_ before, or not at all"
        )
    if generator is not None and plan.roles is not None:
        plan.roles.fill_(plan.model)
    with torch.no_grad():
        for name, parameter in named(plan.model):
            role, rule = plan.at[name], plan.recipe.rule(plan.at[name])
            if plan.lacking and generator is None and name not in plan.lacking:
                continue  # it was loaded
            if plan.roles is not None and parameter.is_meta:
                raise UserError(f"init_: {name} is on the meta device: model.to_empty(device=...)")
            if not role.drawn or (rule.init is None and generator is None):
                _hold(plan, name, parameter)
                continue
            if rule.init is None:
                raise UserError(f"init_: {plan.recipe.name} leaves values as made, draws none")
            std = plan.std(name)
            if generator is None:
                _scale(plan, name, parameter, std)
            elif role.distribution == "uniform":
                parameter.uniform_(-std * 3**0.5, std * 3**0.5, generator=generator)
            else:
                parameter.normal_(0.0, std, generator=generator)
        if generator is not None and plan.roles is not None:
            for module in plan.model.modules():
                if (row := getattr(module, "padding_idx", None)) is not None:
                    module.get_parameter("weight")[row] = 0  # it gets no gradient


def _scale(plan: Planned, name: str, parameter: "torch.Tensor", std: float) -> None:
    """Give a parameter the spread `std`, by a factor on its values."""
    role = plan.at[name]
    check_whole("init_", plan, name, parameter)
    own = spread(parameter)
    if not math.isfinite(own) or (own == 0 and std > 0 and plan.roles is not None):
        raise UserError(
            f"init_: {name} has no values yet (their root mean square is {own}): give a "
            "generator, and all are drawn"
        )
    held = plan.held.get(name, 1.0)
    if held == 1 and plan.roles is not None and plan.roles.found[name].constant is not None:
        return  # a matrix whose entries are alike, 1/n say, is make's own
    alike = role.width_in == role.width_out == role.depth == held == 1
    if own > 0 and (plan.roles is None or not alike):
        parameter.mul_(std / own)
        plan.made[name] = std


def _hold(plan: Planned, name: str, parameter: "torch.Tensor") -> None:
    """Multiply a parameter that is not drawn by what it holds; once."""
    value = plan.held.get(name, 1.0)
    if value == 1 or plan.roles is None:
        return
    constant, shift = plan.roles.found[name].constant, plan.roles.shifts.get(name, 0.0)
    if not plan.begun or (constant is not None and bool((parameter == constant).all())):
        parameter.add_(shift).mul_(value).sub_(shift)
