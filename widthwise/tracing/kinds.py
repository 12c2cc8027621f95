"""The kind of a parameter, from its shapes at two widths and what was seen of it."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from widthwise.errors import UserError
from widthwise.parametrization.rules import BOTTLENECK, KINDS, Role
from widthwise.tracing.uses import (
    BATCH,
    CHAIN,
    ENTRY,
    INDEX,
    JOINED,
    KEEP,
    KERNEL,
    SUM,
    Trace,
    Use,
    paired,
)


@dataclass(frozen=True)
class Found:
    """What is known of a parameter at the base width.

    shape: at the base width. wide: the axes that grow; inputs, outputs: those of them that are
    summed over, or have an output for each entry. readouts: of a tied tensor, the modules that
    read a width by it. used_in: the modules that use it, in order. scaled: of these readouts, the
    exponent of the width in the factor that the module has on them itself, 0 where it has none.
    constant: the value of all entries, where they are alike, at every width, and nothing draws
    them. follows: of the width, in a value that all entries have. parts: whether `make` alone can
    draw it, as what is frozen or has zeros in places. norms: the parameter, and its axis, that it
    has the norms along.
    """

    role: Role
    shape: tuple[int, ...]
    wide: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    used_in: tuple[str, ...] = ()
    tied: bool = False
    readouts: tuple[str, ...] = ()
    given: bool = False
    scaled: float = 0.0
    constant: float | None = None
    follows: float = 0.0
    parts: bool = False
    norms: tuple[str | int, ...] = ()


def plain(found: Found) -> dict[str, Any]:
    """What is known of a parameter, for JSON: without widths, which are 1 at the base."""
    role = {k: v for k, v in asdict(found.role).items() if k not in ("width_in", "width_out")}
    return asdict(found) | {"role": role}


def from_plain(kept: dict[str, Any]) -> Found:
    """The inverse of `plain`; raises ValueError on what no parameter is."""
    lists = {key: tuple(value) for key, value in kept.items() if isinstance(value, list)}
    found = Found(**{**kept, **lists, "role": Role(**kept["role"])})
    role, axes = found.role, range(len(found.shape))
    sizes = (*found.shape, role.fan_in, role.fan_out, role.depth)
    known = role.kind in (*KINDS, BOTTLENECK) and role.distribution in ("normal", "uniform")
    if not known or not all(size > 0 for size in sizes) or not 0 <= (role.std or 0) < math.inf:
        raise ValueError(f"{role} of shape {found.shape} is none")
    if found.norms and [type(each) for each in found.norms] != [str, int]:
        raise ValueError(f"{found.norms} is no parameter with its axis")
    if not {*found.wide} <= {*axes} or not {*found.inputs, *found.outputs} <= {*found.wide}:
        raise ValueError(f"a tensor of shape {found.shape} has no such axes: {found}")
    return found


def _acts(uses: list[Use]) -> dict[int, set[str]]:
    """Axis -> what is done with it.

    An axis summed over in a product of two parameters, as in B A of low rank, is the input of the
    one whose other axis has the outputs, and the output of the other.
    """
    acts: dict[int, set[str]] = {}
    for use in uses:
        for axis, act in use.axes.items():
            acts.setdefault(axis, set()).add(act)
    rest = set().union(*(found for found in acts.values() if CHAIN not in found), set())
    for found in acts.values():
        if CHAIN in found:
            found.remove(CHAIN)
            found.add(KEEP if SUM in rest else SUM)
    return acts


def find(
    name: str,
    shape: tuple[int, ...],
    other: tuple[int, ...],
    seen: Trace,
    seen_wide: Trace,
    spread: tuple[float | None, str, float | None],
    kinds: Mapping[str, str],
) -> Found:
    """What a parameter is, from its shapes at two widths and what was seen of it."""
    wide = tuple(i for i, (a, b) in enumerate(zip(shape, other, strict=True)) if a != b)
    uses = seen.uses[name]
    readouts: tuple[str, ...] = ()
    if name in kinds or not (uses or seen.unknown[name]):
        kind, tied = kinds.get(name) or _by_shape(shape, wide), False
        inputs, outputs = _by_convention(name, kind, wide)
        fan_in = math.prod(shape[1:]) if len(shape) > 1 and kind != "vector" else 1
        fan_out = shape[0] if shape else 1
    else:
        acts = _acts(uses)
        if any(SUM in acts.get(i, ()) and acts[i] & {KEEP, ENTRY, JOINED} for i in wide):
            # What is read both ways: not to find the nearest entry of a codebook, say.
            uses = [use for use in uses if not use.made or use.made in seen.flow.live] or uses
            acts = _acts(uses)
        _check_told(name, wide, acts, seen)
        summed = [i for i, found in acts.items() if found & {SUM, KERNEL}]
        inputs = tuple(i for i in wide if SUM in acts[i])
        outputs = tuple(i for i in wide if acts[i] & {KEEP, ENTRY, JOINED})
        both = tuple(i for i in inputs if i in outputs)
        tied = bool(both)
        if both:
            # One tensor with two roles: the one it is looked up by (or first used in) is its own,
            # and the other is a readout's, which takes a multiplier.
            other_axes = tuple(i for i in wide if i not in both)
            if len(both) == 2 or other_axes:
                inputs, outputs = wide[1:2], wide[:1]
                both = outputs
            else:
                inputs = ()
            readouts = tuple(
                dict.fromkeys(u.module for u in uses if any(u.axes.get(i) == SUM for i in both))
            )
            looked_up = any(INDEX in found for found in acts.values())
            summed = [] if looked_up else [i for i in summed if i not in both]
        kind = _kind(shape, acts, inputs, outputs, uses, seen_wide.uses[name])
        fan_in = math.prod(shape[i] for i in summed) if kind != "scalar" or len(shape) > 1 else 1
        kept = {i for i, found in acts.items() if KEEP in found and INDEX not in found} | {*outputs}
        fan_out = math.prod(shape[i] for i in kept if i not in summed)
    std, law, constant = spread
    if std == 0.0 and kind in ("vector", "scalar"):
        std = None  # as the model sets it
    used_in = tuple(dict.fromkeys(use.module for use in uses))
    axes, looked_up = inputs or outputs, tied and kind == "embedding"
    own = asked(name, (KEEP,) if looked_up else (KEEP, SUM), axes, shape, other, seen_wide)
    scaled = asked(name, (SUM,), axes, shape, other, seen_wide) if looked_up else 0.0
    role = Role(kind, fan_in, std=std, fan_out=fan_out, distribution=law, own=own or 0.0)
    found = Found(
        role, shape, wide, inputs, outputs, used_in, tied, readouts, name in kinds, scaled or 0.0
    )
    return replace(found, constant=constant if role.std is None else None)


def asked(
    name: str, acts: tuple[str, ...], axes: tuple, shape: tuple, other: tuple, wide: Trace
) -> float | None:
    """The exponent of the width, along axes of a parameter, in the factor that the module has on
    it itself, by what its values are asked for; None where there is no one such exponent."""
    found = set().union(*(wide.asked.get((name, act), ()) for act in acts)) or {0.0}
    grown = math.log(math.prod(other[i] / shape[i] for i in axes))
    if len(found) > 1 or math.isnan(growth := found.pop()) or (growth and not grown):
        return None
    exponent = growth / grown if growth else 0.0
    quarter = round(4 * exponent) / 4  # of a number that is rounded, as in bfloat16
    return quarter if abs(exponent - quarter) < 2e-3 else round(exponent, 4)


def _by_shape(shape: tuple[int, ...], wide: tuple[int, ...]) -> str:
    """The kind of a parameter that is never used, by its shape in torch's layers."""
    if len(wide) != 1:
        return "hidden" if wide else "scalar"
    alone = math.prod(shape) == shape[wide[0]]
    return "vector" if alone else "embedding" if wide == (0,) else "output"


