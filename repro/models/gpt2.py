"""GPT-2 whose head dimension grows (Ma et al., arXiv 2602.10545, Appendix F.3).

Pre-LN blocks without biases, learned positions, readout tied to the embedding. Heads are fixed, so
a logit of attention is a mean over the head dimension: `attention_constant` / head_dim * q.k; the
authors' code uses 8, the usual scale at head dimension 64.
Inits (ours: F.3 names none): matrices fan_in^-1/2, those that write to the residual stream divided
by sqrt(2 depth), embeddings and positions `embedding_std` (GPT-2's own is 0.02).
"""

from typing import Any

import torch
from torch import nn

from repro import backend
from repro.errors import UserError
from repro.models.blocks import MLP, Attention
from repro.models.readout import scaled
from widthwise.parametrization import Role

ARCHITECTURE = {"class_name": "GPT2", "tied": True}
TINY = {
    "task": "warm_start",
    "widths": [32, 64, 128, 256],
    "lr": 0.02,
    "model": {
        "depth": 2,
        "heads": 2,
        "base_width": 32,
        "attention_constant": 4.0,
        "embedding_std": 0.5,
    },
    "data": {"batch_size": 8, "sequence_length": 16, "vocab_size": 64},
    "start": None,
}

EXPANSION = 4


class GPT2(nn.Module):
    """Token ids (B, T) -> logits (B, T, vocab_size).

    output_multiplier: factor on the logits.
    Parameters hold no values until `Plan.init_` of `widthwise` draws them, except for
    LayerNorm's gains (1).
    Raises UserError on a width that is no multiple of heads.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        sequence_length: int,
        depth: int,
        heads: int,
        width: int,
        base_width: float,
        attention_constant: float,
        embedding_std: float,
        output_multiplier: float,
    ):
        super().__init__()
        if width % heads:
            raise UserError(f"model: width {width} is not a multiple of {heads} heads")
        self.settings: dict[str, Any] = {
            "vocab_size": vocab_size,
            "sequence_length": sequence_length,
            "depth": depth,
            "heads": heads,
            "base_width": base_width,
            "attention_constant": attention_constant,
            "embedding_std": embedding_std,
        }
        self.width = width
        self.output_multiplier = output_multiplier
        head_dim = width // heads
        scale = attention_constant / head_dim
        self.embedding = nn.Embedding(vocab_size, width)
        self.positions = nn.Embedding(sequence_length, width)
        self.attention_norm = nn.ModuleList(self._norm() for _ in range(depth))
        self.attention = nn.ModuleList(Attention(width, head_dim, scale) for _ in range(depth))
        self.mlp_norm = nn.ModuleList(self._norm() for _ in range(depth))
        self.mlp = nn.ModuleList(MLP(width, EXPANSION) for _ in range(depth))
        self.final_norm = self._norm()

    def _norm(self) -> nn.LayerNorm:
        return nn.LayerNorm(self.width, bias=False)

    def wider(self, factor: int) -> "GPT2":
        """The same network, uninitialized, its head dimension `factor` times as large."""
        return GPT2(
            **self.settings,
            width=self.width * factor,
            output_multiplier=self.output_multiplier / factor,
        )

    def roles(self) -> dict[str, Role]:
        """Parameter name -> Role."""
        d, depth = self.width, self.settings["depth"]
        ratio = d / self.settings["base_width"]

        def hidden(fan_in: int, factor: float = 1.0) -> Role:
            return Role("hidden", fan_in, ratio, ratio, std=factor * fan_in**-0.5)

        embedding = Role("embedding", width_out=ratio, std=self.settings["embedding_std"])
        gain = Role("vector", width_out=ratio)
        roles = {
            "embedding.weight": embedding,
            "positions.weight": embedding,
            "final_norm.weight": gain,
        }
        for i in range(depth):
            roles |= {
                f"attention_norm.{i}.weight": gain,
                f"attention.{i}.qkv.weight": hidden(d),
                f"attention.{i}.out.weight": hidden(d, (2 * depth) ** -0.5),
                f"mlp_norm.{i}.weight": gain,
                f"mlp.{i}.up.weight": hidden(d),
                f"mlp.{i}.down.weight": hidden(EXPANSION * d, (2 * depth) ** -0.5),
            }
        return roles

    def forward(self, tokens_BT: torch.Tensor) -> torch.Tensor:
        """Logits (B, T, vocab_size) of token ids (B, T)."""
        x_BTD = self.embedding(tokens_BT) + self.positions.weight[: tokens_BT.shape[1]]
        blocks = zip(self.attention_norm, self.attention, self.mlp_norm, self.mlp, strict=True)
        for attention_norm, attention, mlp_norm, mlp in blocks:
            x_BTD = x_BTD + attention(attention_norm(x_BTD))
            x_BTD = x_BTD + mlp(mlp_norm(x_BTD))
        x_BTD = scaled(self.final_norm(x_BTD), self.output_multiplier)
        return backend.readout(x_BTD, self.embedding.weight)
