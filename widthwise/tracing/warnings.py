"""What a user should look at, a line each."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from widthwise.parametrization.rules import BOTTLENECK
from widthwise.tracing.kinds import Found, asked
from widthwise.tracing.uses import KEEP, SUM, Trace

# What the lines below have in common, for the coordinate check, which may see nothing of it.
UNSEEN = "where its size should stay"


def of_roles(
    found: Mapping[str, Found], attention: Sequence[Any], inside: Collection[str]
) -> Iterator[str]:
    """Lines on roles that a user should look at, and that a plan deals with. inside: parameters
    whose outputs one with a width reads."""
    by_exponent: dict[str, list[str]] = {}
    for each in attention:
        by_exponent.setdefault(f"{each.exponent:.2g}", []).append(each.place)
    for exponent, modules in by_exponent.items():
        scaled = "in a way that cannot be told" if exponent == "nan" else f"as head_dim^{exponent}"
        if exponent != "-1":
            yield (
                f"{some(modules)}: head_dim grows and logits scale {scaled}, where muP takes "
                "1/head_dim: a plan gives them a factor; or hold head_dim fixed and let heads grow"
            )
    within = [n for n in found if n in inside and found[n].role.kind == "output"]
    if within := [name for name in within if not found[name].given]:
        yield (
            f"{some(within)}: reads a width and writes none inside the network (key-value heads "
            "held fixed, a router, a bottleneck): it is a readout, whose start is small; "
            f"implementations differ there, and the kind {BOTTLENECK}, by given=, starts as a "
            "hidden layer does, as all such did in 0.3"
        )
    for name, parameter in found.items():
        if parameter.tied and parameter.role.kind == "embedding":
            places = ", ".join(place or "the module itself" for place in parameter.readouts)
            yield f"{name}: is a readout too (in {places}): a plan gives its logits a multiplier"
        elif parameter.tied:
            yield (
                f"{name}: is used both ways round; it is taken as a matrix (out, in), and its "
                "transpose has the same role only where both widths grow alike"
            )


def unmet(found: Mapping[str, Found], both: Any) -> Iterator[str]:
    """Lines on what no plan makes up for, or may have wrong. both: `Passes`."""
    if unused := [name for name, each in found.items() if not (each.used_in or each.given)]:
        yield (
            f"{some(unused)}: is never used in a forward pass on inputs, and its kind "
            f"({found[unused[0]].role.kind}) is by its shape alone: give inputs that use it, or "
            "given="
        )
    normed = both.traces[0].normed - both.inside
    if normed := {name for name in normed if found[name].role.kind == "output"}:
        yield (
            f"{some(sorted(normed))}: is divided by its norm, so that what it gives is as large "
            "whatever is drawn, and no table suits a readout that is: leave its norm out"
        )
    yield from _of_joined(found, *both.traces)
    yield from _of_sizes(found, both.shapes[1], both.traces[1], both.widths[1] / both.widths[0])


def _of_joined(found: Mapping[str, Found], base: Trace, wide: Trace) -> Iterator[str]:
    """Lines on weights that sum over entries that grow in number and entries that do not."""
    for name, sizes in base.joined.items():
        others = wide.joined.get(name, ())
        held = [one for one, other in zip(sizes, others, strict=False) if one == other]
        if held and len(held) < len(others) == len(sizes) and not found[name].given:
            yield (
                f"{name}: {sum(held)} of the {sum(sizes)} entries it sums over do not grow, and "
                "have the rate and spread of those that do: give them a weight of their own, and "
                "add what it gives"
            )


def some(names: list[str]) -> str:
    """The first of some names, and how many more there are."""
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]


def _of_sizes(
    found: Mapping[str, Found], shapes: Mapping[str, tuple[int, ...]], wide: Trace, width: float
) -> Iterator[str]:
    """Of what follows the width where it should not, and no initial values make up for it; shapes:
    at the other width, which is `width` times the base's."""
    places: dict[tuple[str, str], list[str]] = {}
    for (module, operator), growth in wide.grows.items():
        exponent = f"{growth / math.log(width):.2g}"
        places.setdefault((operator, exponent), []).append(module or "the module itself")
    for (operator, exponent), modules in places.items():
        told = exponent != "nan"
        mend = f"times width^{-float(exponent):g} in make" if told else "hold numbers fixed in make"
        yield (
            f"{some(modules)}: {operator} gives what changes as width^{exponent} {UNSEEN}, and no "
            f"weight makes up for it: {mend}{', a mean, say' if exponent == '1' else ''}"
        )
    for name, each in found.items():
        axes = each.inputs or each.outputs
        apart = each.tied and each.role.kind == "embedding"
        own = [
            asked(name, acts, axes, each.shape, shapes[name], wide)
            for acts in (((KEEP,), (SUM,)) if apart else ((KEEP, SUM),))
        ]
        stays = each.role.placed or each.constant is not None
        if None in own or (any(own) and stays and each.constant != 0):
            yield (
                f"{name}: numbers that change with the width are on some of what it gives {UNSEEN}"
                ", and no one factor on its values makes up for them: hold them fixed in make"
            )
