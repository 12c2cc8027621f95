"""What a user should look at, a line each."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from widthwise.parametrization.rules import BOTTLENECK
from widthwise.tracing.kinds import Found
from widthwise.tracing.uses import Trace, paired

# What a coordinate check sees nothing of: no softmax says that these are logits.
UNSEEN = "multiplies what depends on the inputs with each other and sums over an axis that grows"


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


def some(names: list[str]) -> str:
    """The first of some names, and how many more there are."""
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]


def of_products(seen: Trace, wide: Trace, widths: tuple[float, float]) -> Iterator[str]:
    """Of products of data with data that are in no attention, and of embeddings that are scaled."""
    attended = {each.module for each in seen.attention if each.operator}  # theirs are noted
    grows: dict[str, None] = {}
    for a, b in paired(seen.products, wide.products, lambda each: (each.module, each.operator)):
        if a.head_dim != b.head_dim and a.module not in attended:
            ratio = b.scale / a.scale if a.scale else math.nan
            exponent = (
                math.log(ratio) / math.log(b.head_dim / a.head_dim) if ratio > 0 else math.nan
            )
            if not abs(exponent + 1) < 1e-3:
                grows[a.module or "the module itself"] = None
    if grows:
        yield (
            f"{some(list(grows))}: {UNSEEN} (attention without a softmax, two towers): muP asks "
            "for a mean, 1 / n in make, and a plan has no factor for it"
        )
    for name, number in seen.embedded.items():
        other = wide.embedded.get(name, number)
        if math.isnan(other) and number != 1:
            told = "cannot be told to stay at other widths"
        elif other != number and number:
            power = math.log(abs(other / number)) / math.log(widths[1] / widths[0])
            told = f"changes as width^{power:.2g}"
        else:
            continue
        yield (
            f"{name}: what it returns is multiplied by a number, {number:.4g}, that {told} (the "
            "root of the width, say): no table of factors has it; hold it fixed in make"
        )
