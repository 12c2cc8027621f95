"""Attention whose head dimension grows, as a trace at two widths shows it."""

import math
from dataclasses import dataclass

from widthwise.tracing.uses import Trace, paired


@dataclass(frozen=True)
class AttentionScale:
    """An attention whose head dimension grows: module -> head_dim at the base width.

    exponent: of head_dim in the factor on its logits q.k, measured between the two widths: -1/2 as
    is usual, -1 for a mean as muP asks; nan where it cannot be told. fused: computed by
    `torch.nn.functional.scaled_dot_product_attention`.
    """

    module: str
    head_dim: int
    exponent: float
    fused: bool

    @property
    def place(self) -> str:
        """The module in words."""
        return self.module or "the module itself"


def attention_of(seen: Trace, seen_wide: Trace) -> tuple[AttentionScale, ...]:
    """Attention whose head dimension differs between the two widths."""
    found = {}
    for a, b in paired(seen.attention, seen_wide.attention, lambda each: each.module):
        if a.head_dim != b.head_dim:
            ratio = math.log(b.head_dim / a.head_dim)
            exponent = b.growth / ratio - 1  # of what stands before the sum of head_dim products
            found[a.module] = AttentionScale(a.module, a.head_dim, exponent, a.fused)
    return tuple(found.values())
