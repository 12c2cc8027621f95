"""A recipe's factors, and the parameters that hold them: none is on a module.

What a factor is on, attention's logits, what a readout reads, what a residual branch adds, is of
degree one in some parameters (`widthwise.tracing.flow`), which take it. So a parameter holds a
number, by which its values are multiplied, and its constants follow (`Plan.constants`).
"""

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from torch import nn

from widthwise.errors import UserError
from widthwise.parametrization.recipes import Recipe
from widthwise.parametrization.rules import ONE, Role
from widthwise.tracing.attention import AttentionScale
from widthwise.tracing.flow import Held
from widthwise.tracing.kinds import Found

NEAR_1 = 1e-9  # relative


@dataclass(frozen=True)
class Factor:
    """A factor on what a parameter is multiplied with ("product"), on what a tied one reads
    ("input"), on what a module returns ("output"), or on its attention's logits ("logits").

    place: the parameter, or the module. held: parameter -> what it is multiplied by for it.
    outputs: module -> what its output is by that.
    """

    place: str
    on: str
    value: float
    held: Mapping[str, float]
    outputs: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        by = ", ".join(f"{name} times {value:.4g}" for name, value in self.held.items())
        return f"{self.place or 'the module'}: {self.on} times {self.value:.4g} ({by})"


def factor_of(place: str, on: str, value: float, held: Held, parameters: Container[str]) -> Factor:
    """A factor, from the powers of it that parameters hold, and outputs have."""
    values = {name: value**power for name, power in held.items()}
    return Factor(
        place,
        on,
        value,
        {name: each for name, each in values.items() if name in parameters},
        {name: each for name, each in values.items() if name not in parameters},
    )


def factors_of(
    model: nn.Module,
    at: Mapping[str, Role],
    parameters: Mapping[str, Found],
    attention: Sequence[AttentionScale],
    held: Mapping[str, Held],
    residual: Callable[[nn.Module], dict[str, float]],
    recipe: Recipe,
    branches: Sequence[str] | None,
) -> tuple[Factor, ...]:
    """The factors that a recipe has for a model; see `parametrization.plan`, which asks for them.

    at: the roles at its width. parameters, attention, held: as in `Roles`, at the base width, of as
    many layers. residual: as `Roles.residual`.
    """
    if all(role.width_in == role.width_out == role.depth == 1 for role in at.values()):
        return ()
    found = []
    for place, value in _branches(model, residual, at, recipe, branches).items():
        if place not in held:
            raise UserError(
                f"plan: no parameter can hold the factor on what {place} adds: end the branch in a "
                "layer, or give make the factor itself, and branches=()"
            )
        found.append(factor_of(place, "output", value, held[place], at))
    for name, each in parameters.items():
        role = at[name]
        tied = each.tied and role.kind == "embedding"
        value = recipe.rule(role).multiplier(role)
        if tied:  # what the module has on it itself is a part of the factor
            value = recipe.of_tied(role.width_out) * role.width_out ** (role.own - each.scaled)
        if math.isclose(value, 1, rel_tol=NEAR_1):
            continue
        if not tied:
            found.append(Factor(name, "product", value, {name: value}))
        elif name in held:
            found.append(factor_of(name, "input", value, held[name], at))
        else:
            raise UserError(
                f"{name}: is a readout too, and no parameter before it can hold its factor, a "
                "norm's gain or a layer's weight that nothing else reads: put a norm before the "
                "readout, give it weights of its own, or multiply what it reads by the base "
                "width over the width in make"
            )
    for scale in attention:
        power = _power(scale, recipe)
        if power:
            found.append(factor_on_logits(scale, at, power))
    return tuple(found)


def factor_on_logits(scale: AttentionScale, at: Mapping[str, Role], power: float) -> Factor:
    """A factor on an attention's logits, a power of head_dim over the base's; at: the roles."""
    value = at[scale.sized].width_out ** power
    return factor_of(scale.module, "logits", value, scale.held, at)


def _branches(
    model: nn.Module,
    residual: Callable[[nn.Module], dict[str, float]],
    at: Mapping[str, Role],
    recipe: Recipe,
    branches: Sequence[str] | None,
) -> dict[str, float]:
    """The factors on what residual branches add, where the depth is another than the base's."""
    deep = {name: role.depth for name, role in at.items() if role.depth != 1}
    if not deep:
        return {}
    if recipe.depth is None:
        raise UserError(
            f"plan: {next(iter(deep))} lies in a stack of another depth than the base's: give the "
            'recipe a rule for it, depth="1/L" or "1/sqrt(L)", or hold the depth fixed'
        )
    if recipe.branch == ONE:
        return {}
    found = residual(model) if branches is None else {}
    for pattern in branches or ():
        within = {
            place: depth
            for place, _ in model.named_modules()
            if fnmatchcase(place, pattern)
            for name, depth in deep.items()
            if name.startswith(f"{place}.")
        }
        if not within:
            raise UserError(f"plan: branches: {pattern!r} is no layer of a stack")
        found |= within
    return {place: recipe.branch(Role("hidden", depth=depth)) for place, depth in found.items()}


def _power(each: AttentionScale, recipe: Recipe) -> float:
    """Power of head_dim that an attention's logits lack; 0 where a parametrization asks for none.

    Raises UserError on attention whose logits cannot be reached.
    """
    asked = math.log2(recipe.attention(Role("hidden", width_in=2.0)))
    if asked == 0:
        return 0.0
    if math.isnan(each.exponent):
        raise UserError(
            f"{each.place}: how its logits scale with head_dim cannot be told: hold head_dim fixed"
        )
    power = asked - 0.5 - each.exponent
    if abs(power) < 1e-6:
        return 0.0
    if not each.held:
        raise UserError(
            f"{each.place}: no parameter can hold the factor on its logits (a norm without a gain "
            "behind the queries, a matrix that holds more than queries, keys and values, heads "
            "that grow too): scale=1/head_dim in make, split q, or hold head_dim fixed"
        )
    return power
