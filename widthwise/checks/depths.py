"""Sizes of models of several depths, so that they can be held beside each other.

Layers of a stack are pooled, as `place.*`: of effects there is a sum over them, which is what they
move the loss by together; of the stream what the last of them returns; of attention's logits a root
mean square. What is right over the depth L (Dey et al., CompleteP, arXiv 2505.01618), L^-alpha the
factor on what branches add:

stream size     -1/2 to 0    beside the embedding L independent branches of L^-alpha each
all else        0            every layer's update moves the loss by 1/L of what all move it by

Decay is not judged over depths.
"""

import math
from collections.abc import Iterable, Mapping

from widthwise.checks.slopes import BOTH, FLAT, Key, LayerSlope, Measured
from widthwise.tracing.stacks import Stack


def pooled(measured: Measured, deep: Iterable[Stack]) -> Measured:
    """The sizes of a model, its layers in stacks taken together."""
    deep = list(deep)
    sizes: dict[Key, list[float]] = {}
    for (layer, quantity), size in measured.sizes.items():
        name, last = layer, True
        for stack in deep:
            name, last = stack.pooled(name), last and stack.in_last(layer)
        if last or not quantity.startswith("stream"):
            sizes.setdefault((name, quantity), []).append(size)
    return Measured({key: _together(key[1], found) for key, found in sizes.items()})


def _together(quantity: str, found: list[float]) -> float:
    if quantity == "effect":
        return sum(found)
    return math.sqrt(sum(size**2 for size in found) / len(found))


def laws(slopes: Iterable[LayerSlope], deep: Iterable[Stack]) -> Mapping[Key, tuple[float, float]]:
    """What is judged over depths, of what was judged over widths -> its law."""
    deep = list(deep)
    found: dict[Key, tuple[float, float]] = {}
    for each in slopes:
        name = each.layer
        for stack in deep:
            name = stack.pooled(name)
        if each.quantity != "decay":
            found[name, each.quantity] = BOTH if each.quantity == "stream size" else FLAT
    return found
