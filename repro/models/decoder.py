"""The decoder-only transformer of Hayou & Liu (arXiv 2506.15025), Appendix C.

Embedding, fixed positional encoding, blocks of attention and MLP, untied output projection.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import nn

from repro.errors import UserError
from repro.models.blocks import MLP, Attention, sinusoids
from repro.models.readout import scaled
from widthwise.parametrization import Role

ARCHITECTURE = {"class_name": "Decoder"}
TINY = {
    "task": "language_model",
    "widths": [64, 128, 256, 512],
    "lr": 0.5,
    "model": {"depth": 2, "head_dim": 16, "expansion": 4, "norm": "pre", "base_width": 1},
    "data": {"batch_size": 8, "sequence_length": 16, "vocab_size": 64},
    "optimizer": {"name": "adam", "betas": [0.9, 0.999]},
}


class Decoder(nn.Module):
    """Token ids (B, T) -> logits (B, T, vocab_size).

    positional_rms: root mean square of the fixed positional encoding's entries, as
        {"factor", "power"}: factor * (width / base_width)^power.
    output_multiplier: factor on the logits.
    norm: "none" (x = x + f(x), the paper's equation 1), "post" (x = LN(x + f(x))) or "pre"
        (x = x + f(LN(x)), one LN before the output); LN has no affine parameters.
    Parameters hold no values until `Plan.init_` of `widthwise` draws them.
    Raises UserError on a width that is no multiple of head_dim.
    """

    positions_TD: torch.Tensor
    branch_multiplier = 1.0  # on what a block adds; `ResidualDecoder` has another

    def __init__(
        self,
        *,
        vocab_size: int,
        width: int,
        depth: int,
        head_dim: int,
        expansion: int,
        sequence_length: int,
        norm: str,
        positional_rms: Mapping[str, float],
        output_multiplier: float,
        base_width: int,
    ):
        super().__init__()
        if width % head_dim:
            raise UserError(f"width {width} is not a multiple of head_dim {head_dim}")
        if norm not in ("none", "pre", "post"):
            raise UserError(f"norm {norm!r} is unknown: 'none', 'pre' or 'post'")
        self.width, self.norm, self.base_width = width, norm, base_width
        self.expansion, self.output_multiplier = expansion, output_multiplier
        self.embedding = nn.Embedding(vocab_size, width)
        self.attention = nn.ModuleList(Attention(width, head_dim) for _ in range(depth))
        self.mlp = nn.ModuleList(MLP(width, expansion) for _ in range(depth))
        self.output = nn.Linear(width, vocab_size, bias=False)
        positions_TD = sinusoids(sequence_length, width)
        rms = positional_rms["factor"] * (width / base_width) ** positional_rms["power"]
        positions_TD *= rms / positions_TD.square().mean().sqrt()
        self.register_buffer("positions_TD", positions_TD, persistent=False)

    def roles(self) -> dict[str, Role]:
        """Parameter name -> Role."""
        d = self.width
        ratio = d / self.base_width

        def hidden(fan_in: int) -> Role:
            return Role("hidden", fan_in, width_in=ratio, width_out=ratio)

        roles = {
            "embedding.weight": Role("embedding", width_out=ratio),
            "output.weight": Role("output", d, width_in=ratio),
        }
        for layer in range(len(self.attention)):
            roles[f"attention.{layer}.qkv.weight"] = hidden(d)
            roles[f"attention.{layer}.out.weight"] = hidden(d)
            roles[f"mlp.{layer}.up.weight"] = hidden(d)
            roles[f"mlp.{layer}.down.weight"] = hidden(self.expansion * d)
        return roles

    def forward(self, tokens_BT: torch.Tensor) -> torch.Tensor:
        """Logits (B, T, vocab_size) of token ids (B, T)."""
        x_BTD = self.embedding(tokens_BT) + self.positions_TD[: tokens_BT.shape[1]]
        for attention, mlp in zip(self.attention, self.mlp, strict=True):
            for layer in (attention, mlp):
                read_BTD = self._normalize(x_BTD) if self.norm == "pre" else x_BTD
                x_BTD = x_BTD + scaled(layer(read_BTD), self.branch_multiplier)
                if self.norm == "post":
                    x_BTD = self._normalize(x_BTD)
        if self.norm == "pre":
            x_BTD = self._normalize(x_BTD)
        return self.output(scaled(x_BTD, self.output_multiplier))

    def _normalize(self, x_BTD: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x_BTD, (self.width,))
