"""The one table of operators, held against what torch does, and that both its readers know it."""

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import widthwise
from widthwise.tracing import moves

SHAPE = (2, 1, 3, 5)


class Names(TorchDispatchMode):
    """The operators below autograd: (name, arguments)."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen.append((function.overloadpacket.__name__, args))
        return function(*args, **(kwargs or {}))


CALLS = {
    "t": lambda x: x[0, 0].t(),
    "transpose": lambda x: x.transpose(-1, 0),
    "swapaxes": lambda x: x.swapaxes(1, 3),
    "permute": lambda x: x.permute(3, -3, 0, 2),
    "unsqueeze": lambda x: x.unsqueeze(-2),
    "squeeze": lambda x: x.squeeze(),
    "squeeze, one": lambda x: x.squeeze(1),
    "select": lambda x: x.select(-2, 1),
    "unbind": lambda x: x.unbind(2)[1],
    "unfold": lambda x: x.unfold(3, 2, 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_dimension_is_where_its_places_are(name):
    """Places along one dimension, moved as the tensor is, differ along the one that the table says
    and along no other."""
    for d in range(len(SHAPE)):
        shape = [SHAPE[d] if i == d else 1 for i in range(len(SHAPE))]
        places = torch.arange(SHAPE[d]).view(shape).expand(SHAPE).clone()
        with Names() as names:
            out = CALLS[name](places)
        *_, (operator, args) = [each for each in names.seen if each[0] in moves.MOVED]
        source = list(range(len(SHAPE)))[-args[0].ndim :]  # what a selection before left
        dims = moves.moved(operator, args, args[0].shape)
        assert len(dims) == out.ndim
        along = [j for j, i in enumerate(dims) if i is not None and source[i] == d]
        for j in range(out.ndim):
            differs = bool((out != out.select(j, 0).unsqueeze(j)).any())
            assert differs == (j in along and out.shape[j] > 1), (operator, d, j)


@pytest.mark.parametrize("dim", [0, -1, [0, 2], None])
def test_a_reduction_takes_the_dimensions_that_go(dim):
    x = torch.ones(SHAPE)
    with Names() as names:
        out = x.sum(dim) if dim is not None else x.sum()
    name, args = names.seen[-1]
    gone = moves.reduced(name, args, {}, x.ndim)
    assert name in moves.REDUCED and x.ndim - len(gone) == out.ndim
    assert [n for d, n in enumerate(SHAPE) if d not in gone] == list(out.shape)


class Fused(nn.Module):
    """Three maps in one parameter, taken apart in one way or another."""

    def __init__(self, width, parts):
        super().__init__()
        self.first, self.last = nn.Linear(5, width), nn.Linear(width, 3)
        self.qkv = nn.Parameter(torch.randn(3 * width, width) * width**-0.5)
        self.parts = parts

    def forward(self, x):
        h = self.first(x).relu()
        return self.last(sum((h @ part.T).relu() for part in self.parts(self.qkv)))


PARTS = {
    "chunk": lambda w: w.chunk(3),
    "unsafe_chunk": lambda w: w.unsafe_chunk(3),
    "unsafe_split": lambda w: w.unsafe_split(len(w) // 3),
    "tensor_split": lambda w: w.tensor_split(3),
    "narrow": lambda w: [w.narrow(0, i * len(w) // 3, len(w) // 3) for i in range(3)],
}


@pytest.mark.parametrize("how", PARTS)
def test_a_weight_in_parts_is_told_and_widened_however_it_is_taken_apart(how):
    """`unsafe_chunk` was known to widening alone: roles were refused, and widening with them."""
    x = torch.randn(4, 5)
    found = widthwise.roles(lambda n: Fused(n, PARTS[how]), 8, x)["qkv"]
    assert (found.kind, found.fan_in) == ("hidden", 8)
    wide, _, _ = widthwise.widen(
        Fused(8, PARTS[how]), None, 2, lambda k: Fused(8 * k, PARTS[how]), x
    )
    assert wide.qkv.shape == (48, 16)
