"""Inputs and sizes of the small models of `architectures.py`."""

from collections.abc import Callable

import torch
from torch import nn

Make = Callable[[int, str], nn.Module]  # factor, which of HEADS and HEAD_DIM grows -> module
Row = tuple[Make, Callable[[int], tuple], tuple[str, ...]]  # make, seed -> inputs, what may grow
HEADS, HEAD_DIM = "heads", "head_dim"
BOTH, ONE_WAY = (HEADS, HEAD_DIM), (HEADS,)


def tokens(seed: int) -> tuple:
    """Token ids, (2, 12)."""
    return (torch.randint(3, 90, (2, 12), generator=torch.Generator().manual_seed(seed)),)


def pairs(seed: int) -> tuple:
    """Token ids of an encoder and, behind a mask that is left out, of a decoder."""
    return (*tokens(seed), None, *tokens(seed + 100))


def normal(*shape: int) -> Callable[[int], tuple]:
    """Inputs of a shape, normal."""
    return lambda seed: (torch.randn(shape, generator=torch.Generator().manual_seed(seed)),)


IMAGES, SMALL, FRAMES = normal(2, 3, 64, 64), normal(2, 3, 32, 32), normal(2, 16, 32)


def sizes(k: int, grow: str, heads: int = 4, head_dim: int = 8) -> tuple[int, int, int]:
    """(width, heads, head_dim) of a factor."""
    if grow == HEADS:
        return heads * head_dim * k, heads * k, head_dim
    return heads * head_dim * k, heads, head_dim * k
