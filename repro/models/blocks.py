"""Transformer blocks without biases. Shapes in names: B batch, T time, D width, H heads, C head."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from repro import backend


def sinusoids(length: int, width: int) -> torch.Tensor:
    """Fixed positional encoding (Vaswani et al. 2017), shape (length, width), entries in [-1, 1].

    Its root mean square is sqrt(1/2) for every width.
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]
    frequency = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = position * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :width].float()


def heads(y_BTD: torch.Tensor, head_dim: int) -> torch.Tensor:
    """(B, T, D) -> (B, H, T, C)."""
    B, T, D = y_BTD.shape
    return y_BTD.view(B, T, D // head_dim, head_dim).transpose(1, 2)


def attention_scale(head_dim: int, multiplier: float) -> float | None:
    """`scale` of the layers below: multiplier / sqrt(head_dim); None where that is their own."""
    return None if multiplier == 1 else multiplier * head_dim**-0.5


class Attention(nn.Module):
    """Multi-head self-attention with logits `scale` * q.k, 1 / sqrt(head_dim) if None.

    dropout: of the attention probabilities, in training.
    """

    def __init__(
        self,
        width: int,
        head_dim: int,
        scale: float | None = None,
        *,
        causal: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.head_dim, self.scale, self.causal, self.dropout = head_dim, scale, causal, dropout
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x_BTD: torch.Tensor, seen_BT: torch.Tensor | None = None) -> torch.Tensor:
        """(B, T, D) -> (B, T, D); seen_BT: which keys are no padding, all if None."""
        q, k, v = (heads(y, self.head_dim) for y in self.qkv(x_BTD).split(x_BTD.shape[-1], dim=-1))
        return self.out(attend(q, k, v, self, seen_BT))


class CrossAttention(nn.Module):
    """Attention of a decoder over an encoder's output; as `Attention`."""

    def __init__(
        self, width: int, head_dim: int, scale: float | None = None, *, dropout: float = 0.0
    ):
        super().__init__()
        self.head_dim, self.scale, self.causal, self.dropout = head_dim, scale, False, dropout
        self.q = nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, 2 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(
        self, x_BTD: torch.Tensor, y_BSD: torch.Tensor, seen_BS: torch.Tensor | None = None
    ) -> torch.Tensor:
        """(B, T, D), encoder output (B, S, D) -> (B, T, D)."""
        k, v = (heads(y, self.head_dim) for y in self.kv(y_BSD).split(x_BTD.shape[-1], dim=-1))
        return self.out(attend(heads(self.q(x_BTD), self.head_dim), k, v, self, seen_BS))


def attend(q_BHTC, k_BHSC, v_BHSC, layer, seen_BS: torch.Tensor | None) -> torch.Tensor:
    """Scaled dot-product attention, heads joined: (B, T, D). layer: scale, causal, dropout.

    A causal layer takes no padding mask: what it must not see lies after it.
    """
    y_BHTC = backend.attention(
        q_BHTC,
        k_BHSC,
        v_BHSC,
        mask=None if seen_BS is None else seen_BS[:, None, None, :],
        causal=layer.causal,
        scale=layer.scale,
        dropout=layer.dropout if layer.training else 0.0,
    )
    return y_BHTC.transpose(1, 2).flatten(2)


class MLP(nn.Module):
    """Up-projection by `expansion`, exact GELU, down-projection."""

    def __init__(self, width: int, expansion: int):
        super().__init__()
        self.up = nn.Linear(width, expansion * width, bias=False)
        self.down = nn.Linear(expansion * width, width, bias=False)

    def forward(self, x_BTD: torch.Tensor) -> torch.Tensor:
        """(B, T, D) -> (B, T, D)."""
        return self.down(F.gelu(self.up(x_BTD)))


def rotary_table(length: int, rotary_dim: int, base: float = 10_000.0) -> torch.Tensor:
    """Cosines and sines of rotary positions (Su et al. 2021), shape (2, length, rotary_dim).

    Entry i and entry i + rotary_dim / 2 of a head turn together, by position * base^(-2i/dim).
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]
    frequency = base ** (-torch.arange(0, rotary_dim, 2, dtype=torch.float64) / rotary_dim)
    angle = (position * frequency).tile(2)
    return torch.stack([angle.cos(), angle.sin()]).float()


def rotate(x_BHTC: torch.Tensor, table_2TR: torch.Tensor) -> torch.Tensor:
    """Heads with their first R entries turned by a `rotary_table` of T positions."""
    cos, sin = table_2TR
    turned, kept = x_BHTC.split([cos.shape[-1], x_BHTC.shape[-1] - cos.shape[-1]], dim=-1)
    first, second = turned.chunk(2, dim=-1)
    turned = turned * cos + torch.cat([-second, first], dim=-1) * sin
    return torch.cat([turned.to(x_BHTC.dtype), kept], dim=-1)


class GroupedQueryAttention(nn.Module):
    """Causal attention in a sliding window, rotary positions, a key-value head per group of heads.

    Query heads i * heads / kv_heads to (i + 1) * heads / kv_heads - 1 share key-value head i.
    """

    def __init__(self, width: int, heads: int, kv_heads: int, head_dim: int):
        super().__init__()
        self.head_dim = head_dim
        self.q = nn.Linear(width, heads * head_dim, bias=False)
        self.kv = nn.Linear(width, 2 * kv_heads * head_dim, bias=False)
        self.out = nn.Linear(heads * head_dim, width, bias=False)

    def forward(self, x_BTD: torch.Tensor, rotary_2TR: torch.Tensor, window: Any) -> torch.Tensor:
        """(B, T, D), a `rotary_table` of at least T positions, the `backend.window_mask` of T ->
        (B, T, D)."""
        table = rotary_2TR[:, : x_BTD.shape[1]]
        k, v = (heads(y, self.head_dim) for y in self.kv(x_BTD).chunk(2, dim=-1))
        q = rotate(heads(self.q(x_BTD), self.head_dim), table)
        y_BHTC = backend.attention_in_window(q, rotate(k, table), v, window)
        return self.out(y_BHTC.transpose(1, 2).flatten(2))


class SwiGLU(nn.Module):
    """Down-projection of silu(gate) * up (Shazeer 2020)."""

    def __init__(self, width: int, inner: int):
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x_BTD: torch.Tensor) -> torch.Tensor:
        """(B, T, D) -> (B, T, D)."""
        return self.down(F.silu(self.gate(x_BTD)) * self.up(x_BTD))
