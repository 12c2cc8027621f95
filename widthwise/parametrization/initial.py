"""What `Plan.init_` does: initial values of the spreads that a recipe says."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from widthwise.errors import UserError
from widthwise.identity import named
from widthwise.parametrization.checked import FAR, Planned, check_names, check_whole, spread

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
        plan.roles.fill_(plan.model, generator.initial_seed() % 2**63)
    times: dict[str, float] = {}  # what values were scaled by
    with torch.no_grad():
        for name, parameter in named(plan.model):
            role, rule = plan.at[name], plan.recipe.rule(plan.at[name])
            if plan.lacking and generator is None and name not in plan.lacking:
                continue  # it was loaded
            if plan.roles is not None and parameter.is_meta:
                raise UserError(
                    f"init_: {name} is on the meta device: model.to_empty(device=...); where "
                    "make returned it, let each call of make give a new module"
                )
            if not role.drawn or (rule.init is None and generator is None):
                _hold(plan, name, parameter, generator is not None)
                continue
            if rule.init is None:
                raise UserError(f"init_: {plan.recipe.name} leaves values as made, draws none")
            std = plan.std(name)
            if generator is None or (plan.roles is not None and plan.roles.found[name].parts):
                times[name] = _scale(plan, name, parameter, std)
            elif role.distribution == "uniform":
                parameter.uniform_(-std * 3**0.5, std * 3**0.5, generator=generator)
            else:
                parameter.normal_(0.0, std, generator=generator)
        _follow(plan, times, generator is not None)
        if generator is not None and plan.roles is not None:
            for module in plan.model.modules():
                if isinstance(module, torch.nn.Embedding) and module.padding_idx is not None:
                    module.weight[module.padding_idx] = 0  # it gets no gradient


def _scale(plan: Planned, name: str, parameter: "torch.Tensor", std: float) -> float:
    """Give a parameter the spread `std`, by a factor on its values, which is returned."""
    role = plan.at[name]
    check_whole("init_", plan, name, parameter)
    own = spread(parameter)
    if not math.isfinite(own) or (own == 0 and std > 0 and plan.roles is not None):
        raise UserError(
            f"init_: {name} has no values yet (their root mean square is {own}): give a "
            "generator, and all are drawn"
        )
    held = plan.held.get(name, 1.0)
    alike = role.width_in == role.width_out == role.depth == held == 1
    if plan.roles is not None and (alike or not parameter.requires_grad):
        # A readout's bias, or what is frozen: where make does not give it this spread itself.
        wider = any(at.width_in != 1 or at.width_out != 1 for at in plan.at.values())
        chance = FAR + 3 / (2 * parameter.numel()) ** 0.5
        if not wider or own == 0 or std == 0 or abs(math.log(own / std)) < chance:
            return 1.0
    if own > 0:
        parameter.mul_(std / own)
        plan.made[name] = std
        return std / own
    return 1.0


def _follow(plan: Planned, times: Mapping[str, float], anew: bool) -> None:
    """Scale what has the norms of another as that was, or take them of values made anew. times:
    what others were scaled by."""
    found = {} if plan.roles is None else plan.roles.found
    of = dict(named(plan.model))
    for name in [name for name in of if name in found and found[name].norms]:
        other, axis = found[name].norms
        if other not in of:
            raise UserError(f"init_: {name} has the norms of {other}, which is not there")
        if not anew:
            of[name].mul_(times.get(other, 1.0))
        else:
            dim = [i for i in range(of[other].ndim) if i != axis]
            norms = of[other].square().sum(dim).sqrt()
            of[name].copy_(norms.reshape(of[name].shape)).mul_(plan.held.get(name, 1.0))


def _hold(plan: Planned, name: str, parameter: "torch.Tensor", anew: bool) -> None:
    """Multiply a parameter that is not drawn by what it holds; once, but for values made anew."""
    value = plan.held.get(name, 1.0)
    if value == 1 or plan.roles is None:
        return
    constant, shift = plan.roles.found[name].constant, plan.roles.shifts.get(name, 0.0)
    if anew or not plan.begun or (constant is not None and bool((parameter == constant).all())):
        parameter.add_(shift).mul_(value).sub_(shift)
