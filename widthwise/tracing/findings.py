"""What a trace shows beside roles: attention whose head dimension grows, and what to look at."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from widthwise.tracing.kinds import Found
from widthwise.tracing.uses import Trace


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
    for a, b in zip(seen.attention, seen_wide.attention, strict=False):
        if a.head_dim != b.head_dim:
            ratio = math.log(b.head_dim / a.head_dim)
            scales = b.scale / a.scale if a.scale else math.nan
            exponent = math.log(scales) / ratio if scales > 0 else math.nan
            found[a.module] = AttentionScale(a.module, a.head_dim, exponent, a.fused)
    return tuple(found.values())


def warnings_of(
    found: Mapping[str, Found], attention: tuple[AttentionScale, ...], seen: Trace
) -> Iterator[str]:
    """What a user should look at."""
    by_exponent: dict[str, list[str]] = {}
    for each in attention:
        by_exponent.setdefault(f"{each.exponent:.2g}", []).append(each.place)
    for exponent, modules in by_exponent.items():
        scaled = "in a way that cannot be told" if exponent == "nan" else f"as head_dim^{exponent}"
        if exponent != "-1":
            yield (
                f"{_some(modules)}: head_dim grows and logits scale {scaled}, where muP takes "
                "1/head_dim: a plan gives them a factor; or hold head_dim fixed and let heads grow"
            )
    inside = [n for n, f in found.items() if f.role.kind == "output" and n in seen.inside]
    if inside:
        yield (
            f"{_some(inside)}: reads a width and writes none inside the network (key-value heads "
            "held fixed, a router, a bottleneck): it has a readout's row in every table, and "
            "implementations of muP differ there"
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


def _some(names: list[str]) -> str:
    """The first of some names, and how many more there are."""
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]
