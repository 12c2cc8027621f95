"""Factors on readouts and on attention's logits, put on a module without changing its parameters.

Where they live is `widthwise.tracing.scaled`'s; no parameter has an attribute to lose.
"""

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any

import torch
from torch import nn

from widthwise.errors import UserError
from widthwise.identity import module_at, named
from widthwise.parametrization.recipes import Recipe
from widthwise.parametrization.rules import BOTTLENECK, ONE, Role
from widthwise.tracing import scaled
from widthwise.tracing.attention import AttentionScale
from widthwise.tracing.kinds import Found
from widthwise.tracing.scaled import LogitScale, Scale

MARKER = "widthwise_factors"  # a buffer: weights alone do not say what they are to be used with


@dataclass(frozen=True)
class Factor:
    """A factor on what a module reads ("input") or writes ("output"); or on attention's logits
    ("logits"), at a head_dim of 1."""

    place: str
    on: str
    value: float


def attach(
    model: nn.Module,
    at: Mapping[str, Role],
    found: Mapping[str, Found],
    attention: Sequence[AttentionScale],
    residual: Callable[[nn.Module], dict[str, float]],
    recipe: Recipe,
    readout: str | Sequence[str] | None,
    branches: Sequence[str] | None,
) -> tuple[Factor, ...]:
    """Put a recipe's factors on a model, in place; see `parametrization.plan`, which asks for it.

    at: the roles at its width. found, attention: at the base, of as many layers. residual: as
    `Roles.residual`.
    """
    if all(role.width_in == role.width_out == role.depth == 1 for role in at.values()):
        return ()
    factors = _branches(model, residual, at, recipe, branches)
    for name, each in found.items():
        role = at[name]
        tied = each.tied and role.kind == "embedding"
        reads = tied or role.kind in ("output", BOTTLENECK)
        value = recipe.rule(role).multiplier(role)
        if tied:  # what the module has on it itself is a part of the factor
            value = recipe.of_tied(role.width_out) * role.width_out ** (role.own - each.scaled)
        if math.isclose(value, 1, rel_tol=1e-9):
            continue
        for place in each.readouts if tied else each.used_in:
            layer = _layer(model, place)
            if name in _own_weights(layer, model):
                factors[place, "input"] = value
            elif isinstance(layer, nn.Embedding) and not reads:
                factors[place, "output"] = value
            elif not reads:
                raise UserError(
                    f"{name}: {recipe.name} has a factor on a {role.kind}, and in "
                    f"{place or 'the module itself'}, which is no layer, it has no place: give the "
                    "rates and the init that are the same (parametrization/rules.py, Rule)"
                )
            elif readout is None:
                raise UserError(
                    f"{name}: reads what it is given in {place or 'the module itself'}, which is "
                    "no layer: give readout=, the name of the module whose output it reads, or of "
                    "the one that holds it, where that does nothing else with what it is given; "
                    "patterns with * where there are several"
                )
            else:
                factors[_read(model, place, readout)] = value
    powers = {scale: _power(scale, recipe) for scale in attention}
    put = [Factor(place, on, value) for (place, on), value in factors.items()]
    for factor in put:
        scaled.put(module_at(model, factor.place), Scale(factor.on, factor.value))
    put += [scale_logits(model, scale, power) for scale, power in powers.items() if power]
    mark(model, put)
    return tuple(put)


def scale_logits(model: nn.Module, scale: AttentionScale, power: float) -> Factor:
    """Multiply the logits of an attention by (head_dim over the base's)^power, in place."""
    scaled.put(_layer(model, scale.module), LogitScale(scale.head_dim, power))
    return Factor(scale.module, "logits", scale.head_dim**-power)


def carrying(make: Callable[[Any], nn.Module], model: nn.Module) -> Callable[[Any], nn.Module]:
    """`make`, whose modules have the factors that a model has; those that have their own keep
    them."""
    if not hasattr(model, MARKER):
        return make

    def made(width: Any) -> nn.Module:
        module = make(width)
        if not hasattr(module, MARKER):
            for place, each in model.named_modules():
                for on in ("input", "output", "logits"):
                    if (scale := scaled.of(each, on)) is not None:
                        scaled.put(_layer(module, place, "widen: "), copy.copy(scale))
            _mark(module, getattr(model, MARKER).detach().clone())
        return module

    return made


def mark(model: nn.Module, factors: Sequence[Factor]) -> None:
    """Let a model's state_dict say that it has factors, where there are any more than it has."""
    if factors:
        device = next(model.parameters()).device
        values = torch.tensor([each.value for each in factors], device=device)
        if (held := getattr(model, MARKER, None)) is not None:
            values = torch.cat([held.to(values), values])
        _mark(model, values)


def _mark(model: nn.Module, values: torch.Tensor) -> None:
    """Put the values of a model's factors into its state_dict."""
    known = hasattr(model, MARKER)
    model.register_buffer(MARKER, values)
    if not known:
        model.register_load_state_dict_pre_hook(_check_marker)


def _branches(
    model: nn.Module,
    residual: Callable[[nn.Module], dict[str, float]],
    at: Mapping[str, Role],
    recipe: Recipe,
    branches: Sequence[str] | None,
) -> dict[tuple[str, str], float]:
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
    return {
        (place, "output"): recipe.branch(Role("hidden", depth=depth))
        for place, depth in found.items()
    }


