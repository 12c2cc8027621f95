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


def heads(y_BTD: torch.Tensor, head_dim: int) -> torch.Tensor:
    """(B, T, D) -> (B, H, T, C)."""
    B, T, D = y_BTD.shape
    return y_BTD.view(B, T, D // head_dim, head_dim).transpose(1, 2)


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
    y_BHTC = F.scaled_dot_product_attention(
        q_BHTC,
        k_BHSC,
        v_BHSC,
        attn_mask=None if seen_BS is None else seen_BS[:, None, None, :],
        dropout_p=layer.dropout if layer.training else 0.0,
        is_causal=layer.causal,
        scale=layer.scale,
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
