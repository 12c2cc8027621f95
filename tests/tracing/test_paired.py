"""What two traces saw is paired by module, whatever else a model has beside it."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import widthwise as ww
from benchmarks.zoo import small
from widthwise.tracing.uses import paired

BASE = 32
TOKENS = torch.randint(20, (2, 7), generator=torch.Generator().manual_seed(0))


class Fused(small.Attention):
    """Attention of torch's, which is one operator on a CPU and several on the meta device."""

    attend = staticmethod(partial(F.scaled_dot_product_attention, is_causal=True))

    def __init__(self, width, head_dim):
        super().__init__(width, width // head_dim, self.attend)

    def forward(self, x):
        return x + super().forward(x)


class Stock(nn.Module):
    """torch's own module, whose attention is within a function of torch's."""

    def __init__(self, width, head_dim):
        super().__init__()
        self.attend = nn.MultiheadAttention(width, width // head_dim, batch_first=True)

    def forward(self, x):
        return x + self.attend(x, x, x, need_weights=False)[0]


class Softmax(Fused):
    """Attention of one's own."""

    attend = staticmethod(partial(small.stepwise, power=-1))


class Linear(nn.Module):
    """Attention without a softmax: what `roles` is to warn of."""

    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in "qkv")

    def forward(self, x):
        q, k = F.elu(self.q(x)) + 1, F.elu(self.k(x)) + 1
        return x + (q @ k.mT).tril() @ self.v(x)


class Fixed(nn.Module):
    """Products over what does not grow."""

    def __init__(self, width):
        super().__init__()
        self.p = nn.Linear(width, 8)

    def forward(self, x):
        z = self.p(x)
        return x + (z @ z.mT).sum(-1, keepdim=True)


class Net(nn.Module):
    def __init__(self, width, first, head_dim, second):
        super().__init__()
        self.embed, self.out = nn.Embedding(20, width), nn.Linear(width, 20)
        self.a = first(width, head_dim) if first else nn.Identity()
        self.b, self.c = second(width), nn.Identity()

    def forward(self, tokens):
        return self.out(self.c(self.b(self.a(self.embed(tokens)))))


BEFORE = [None, Fused, Stock, Softmax]


def warned(first, head_dim, second):
    roles = ww.roles(lambda width: Net(width, first, head_dim, second), BASE, TOKENS)
    return [line for line in roles.warnings if "product of data with data" in line]


@pytest.mark.filterwarnings("ignore:roles:UserWarning")
@pytest.mark.parametrize("head_dim", [16, BASE])
@pytest.mark.parametrize("first", BEFORE)
def test_linear_attention_is_warned_of_behind_any_other(first, head_dim):
    found = warned(first, head_dim, Linear)
    assert len(found) == 1 and found[0].startswith("b: product")


@pytest.mark.parametrize("head_dim", [8, 16, BASE])
@pytest.mark.parametrize("first", BEFORE)
def test_products_over_what_does_not_grow_are_not_warned_of(first, head_dim):
    assert not warned(first, head_dim, Fixed)


def test_pairs_are_by_key_and_by_how_many_came_before():
    pairs = paired(["a1", "b1", "a2"], ["x", "b2", "a3", "a4", "a5"], lambda each: each[0])
    assert pairs == [("a1", "a3"), ("b1", "b2"), ("a2", "a4")]
