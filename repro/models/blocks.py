"""Transformer blocks without biases. Shapes in names: B batch, T time, D width, H heads, C head."""

import torch
import torch.nn.functional as F
from torch import nn


def sinusoids(length: int, width: int) -> torch.Tensor:
    """Fixed positional encoding (Vaswani et al. 2017), shape (length, width), entries in [-1, 1].

    Its root mean square is sqrt(1/2) for every width.
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]
    frequency = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = position * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :width].float()


class Attention(nn.Module):
    """Causal multi-head self-attention with logits `scale` * q.k, 1 / sqrt(head_dim) if None."""

    def __init__(self, width: int, head_dim: int, scale: float | None = None):
        super().__init__()
        self.head_dim = head_dim
        self.scale = scale
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x_BTD: torch.Tensor) -> torch.Tensor:
        """(B, T, D) -> (B, T, D)."""
        B, T, D = x_BTD.shape
        q, k, v = (
            y.view(B, T, D // self.head_dim, self.head_dim).transpose(1, 2)
            for y in self.qkv(x_BTD).split(D, dim=-1)
        )
        y_BHTC = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale)
        return self.out(y_BHTC.transpose(1, 2).reshape(B, T, D))


class MLP(nn.Module):
    """Up-projection by `expansion`, exact GELU, down-projection."""

    def __init__(self, width: int, expansion: int):
        super().__init__()
        self.up = nn.Linear(width, expansion * width, bias=False)
        self.down = nn.Linear(expansion * width, width, bias=False)

    def forward(self, x_BTD: torch.Tensor) -> torch.Tensor:
        """(B, T, D) -> (B, T, D)."""
        return self.down(F.gelu(self.up(x_BTD)))
