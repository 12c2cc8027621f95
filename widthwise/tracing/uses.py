"""What is seen of a parameter: its uses, and attention. No torch."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

Seen = TypeVar("Seen")

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
    convolution's, 1 for every other operator. made: the number of its product (`tracing.flow`).
    """

    module: str
    axes: dict[int, str]
    groups: int = 1
    made: int = 0


@dataclass(frozen=True)
class Attention:
    """Logits of q.k over `head_dim` entries. growth: of the logits (`tracing.sizes`). made: the
    numbers of the products that they are the sum of (`tracing.flow`)."""

    module: str
    head_dim: int
    growth: float
    made: tuple[int, ...] = ()


@dataclass
class Trace:
    """What was seen in a forward pass.

    uses: parameter -> its uses, in the order of the pass. unknown: parameter -> operators that took
    it and are not known here. behind: parameter -> those whose products reach its own. attention:
    in order. branches: as `tracing.branches` finds them. flow: the operators (`tracing.flow`).
    joined: parameter -> the sizes of what was put side by side and is what it sums over. degrees:
    parameter -> those of the weight that it is made to, in each. By
    `tracing.sizes`: numbers: (module, operator) -> those that sizes follow; and at the other width
    asked: (parameter, SUM or KEEP) -> how what it gives grows where it should not; grows: (module,
    operator) -> the same, of what no parameter makes up for; unseen: whether a number could not be
    seen. normed: parameters that are divided by a norm of their own.
    """

    uses: dict[str, list[Use]]
    unknown: dict[str, set[str]]
    behind: dict[str, set[str]] = field(default_factory=dict)
    attention: list[Attention] = field(default_factory=list)
    branches: dict[str, tuple[str, ...] | str] = field(default_factory=dict)
    flow: Any = None
    joined: dict[str, tuple[int, ...]] = field(default_factory=dict)
    degrees: dict[str, dict[str, float]] = field(default_factory=dict)
    numbers: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    asked: dict[tuple[str, str], set[float]] = field(default_factory=dict)
    grows: dict[tuple[str, str], float] = field(default_factory=dict)
    unseen: bool = False
    normed: set[str] = field(default_factory=set)


def paired(
    first: Iterable[Seen], second: Iterable[Seen], key: Callable[[Seen], Hashable]
) -> list[tuple[Seen, Seen]]:
    """What two traces saw, side by side: what has the same key, and as many of it before. A loop
    that runs more often at another width, or an operator that another device takes apart, moves
    nothing that came from elsewhere."""

    def keyed(seen: Iterable[Seen]) -> dict[Hashable, Seen]:
        counts: Counter[Hashable] = Counter()
        found: dict[Hashable, Seen] = {}
        for each in seen:
            found[key(each), counts[key(each)]] = each
            counts[key(each)] += 1
        return found

    a, b = keyed(first), keyed(second)
    return [(a[each], b[each]) for each in a if each in b]
