"""muP for a Llama of one's own, whose head dimension grows, and the check that it is right.

python examples/llama.py
widthwise check examples/llama.py:make --recipe muP --widths 64 128 256 --lr 0.004
"""

import torch
import torch.nn.functional as F
from torch import nn

import widthwise as ww

BASE, WIDTHS, HEADS, VOCABULARY = 64, (64, 128, 256), 4, 32


class Attention(nn.Module):
    """Causal attention with rotary positions; half as many keys and values as queries."""

    def __init__(self, width: int):
        super().__init__()
        self.size = width // HEADS
        self.q, self.o = (nn.Linear(width, width, bias=False) for _ in "qo")
        self.k, self.v = (nn.Linear(width, width // 2, bias=False) for _ in "kv")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            layer(x).unflatten(-1, (-1, self.size)).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        q, k = rotated(q), rotated(k)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.o(y.transpose(1, 2).flatten(2))


def rotated(x: torch.Tensor) -> torch.Tensor:
    """Positions as rotations of pairs of entries: (batch, heads, tokens, size) -> the same."""
    half = x.shape[-1] // 2
    rates = 10_000.0 ** (-torch.arange(half, device=x.device) / half)
    angles = torch.arange(x.shape[-2], device=x.device)[:, None] * rates
    a, b = x.chunk(2, -1)
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)


class Block(nn.Module):
    """x + attention(norm(x)), then x + SwiGLU(norm(x))."""

    def __init__(self, width: int):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention = Attention(width)
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in "gu")
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    """Two blocks between an embedding and a readout of its own."""

    def __init__(self, width: int):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(2))
        self.norm, self.readout = nn.RMSNorm(width), nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.readout(self.norm(x))


def make(width: int) -> nn.Module:
    """The model at a width; four heads, so that it is their dimension that grows."""
    return Llama(width)


def batches(seed: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """(tokens, next tokens): random walks on a circle."""
    generator = torch.Generator().manual_seed(seed)
    walks = torch.randint(1, 4, (4, 17), generator=generator).cumsum(1) % VOCABULARY
    return [(walks[:, :-1], walks[:, 1:])]


if __name__ == "__main__":
    torch.manual_seed(0)
    roles = ww.roles(make, BASE, batches(0)[0][0])
    print(roles)  # warns that logits scale as head_dim^-0.5, where muP takes 1/head_dim
    model = make(WIDTHS[-1])
    plan = ww.plan(model, roles, "muP").init_()
    for line in plan.factors:
        print(line)
    optimizer = torch.optim.AdamW(plan.groups(lr=0.004, weight_decay=0.1), lr=0.004)
    for name in ("muP", "SP"):
        check = ww.coordinate_check(make, name, batches, WIDTHS, lr=0.004, seeds=3)
        print(f"{name}: {check.reason}")
