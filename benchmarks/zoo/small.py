"""Small modules as users write them, by width; what is special about one is given to it."""

# mypy: disable-error-code="assignment"

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn


def times(make: Callable[[int], nn.Module], width: int = 8) -> Callable[[int], nn.Module]:
    """The factor's module of a function of the width, in float64."""
    return lambda factor: make(width * factor).double()


def mlp(
    inputs: int, outputs: int, hidden: int = 1, act: type[nn.Module] = nn.Tanh
) -> Callable[[int], nn.Module]:
    """`make` of an MLP without names: "0", the activation, "2", ..."""

    def make(width: int) -> nn.Module:
        sizes = [inputs, *[width] * (hidden + 1)]
        layers = [
            m for a, b in zip(sizes, sizes[1:], strict=False) for m in (nn.Linear(a, b), act())
        ]
        return nn.Sequential(*layers, nn.Linear(width, outputs))

    return make


class MLP(nn.Module):
    """Input, hidden and readout with biases; readout: its class, the mup package's for one."""

    def __init__(self, width: int, readout=nn.Linear, inputs: int = 6, outputs: int = 5):
        super().__init__()
        self.width = width
        self.input, self.hidden = nn.Linear(inputs, width), nn.Linear(width, width)
        self.readout = readout(width, outputs)

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """What the readout reads."""
        return torch.tanh(self.hidden(torch.tanh(self.input(x))))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., inputs) -> (..., outputs)."""
        return self.readout(self.features(x))


class Block(nn.Module):
    """A residual branch with a norm before it."""

    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., width) -> (..., width)."""
        return x + self.down(self.up(self.norm(x)).relu())


class Stack(nn.Module):
    """Blocks behind an entry, of rows or (vocabulary) of tokens."""

    def __init__(self, width: int, depth: int = 1, vocabulary: int = 0, tied: bool = False):
        super().__init__()
        self.entry = nn.Embedding(vocabulary, width) if vocabulary else nn.Linear(5, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(depth))
        self.norm, self.readout = nn.LayerNorm(width), nn.Linear(width, vocabulary or 3)
        if tied:
            self.readout.weight = self.entry.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Rows (..., 5) or tokens (...) -> (..., 3 or vocabulary)."""
        x = self.entry(x)
        for layer in self.layers:
            x = layer(x)
        return self.readout(self.norm(x))


def by_torch(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float | None = None
) -> torch.Tensor:
    """Attention by torch's function, its usual scale written out."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return F.scaled_dot_product_attention(q, k, v, scale=scale)


def stepwise(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, power: float = -0.5
) -> torch.Tensor:
    """Attention step by step, its logits times head_dim^power."""
    return (q @ k.mT * q.shape[-1] ** power).softmax(-1) @ v


class Attention(nn.Module):
    """Heads whose dimension grows, one matrix for all; attend: of (B, heads, T, head_dim)."""

    def __init__(self, width: int, heads: int = 2, attend: Callable = by_torch):
        super().__init__()
        self.heads, self.attend = heads, attend
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, width) -> (B, T, width)."""
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.out(self.attend(q, k, v).transpose(1, 2).flatten(2))


class Transformer(nn.Module):
    """Attention beside what came in; tied: the readout is the embedding transposed."""

    def __init__(
        self,
        width: int,
        readout: Callable = nn.Linear,
        tied: bool = False,
        heads: int = 2,
        attend: Callable = by_torch,
        vocabulary: int = 11,
    ):
        super().__init__()
        self.embedding, self.attention = (
            nn.Embedding(vocabulary, width),
            Attention(width, heads, attend),
        )
        self.norm, self.final = nn.LayerNorm(width), nn.LayerNorm(width)
        self.readout = readout(width, vocabulary, bias=False)
        if tied:
            self.readout.weight = self.embedding.weight

    def features(self, tokens: torch.Tensor) -> torch.Tensor:
        """What the readout reads."""
        x = self.embedding(tokens)
        return self.final(x + self.attention(self.norm(x)))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """(B, T) -> (B, T, vocabulary)."""
        return self.readout(self.features(tokens))


class Tied(nn.Module):
    """The embedding transposed is the readout: as a layer, or read where the module runs; mean:
    logits divided by the width."""

    def __init__(self, width: int, mean: bool = False, layer: bool = True, vocabulary: int = 11):
        super().__init__()
        self.embedding, self.hidden = nn.Embedding(vocabulary, width), nn.Linear(width, width)
        self.norm, self.factor = nn.LayerNorm(width), 8 / width if mean else 1.0
        self.readout = nn.Linear(width, vocabulary, bias=False) if layer else None
        if self.readout is not None:
            self.readout.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """(...) -> (..., vocabulary)."""
        x = self.norm(self.hidden(self.embedding(tokens)).tanh())
        if self.readout is None:
            return F.linear(x, self.embedding.weight) * self.factor
        return self.readout(x) * self.factor
