"""What a user should look at, a line each."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from widthwise.parametrization.rules import BOTTLENECK
from widthwise.tracing.kinds import Found, asked
from widthwise.tracing.uses import KEEP, SUM, Trace

# What the lines below have in common, for the coordinate check, which may see nothing of it.
UNSEEN = "where its size should stay"


def of_roles(found: Mapping[str, Found], attention: Sequence[Any]) -> Iterator[str]:
    """What a user should look at."""
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
    inside = [n for n, f in found.items() if f.role.kind == BOTTLENECK and not f.given]
    if inside:
        yield (
            f"{some(inside)}: reads a width and writes none inside the network (key-value heads "
            "held fixed, a router, a bottleneck): it starts as a hidden layer does, with a "
            "readout's rate; implementations of muP differ there, and the kind output, by given=, "
            "is a readout's start too"
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
    """What no plan makes up for. both: `Passes`."""
    yield from _of_joined(found, *both.traces)
    yield from _of_sizes(found, both.shapes[1], both.traces[1], both.widths[1] / both.widths[0])


def _of_joined(found: Mapping[str, Found], base: Trace, wide: Trace) -> Iterator[str]:
    """Of weights that sum over what grows beside what does not."""
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
        if None in own or (each.role.own and each.constant not in (None, 0.0)):
            yield (
                f"{name}: numbers that change with the width are on some of what it gives {UNSEEN}"
                ", and no one factor on its values makes up for them: hold them fixed in make"
            )
