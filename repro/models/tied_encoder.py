"""The language encoder of Dinan, Yaida & Zhang (arXiv 2304.02034), I.0: a tied head.

Word embedding plus learned positions (1.9), pre-LN blocks without biases, LN without affine
parameters, and as head the word embedding transposed (1.24). BART's additional LNs are left out.
"""

import torch
import torch.nn.functional as F
from torch import nn

from repro.errors import UserError
from repro.models.blocks import MLP, Attention
from repro.models.readout import scaled
from widthwise.parametrization import Role


class TiedEncoder(nn.Module):
    """Word ids (B, T) -> logits (B, T, vocab_size).

    embedding_std, position_std: initial standard deviations. matrix_constant: every matrix of the
    blocks has variance matrix_constant / width, so C_X is expansion times that. output_multiplier:
    N_rescale. Parameters hold no values until `Plan.init_` of `widthwise` draws them.
    Raises UserError on a width that is no multiple of heads.
    """

    def __init__(
        self,
        *,
        width: int,
        depth: int,
        heads: int,
        expansion: int,
        vocab_size: int,
        sequence_length: int,
        causal: bool,
        eps: float,
        embedding_std: float,
        position_std: float,
        matrix_constant: float,
        output_multiplier: float,
    ):
        super().__init__()
        if width % heads:
            raise UserError(f"model: width {width} is not a multiple of {heads} heads")
        self.width, self.depth, self.expansion = width, depth, expansion
        self.eps, self.output_multiplier = eps, output_multiplier
        self.stds = (embedding_std, position_std, (matrix_constant / width) ** 0.5)
        self.embedding = nn.Embedding(vocab_size, width)
        self.positions = nn.Parameter(torch.empty(sequence_length, width))
        self.attention = nn.ModuleList(
            Attention(width, width // heads, causal=causal) for _ in range(depth)
        )
        self.mlp = nn.ModuleList(MLP(width, expansion) for _ in range(depth))

    def roles(self) -> dict[str, Role]:
        """Parameter name -> Role; widths are n itself."""
        n, m = self.width, self.expansion
        embedding_std, position_std, std = self.stds

        def matrix(fan_in: int, fan_out: int) -> Role:
            return Role("hidden", fan_in, n, n, std, fan_out)

        roles = {
            "embedding.weight": Role("embedding", width_out=n, std=embedding_std),
            "positions": Role("embedding", width_out=n, std=position_std),
        }
        for i in range(self.depth):
            roles |= {
                f"attention.{i}.qkv.weight": matrix(n, n),
                f"attention.{i}.out.weight": matrix(n, n),
                f"mlp.{i}.up.weight": matrix(n, m * n),
                f"mlp.{i}.down.weight": matrix(m * n, n),
            }
        return roles

    def forward(self, words_BT: torch.Tensor) -> torch.Tensor:
        """Logits (B, T, vocab_size) of word ids (B, T)."""
        x_BTD = self.embedding(words_BT) + self.positions[: words_BT.shape[1]]
        for attention, mlp in zip(self.attention, self.mlp, strict=True):
            x_BTD = x_BTD + attention(self.norm(x_BTD))
            x_BTD = x_BTD + mlp(self.norm(x_BTD))
        x_BTD = scaled(self.norm(x_BTD), self.output_multiplier)
        return F.linear(x_BTD, self.embedding.weight)

    def norm(self, x_BTD: torch.Tensor) -> torch.Tensor:
        """LayerNorm without affine parameters."""
        return F.layer_norm(x_BTD, (self.width,), eps=self.eps)