def _check_marker(module: nn.Module, state: dict, prefix: str, *_: Any) -> None:
    """Raise UserError on weights that were another function than they will be here."""
    own, given = getattr(module, MARKER), state.get(prefix + MARKER)
    if given is None:
        raise UserError(
            f"load_state_dict: the weights are of a model without a plan (no {MARKER}), and "
            "another function here: load them before ww.plan if they are to start from"
        )
    if own.shape != given.shape or (
        not own.is_meta and not torch.allclose(own.cpu().float(), given.cpu().float(), rtol=1e-2)
    ):
        raise UserError(
            f"load_state_dict: the weights are of a model with other factors ({MARKER}), of "
            "another recipe, base or width, and another function here"
        )


def lost(model: nn.Module, factors: tuple[Factor, ...]) -> str | None:
    """The place of a factor that a module has no longer."""
    for each in factors:
        try:
            found = scaled.of(module_at(model, each.place), each.on)
        except AttributeError:
            found = None
        if found is None:
            return each.place or "the module itself"
    return None


def idle(
    model: nn.Module, factors: tuple[Factor, ...], optimizers: Sequence[Any]
) -> tuple[int, dict[str, tuple[nn.Parameter, ...]]]:
    """See `Roles.idle`; in training is where gradients are recorded. A pass before the first step,
    to look at the model, is none where the optimizer counts more steps of what is there."""
    found = {}
    steps = max((scaled.STEPS.get(each, 0) for each in optimizers), default=0)

    def made(parameters: list[nn.Parameter]) -> int:
        """The steps that were made of them, as far as their states say."""
        states = [each.state[p] for each in optimizers for p in parameters if p in each.state]
        return min(steps, max((int(state.get("step", 0)) for state in states), default=0))

    for each in factors:
        layer = module_at(model, each.place)
        scale = scaled.of(layer, each.on)
        if scale is None or each.on in scaled.COMPILED:
            continue
        parameters = list(layer.parameters())
        if scale.ran == 0 or (scale.ran == 1 and made(parameters) > 1):
            found[each.place or "the module itself"] = tuple(parameters)
    return steps, found


@torch.no_grad()
def fold(
    model: nn.Module, factors: tuple[Factor, ...]
) -> tuple[tuple[Factor, ...], tuple[str, ...]]:
    """Multiply weights by their factors, in place; returns (what is left, why, a line each)."""
    held = [id(p) for m in model.modules() for p in m.parameters(recurse=False)]
    left: dict[Factor, str] = {}
    for each in factors:
        layer = _layer(model, each.place, "fold_: ")
        place = each.place or "the module itself"
        weight = getattr(layer, "weight", None)
        if each.on == "logits":
            left[each] = f"{place}: a factor on attention's logits"
        elif not isinstance(weight, torch.Tensor) or not (
            each.on == "input" or isinstance(layer, nn.Embedding)
        ):
            left[each] = f"{place}: a factor on what another module's weight reads"
        elif held.count(id(weight)) > 1:
            left[each] = f"{place}: its weight is another layer's too"
        else:
            weight.mul_(each.value)
            scaled.take(layer, each.on)
    if not left and factors:
        delattr(model, MARKER)
        hooks = model._load_state_dict_pre_hooks
        for key in [k for k, hook in hooks.items() if getattr(hook, "hook", hook) is _check_marker]:
            del hooks[key]
    elif factors:
        value = getattr(model, MARKER)
        setattr(model, MARKER, value.new_tensor([each.value for each in left]))
    return tuple(left), tuple(left.values())


def _read(model: nn.Module, place: str, readout: str | Sequence[str]) -> tuple[str, str]:
    """(module, "input" or "output") where a factor on what is read in a place goes: what the module
    there reads, if it is among those that are given, else what the nearest of them writes."""
    patterns = [readout] if isinstance(readout, str) else readout
    found = []
    for pattern in patterns:
        matched = [
            name
            for name, _ in model.named_modules()
            if name == pattern or ("*" in pattern and fnmatchcase(name, pattern))
        ]
        found += matched or [_layer(model, pattern, "readout=") and pattern]
    if place and place in found:
        return place, "input"

    def steps(name: str) -> int:
        """From one to the other, up and down the tree of modules."""
        a, b = name.split("."), place.split(".") if place else []
        shared = takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))
        return len(a) + len(b) - 2 * len(list(shared))

    least = min(map(steps, found))
    nearest = list(dict.fromkeys(name for name in found if steps(name) == least))
    if len(nearest) > 1:
        raise UserError(
            f"plan: readout={readout!r}: {nearest[0]} and {nearest[1]} are as near to "
            f"{place or 'the module itself'}: give the one whose output it reads"
        )
    return nearest[0], "output"


def _layer(model: nn.Module, place: str, given: str = "") -> nn.Module:
    try:
        return module_at(model, place)
    except AttributeError:
        what = given if given.endswith(": ") else f"plan: {given}"
        raise UserError(f"{what}{place!r} is no module of the model") from None


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
    if not each.fused:
        raise UserError(
            f"{each.place}: computes its logits itself: scale them as 1/head_dim in make, hold "
            "head_dim fixed, or use torch.nn.functional.scaled_dot_product_attention"
        )
    return power


def _own_weights(layer: nn.Module, model: nn.Module) -> set[str]:
    """Names of the parameters that a layer holds itself and multiplies its input by; empty for a
    module that is no layer."""
    if not isinstance(layer, nn.Linear | nn.modules.conv._ConvNd) and not hasattr(layer, "nf"):
        return set()
    held = {id(p) for p in layer.parameters(recurse=False)}
    return {name for name, p in named(model) if id(p) in held}