def _by_convention(name: str, kind: str, wide: tuple[int, ...]) -> tuple[tuple, tuple]:
    """(inputs, outputs) of a kind that is given, its axes as torch's layers have them."""
    expected = {"hidden": 2, "scalar": 0}.get(kind, 1)
    if len(wide) != expected:
        raise UserError(
            f"given: {name} grows along axes {list(wide)}, and a parameter of kind {kind} grows "
            f"along {expected}"
        )
    if kind == "hidden":
        return wide[1:], wide[:1]
    return (wide, ()) if kind in ("output", BOTTLENECK) else ((), wide)


def _check_told(name: str, wide: tuple[int, ...], acts: Mapping, seen: Trace) -> None:
    """Raise UserError unless it is known of every axis that grows what it does."""
    hint = f"give its kind: given={{{name!r}: ...}}, one of {', '.join((*KINDS, BOTTLENECK))}"
    if seen.unknown[name] and any(not acts.get(axis) for axis in wide):
        operators = ", ".join(sorted(seen.unknown[name]))
        raise UserError(f"{name}: what {operators} does with it is not known here; {hint}")
    for axis in wide:
        told = acts.get(axis, set())
        if INDEX in told and not told & {SUM, KEEP, ENTRY, JOINED}:
            raise UserError(
                f"{name}: its axis {axis} grows and is looked up, as a vocabulary is: hold it "
                f"fixed in make, or {hint}"
            )
        if not told & {SUM, KEEP, ENTRY, JOINED, BATCH}:
            raise UserError(f"{name}: what its axis {axis} does cannot be told; {hint}")


def _kind(
    shape: tuple[int, ...],
    acts: Mapping[int, set[str]],
    inputs: tuple[int, ...],
    outputs: tuple[int, ...],
    uses: list[Use],
    uses_wide: list[Use],
) -> str:
    if inputs and outputs:
        return "hidden"
    if inputs:
        return "output"
    batched = [i for i, found in acts.items() if BATCH in found]
    if not outputs:
        return "vector" if batched and any(shape[i] > 1 for i in batched) else "scalar"
    # A convolution with more groups at a larger width: every channel has weights of its own.
    pairs = paired(uses, uses_wide, lambda use: use.module)
    if any(wide.groups > use.groups for use, wide in pairs):
        return "vector"
    alone = all(size == 1 for i, size in enumerate(shape) if i not in outputs)
    by_entry = all(acts[i] <= {ENTRY, KEEP} and JOINED not in acts[i] for i in outputs)
    return "vector" if alone and by_entry else "embedding"
