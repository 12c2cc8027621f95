"""The roles of a module of another depth, from those at the base: a layer has those of the one that
it is like."""

from dataclasses import replace
from typing import Any

from torch import nn

from widthwise.identity import identity, named
from widthwise.tracing.flow import Held
from widthwise.tracing.stacks import Stack


def deeper(roles: Any, model: nn.Module, deep: list[Stack]) -> Any:
    """See `Roles.like`. roles: `Roles`. deep: the stacks that have another depth."""

    def base(name: str) -> str:
        for stack in deep:
            name = stack.like(name)
        return name

    modules: dict[str, list[str]] = {}
    for name, _ in model.named_modules():
        name = identity(model, name)
        modules.setdefault(base(name), []).append(name)

    def here(places: tuple[str, ...], name: str) -> tuple[str, ...]:
        """Of a layer's own parameter its own layer alone, of a shared one every like layer."""
        own = [
            place
            for each in places
            for place in modules.get(each, [each])
            if base(name) == name or _layer_of(place, deep) in (None, _layer_of(name, deep))
        ]
        return tuple(dict.fromkeys(own))

    found = {}
    copies: dict[str, list[str]] = {}
    for name, _ in named(model):
        copies.setdefault(base(name), []).append(name)
        each = roles.found.get(base(name))
        if each is not None:
            places = here(each.used_in, name), here(each.readouts, name)
            found[name] = replace(each, used_in=places[0], readouts=places[1])

    def holders(held: Held, place: str) -> Held:
        """Of what lies in a layer those in it; none where one is in a layer elsewhere."""
        result = {}
        for name, power in held.items():
            of = (modules | copies).get(name, [])
            layer = _layer_of(place, deep)
            own = [n for n in of if len(of) == 1 or _layer_of(n, deep) == layer]
            if len(own) != 1:
                return {}
            result[own[0]] = power
        return result

    attention = []
    for scale in roles.attention:
        for place in modules.get(scale.module, [scale.module]):
            sized = next(iter(holders({scale.sized: 1.0}, place)), "")
            own = holders(scale.held, place) if sized else {}
            attention.append(replace(scale, module=place, held=own, sized=sized))
    inside = frozenset(name for name in found if base(name) in roles.inside)
    held = {
        place: of_place
        for name, powers in roles.held.items()
        for place in (modules | copies).get(name, [])
        if (of_place := holders(powers, place))
    }
    rest = roles.warnings, roles.widths, inside
    shifts = {name: roles.shifts[base(name)] for name in found if base(name) in roles.shifts}
    result = type(roles)(found, tuple(attention), *rest, held=held, shifts=shifts)
    result.make, result.base = roles.make, roles.base
    return result


def _layer_of(name: str, deep: list[Stack]) -> str | None:
    """The layer of a stack that a name lies in."""
    for stack in deep:
        if name.startswith(f"{stack.place}."):
            return f"{stack.place}.{name[len(stack.place) + 1 :].partition('.')[0]}"
    return None
