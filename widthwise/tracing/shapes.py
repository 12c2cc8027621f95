"""Which dimension of a tensor runs along which of another, and tensors in containers."""

import math
from collections.abc import Sequence

import torch
from torch.utils._pytree import tree_leaves

_PLAIN = {int, float, bool, str, type(None), torch.dtype, torch.device}


def tensors(tree: object) -> list[torch.Tensor]:
    """The tensors in nested containers."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    if isinstance(tree, list) or (isinstance(tree, tuple) and type(tree) is tuple):
        # As an operator's arguments are, of which there are many.
        return [found for each in tree for found in tensors(each)]
    if type(tree) in _PLAIN:
        return []
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def number(value: object) -> float:
    """A Python number, or the value of a tensor of one entry; nan where it has none."""
    if isinstance(value, torch.Tensor):
        return math.nan if value.is_meta or value.ndim else float(value)
    return float(value) if isinstance(value, int | float) else math.nan


def pointwise(out: object, given: list[torch.Tensor]) -> bool:
    """Whether a result has the shape that broadcasting gives its arguments."""
    results = tensors(out)
    try:
        shape = torch.broadcast_shapes(*(t.shape for t in given))
    except RuntimeError:
        return False
    return all(result.shape == shape for result in results)


def aligned(shape: Sequence[int], target: Sequence[int]) -> list:
    """For each dimension of a target the dimension of the source that broadcasting, or a reduction,
    puts there; () for none."""
    shift = len(target) - len(shape)
    return [
        d - shift if d - shift >= 0 and shape[d - shift] == size else ()
        for d, size in enumerate(target)
    ]


def reshaped(shape: Sequence[int], target: Sequence[int]) -> list[tuple[int, ...]]:
    """For each dimension of a reshaped tensor the source's dimensions it runs along.

    In blocks of equal products: dimensions that are merged are all along the one, and one that is
    split is along each of its parts.
    """
    found: list[tuple[int, ...]] = [()] * len(target)
    i = j = 0
    while i < len(shape) or j < len(target):
        i0, j0, x, y = i, j, 1, 1
        while not (x == y and i > i0 and j > j0):
            if (x <= y and i < len(shape)) or j >= len(target):
                if i >= len(shape):
                    break
                x, i = x * shape[i], i + 1
            else:
                y, j = y * target[j], j + 1
        of = tuple(d for d in range(i0, i) if shape[d] > 1)
        for d in range(j0, j):
            if target[d] > 1:
                found[d] = of
    return found
