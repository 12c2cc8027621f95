"""How many units of each axis are copied together, read off a pass at two widths.

Where heads grow in number, the axes that hold them are copied a head at a time, and the table of a
relative bias, which has an entry a head, one by one; where queries and keys are fused each part may
have a block of its own. Every operator relates the dimensions of what it returns to those of what
it is given: a view splits units into heads of so many, an addition pairs them. What the relations
leave free is copied one by one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from widthwise.upscaling.calls import calls_of
from widthwise.upscaling.dimensions import Dimensions
from widthwise.upscaling.growth import Block


@dataclass(frozen=True)
class Blocks:
    """How many units are copied together (`Growth.block`).

    default: along every axis that is not named. axes: parameter or buffer -> for each of its axes.
    outputs: of each tensor that the module returns, for each of its dimensions. by: a word of
    `WAYS`, the same for all.
    """

    default: int = 1
    axes: Mapping[str, tuple[Block, ...]] = field(default_factory=dict)
    outputs: tuple[tuple[Block, ...], ...] = ()
    by: str = "copies"

    def __getitem__(self, name: str) -> int | tuple[Block, ...]:
        return self.axes.get(name, self.default)

    def output(self, place: int) -> int | tuple[Block, ...]:
        """Of a tensor that the module returns."""
        return self.outputs[place] if place < len(self.outputs) else self.default

    @property
    def sizes(self) -> set[int]:
        """All sizes that occur."""
        found = {self.default}
        for blocks in (*self.axes.values(), *self.outputs):
            for block in blocks:
                found |= {block} if isinstance(block, int) else {each for _, each in block}
        return found


def blocks_of(narrow: nn.Module, wide: nn.Module, arguments: Any) -> Blocks | None:
    """What a pass of both says; None where they do not take the same operators, or every unit is
    copied by itself. The wide one's values may be any."""
    first = calls_of(narrow, arguments, None)
    found = Dimensions(first, calls_of(wide, arguments, first))
    axes = {}
    for name, tensor in (*narrow.named_parameters(), *narrow.named_buffers()):
        place = first.ids.get(tensor)
        if place is not None:
            axes[name] = tuple(found.block((place, d)) for d in range(tensor.ndim))
    outputs = tuple(
        tuple(found.block((first.ids[t], d)) if t in first.ids else 1 for d in range(t.ndim))
        for t in first.outputs
    )
    result = Blocks(1, axes, outputs)
    return None if result.sizes == {1} else result
