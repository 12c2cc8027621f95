"""Relations between the blocks along dimensions that grow."""

import math
from collections.abc import Sequence
from fractions import Fraction

from widthwise.upscaling.calls import Ref
from widthwise.upscaling.growth import Block

Node = tuple[int, int]  # a tensor's number in the narrow pass, a dimension of it


class Relations:
    """Relations between blocks along dimensions that grow.

    Nodes that hang together have a root, and a block of so many of the root's.
    """

    def __init__(self) -> None:
        self.roots: dict[Node, tuple[Node, Fraction]] = {}
        self.members: dict[Node, list[Node]] = {}
        self.shapes: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self.parts: list[list[tuple[Node, int, int, Node]]] = []
        self.laid: dict[Node, list[tuple[int, Node]]] = {}
        self.free = -1

    def grows(self, ref: Ref, d: int) -> bool:
        """Whether a dimension differs between the passes."""
        a, b = self.shapes.get(ref.id, ((), ()))
        return len(a) == len(b) and d < len(a) and a[d] != b[d]

    def root(self, node: Node) -> tuple[Node, Fraction]:
        """(its root, block over the root's)."""
        return self.roots.setdefault(node, (node, Fraction(1)))

    def tie(self, a: Node, b: Node, ratio: Fraction | int = 1) -> bool:
        """block(b) = ratio * block(a); False where that contradicts what is known."""
        (root_a, of_a), (root_b, of_b) = self.root(a), self.root(b)
        if root_a == root_b:
            return of_b == ratio * of_a
        between = ratio * of_a / of_b  # block(root_b) over block(root_a)
        moved = self.members.pop(root_b, [root_b])
        for node in moved:
            self.roots[node] = root_a, self.roots[node][1] * between
        self.members.setdefault(root_a, [root_a]).extend(moved)
        return True

    def link(self, a: Ref, i: int, b: Ref, j: int, ratio: Fraction | int = 1) -> None:
        """Tie dimensions of two tensors where both grow; places may count from the end."""
        i, j = i % max(len(a.shape), 1), j % max(len(b.shape), 1)
        if self.grows(a, i) and self.grows(b, j):
            self.tie((a.id, i), (b.id, j), ratio)

    def along(self, source: Ref, out: Ref, dims: Sequence[int | None]) -> None:
        """dims: for each dimension of `out` the source's that it is."""
        for j, i in enumerate(dims):
            if i is not None:
                self.link(source, i, out, j)

    def aligned(self, source: Ref, out: Ref) -> None:
        """As broadcasting pairs dimensions, from the last."""
        for back in range(1, min(len(source.shape), len(out.shape)) + 1):
            self.link(source, -back, out, -back)

    # Parts of an axis

    def join(self, parts: list[tuple[Node, int, int, Node]]) -> None:
        """Parts of one axis, each with the block of the whole where that can be; else the axis is
        laid out part by part."""
        roots = dict(self.roots), {root: list(nodes) for root, nodes in self.members.items()}
        if all(self.tie(whole, part) for whole, _, _, part in parts):
            return
        self.roots, self.members = roots
        whole = parts[0][0]
        layout = [(size, part) for _, _, size, part in sorted(parts, key=lambda each: each[1])]
        if sum(size for size, _ in layout) == self.shapes[whole[0]][0][whole[1]]:
            self.laid[whole] = layout

    def block(self, node: Node) -> Block:
        """What a dimension's block comes to: the least that is whole for all it is tied to."""
        root, _ = self.root(node)
        nodes = self.members.get(root, [root])
        size = self.shapes[node[0]][0][node[1]] if node[0] in self.shapes else 0
        for each in nodes:
            if each in self.laid and self.shapes[each[0]][0][each[1]] == size:
                return tuple((n, self.whole(part)) for n, part in self.laid[each])
        return self.whole(node)

    def whole(self, node: Node) -> int:
        """The block of a dimension that is in one part."""
        root, own = self.root(node)
        ratios = [self.roots[each][1] for each in self.members.get(root, [root])]
        least = min(ratios)
        common = math.lcm(*((ratio / least).denominator for ratio in ratios))
        return int(own / least * common)
