"""The networks whose implementations of muP are checked: make(width), as a user has them."""

# mypy: disable-error-code="union-attr,operator,arg-type,assignment"
# torch types an attribute of a module as Tensor | Module.

import math
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.zoo.by_hand import BASE, VOCABULARY, Hand
from benchmarks.zoo.hugging_face import gpt2, llama

# The models.


class MLP(nn.Module):
    """Three layers; logits times m^readout."""

    def __init__(self, width: int, hand: Hand | None = None, act: type = nn.Tanh):
        super().__init__()
        self.width, self.factor = width, (width / BASE) ** (hand.readout if hand else 0.0)
        self.entry, self.readout = nn.Linear(6, width), nn.Linear(width, 4)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(width, width), act()) for _ in "ab")
        self.act = act()

    def forward(self, x):
        x = self.act(self.entry(x))
        for layer in self.layers:
            x = layer(x)
        return self.readout(x) * self.factor


class Attention(nn.Module):
    """Causal attention, by one fused call or step by step; heads of 16, or two that grow."""

    def __init__(
        self, width: int, hand: Hand | None, grows: bool, rope: bool, kv: int | None, eager: bool
    ):
        super().__init__()
        self.eager = eager
        self.heads = 2 if grows else width // 16
        self.head_dim = width // self.heads
        self.kv = self.heads if kv is None else self.heads // kv
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, self.kv * self.head_dim, bias=False)
        self.v = nn.Linear(width, self.kv * self.head_dim, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.rope, self.before, self.scale = rope, 1.0, None
        if hand is not None and grows:
            base = BASE // 2  # head_dim at the base width, where logits have the usual factor
            grown = base if hand.frozen else self.head_dim
            self.scale = base**-0.5 * (grown / base) ** hand.attention
            self.before = (self.head_dim / base) ** hand.queries

    def forward(self, x):
        b, t, width = x.shape
        q = self.q(x).view(b, t, self.heads, self.head_dim).transpose(1, 2)
        k = self.k(x).view(b, t, self.kv, self.head_dim).transpose(1, 2)
        v = self.v(x).view(b, t, self.kv, self.head_dim).transpose(1, 2)
        if self.rope:
            q, k = rotated(q), rotated(k)
        if self.kv != self.heads:
            k = k.repeat_interleave(self.heads // self.kv, 1)
            v = v.repeat_interleave(self.heads // self.kv, 1)
        if self.eager:
            scale = self.head_dim**-0.5 if self.scale is None else self.scale
            mask = torch.full((t, t), -math.inf).triu(1)
            y = ((q @ k.transpose(2, 3)) * scale + mask).softmax(-1) @ v
        else:
            q = q * self.before
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale)
        return self.o(y.transpose(1, 2).reshape(b, t, width))


def rotated(x: torch.Tensor) -> torch.Tensor:
    """Rotary positions on (batch, heads, tokens, head_dim)."""
    half = x.shape[-1] // 2
    rates = 100.0 ** (-torch.arange(half) / half)
    angles = torch.arange(x.shape[-2])[:, None] * rates
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)


class SwiGLU(nn.Module):
    """The feed-forward part of a Llama."""

    def __init__(self, width: int):
        super().__init__()
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in "ab")
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(self, width: int, hand: Hand | None, llama: bool, **attention: Any):
        super().__init__()
        norm = nn.RMSNorm if llama else nn.LayerNorm
        self.norm1, self.norm2 = norm(width), norm(width)
        self.attention = Attention(width, hand, rope=llama, **attention)
        self.mlp = (
            SwiGLU(width)
            if llama
            else nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        )

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    """A GPT-2 (positions learned, LayerNorm, GELU), or a Llama (rotary, RMSNorm, SwiGLU)."""

    def __init__(
        self,
        width: int,
        hand: Hand | None = None,
        *,
        llama: bool = False,
        grows: bool = False,
        tied: bool = False,
        zero: bool = False,
        kv: int | None = None,
        eager: bool = False,
        in_place: bool = False,
    ):
        super().__init__()
        self.in_place = in_place
        self.width, self.factor = width, (width / BASE) ** (hand.readout if hand else 0.0)
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = None if llama else nn.Embedding(16, width)
        self.layers = nn.ModuleList(
            Block(width, hand, llama, grows=grows, kv=kv, eager=eager) for _ in range(2)
        )
        self.norm = (nn.RMSNorm if llama else nn.LayerNorm)(width)
        self.readout = nn.Linear(width, VOCABULARY, bias=False)
        if tied:
            nn.init.normal_(self.tokens.weight, 0.0, 0.1)
            self.readout.weight = self.tokens.weight
        if zero:
            nn.init.zeros_(self.readout.weight)
        if zero:
            for block in self.layers:
                nn.init.zeros_(block.attention.q.weight)

    def forward(self, tokens):
        x = self.tokens(tokens)
        if self.positions is not None:
            x = x + self.positions(torch.arange(tokens.shape[1]))
        for block in self.layers:
            x = block(x)
        x = self.norm(x)
        if self.in_place:
            x *= self.factor
            return self.readout(x)
        return self.readout(x) * self.factor


