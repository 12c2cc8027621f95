"""What is seen of a parameter: its uses, and attention. No torch."""

from dataclasses import dataclass, field

# What an operator does with an axis.
SUM, KEEP, ENTRY, JOINED = "sum", "keep", "entry", "joined"
INDEX, KERNEL, BATCH, CHAIN = "index", "kernel", "batch", "chain"
#   sum     inputs are summed over it           keep    one output for each of its entries
#   entry   added or multiplied, entry by entry joined  put beside data, as a class token is
#   index   looked up                           kernel  a convolution's window
#   batch   a product of its own for each       chain   summed over in a product of two parameters


@dataclass(frozen=True)
class Use:
    """What one operator did with axes of a parameter.

    module: name of the innermost module it ran in. axes: axis -> SUM, KEEP, ... groups: a
    convolution's, 1 for every other operator. reads: the size of what it is multiplied with, by
    the numbers that this was multiplied by before (`tracing.sizes`).
    """

    module: str
    axes: dict[int, str]
    groups: int = 1
    reads: float = 1.0


@dataclass(frozen=True)
class Attention:
    """Logits `scale` * q.k over `head_dim` entries; fused: by scaled_dot_product_attention."""

    module: str
    head_dim: int
    scale: float
    fused: bool


@dataclass
class Trace:
    """What was seen in a forward pass.

    uses: parameter -> its uses, in the order of the pass. unknown: parameter -> operators that took
    it and are not known here. inside: those whose products reach another weight's. attention: in
    order. products: all products of data with data, those in attention among them. embedded: of an
    embedding -> the number its output is multiplied by. output: the size of the module's output
    (`tracing.sizes`). branches: as `tracing.branches` finds them.
    """

    uses: dict[str, list[Use]]
    unknown: dict[str, set[str]]
    inside: set[str] = field(default_factory=set)
    attention: list[Attention] = field(default_factory=list)
    products: list[Attention] = field(default_factory=list)
    embedded: dict[str, float] = field(default_factory=dict)
    output: float = 1.0
    branches: dict[str, tuple[str, ...] | str] = field(default_factory=dict)
