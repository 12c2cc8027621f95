"""Attention whose head dimension grows, as a trace at two widths shows it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from widthwise.tracing.flow import Held
from widthwise.tracing.uses import Attention, Trace, paired


@dataclass(frozen=True)
class AttentionScale:
    """An attention whose head dimension grows: module -> head_dim at the base width.

    exponent: of head_dim in the factor on its logits q.k, measured between the two widths: -1/2 as
    is usual, -1 for a mean as muP asks; nan where it cannot be told. held: parameter -> the power
    that it holds of a factor on its logits; empty where none can. sized: the one whose outputs grow
    as head_dim does.
    """

    module: str
    head_dim: int
    exponent: float
    held: Held
    sized: str = ""

    @property
    def place(self) -> str:
        """The module's name, or words for the root."""
        return self.module or "the module itself"


def attention_of(
    seen: Trace, seen_wide: Trace, grown: Mapping[str, float]
) -> tuple[AttentionScale, ...]:
    """Attention whose head dimension differs between the two widths; grown: parameter -> its
    outputs at the second over those at the first."""
    of: dict[str, list[tuple[Attention, Attention]]] = {}
    for pair in paired(seen.attention, seen_wide.attention, lambda each: each.module):
        if pair[0].head_dim != pair[1].head_dim:
            of.setdefault(pair[0].module, []).append(pair)
    found = []
    for module, pairs in of.items():
        exponents = {round(_exponent(*pair), 9) for pair in pairs}
        exponent = exponents.pop() if len(exponents) == 1 else math.nan
        (a, b), held = pairs[0], seen.flow.of_logits([made for a, _ in pairs for made in a.made])
        ratio = b.head_dim / a.head_dim
        as_it = [n for n in held if held[n] > 0 and math.isclose(grown.get(n, 0.0), ratio)]
        sized = as_it[0] if as_it else ""
        found.append(AttentionScale(module, a.head_dim, exponent, held if sized else {}, sized))
    return tuple(found)


def _exponent(a: Attention, b: Attention) -> float:
    """The exponent of head_dim in the scale of the logits, from how they grow."""
    return b.growth / math.log(b.head_dim / a.head_dim) - 1