GPT2, Llama = partial(Decoder, llama=False), partial(Decoder, llama=True)


def hf_llama(width: int, *, grows: bool = False) -> nn.Module:
    """Hugging Face's Llama, two queries a key-value head."""
    heads = 2 if grows else width // 16
    model = llama(width, heads, num_key_value_heads=heads // 2, max_position_embeddings=16)
    model.width = width
    return model


def hf_gpt2(width: int) -> nn.Module:
    """Hugging Face's GPT-2, without dropout; its readout is the embedding transposed."""
    model = gpt2(width, width // 16, n_positions=16).eval()
    model.width = width
    return model


class Residual(nn.Module):
    """Two convolutions beside what came in."""

    def __init__(self, width: int):
        super().__init__()
        self.a, self.b = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in "ab")
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x):
        return F.relu(x + self.norm2(self.b(F.relu(self.norm1(self.a(x))))))


class ResNet(nn.Module):
    """A stem, two residual blocks, a mean over places, a readout."""

    def __init__(self, width: int, hand: Hand | None = None):
        super().__init__()
        width = width // 2  # channels: a convolution has nine weights for each
        self.width = 2 * width
        self.entry = nn.Conv2d(3, width, 3, stride=2, padding=1, bias=False)
        self.layers = nn.ModuleList(Residual(width) for _ in range(2))
        self.readout = nn.Linear(width, 4)
        self.factor = (self.width / BASE) ** (hand.readout if hand else 0.0)

    def forward(self, x):
        x = F.relu(self.entry(x))
        for block in self.layers:
            x = block(x)
        return self.readout(x.mean((2, 3))) * self.factor


class GRU(nn.Module):
    """torch's GRU over the rows; the readout reads the last state."""

    def __init__(self, width: int, hand: Hand | None = None):
        super().__init__()
        self.width = width
        self.cell, self.readout = nn.GRU(6, width, batch_first=True), nn.Linear(width, 4)

    def forward(self, x):
        return self.readout(self.cell(x)[0][:, -1])


class Cell(nn.Module):
    """A GRU of one's own: gates by linear layers."""

    def __init__(self, width: int, hand: Hand | None = None):
        super().__init__()
        self.width, self.factor = width, (width / BASE) ** (hand.readout if hand else 0.0)
        self.entry = nn.Linear(6, 3 * width)
        self.state = nn.Linear(width, 3 * width, bias=False)
        self.readout = nn.Linear(width, 4)

    def forward(self, x):
        h = x.new_zeros(len(x), self.width)
        for row in x.unbind(1):
            (r, z, n), (a, b, c) = self.entry(row).chunk(3, -1), self.state(h).chunk(3, -1)
            z = torch.sigmoid(z + b)
            h = (1 - z) * torch.tanh(n + torch.sigmoid(r + a) * c) + z * h
        return self.readout(h) * self.factor


class Encoder(nn.Module):
    """torch's encoder over the rows, heads of 16."""

    def __init__(self, width: int, hand: Hand | None = None):
        super().__init__()
        self.width = width
        block = nn.TransformerEncoderLayer(
            width, width // 16, 4 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.entry, self.readout = nn.Linear(6, width), nn.Linear(width, 4)
        self.blocks = nn.TransformerEncoder(block, 2, enable_nested_tensor=False)

    def forward(self, x):
        return self.readout(self.blocks(self.entry(x)).mean(1))
