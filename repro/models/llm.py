"""The pretrained decoder of Hayou & Liu (arXiv 2506.15025), Table 3.

Rotary positions, grouped-query attention in a sliding window, SwiGLU, LayerNorm, untied output.
Table 3 leaves open, and here is as usual: LayerNorm before each layer and before the output, with
gains and biases; no other biases; rotary base 10,000.
Inits (ours: Section 4.2 and C.3 name none): matrices fan_in^-1/2, gains 1, biases 0.
"""

import torch
from torch import nn

from repro import backend
from repro.errors import UserError
from repro.models.blocks import GroupedQueryAttention, SwiGLU, rotary_table
from repro.models.readout import scaled
from widthwise.parametrization import Role

ARCHITECTURE = {"class_name": "LLM"}
TINY = None  # its layers' roles are the decoder's, and its smallest shape is not tiny


class LLM(nn.Module):
    """Token ids (B, T) -> logits (B, T, vocab_size), T at most sequence_length.

    inner: width of SwiGLU. window: positions a query sees, itself included.
    rotary_dim: entries of a head that are turned. output_multiplier: factor on the logits.
    Parameters hold no values until `Plan.init_` of `widthwise` draws them, except for
    LayerNorm's (1 and 0).
    Raises UserError where heads do not share key-value heads evenly, or cannot be turned.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        sequence_length: int,
        depth: int,
        width: int,
        heads: int,
        kv_heads: int,
        head_dim: int,
        rotary_dim: int,
        window: int,
        inner: int,
        base_width: float,
        output_multiplier: float,
    ):
        super().__init__()
        if heads % kv_heads:
            raise UserError(f"model: {heads} heads are no multiple of {kv_heads} key-value heads")
        if rotary_dim % 2 or not 0 < rotary_dim <= head_dim:
            raise UserError(f"model: rotary_dim {rotary_dim} is not even or not in 1 to {head_dim}")
        self.width, self.ratio, self.window = width, width / base_width, window
        self.head_dim = head_dim
        self.output_multiplier = output_multiplier
        self.embedding = nn.Embedding(vocab_size, width)
        self.attention_norm = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.attention = nn.ModuleList(
            GroupedQueryAttention(width, heads, kv_heads, head_dim) for _ in range(depth)
        )
        self.mlp_norm = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.mlp = nn.ModuleList(SwiGLU(width, inner) for _ in range(depth))
        self.final_norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, vocab_size, bias=False)
        self.register_buffer(
            "rotary_2TR", rotary_table(sequence_length, rotary_dim), persistent=False
        )

    def roles(self) -> dict[str, Role]:
        """Parameter name -> Role."""
        ends = {
            "embedding.weight": Role("embedding", width_out=self.ratio),
            "output.weight": Role("output", self.width, width_in=self.ratio),
        }
        hidden = {
            f"{name}.weight": Role("hidden", layer.in_features, self.ratio, self.ratio)
            for name, layer in self.named_modules()
            if isinstance(layer, nn.Linear) and name != "output"
        }
        vectors = {
            f"{name}.{part}": Role("vector", width_out=self.ratio)
            for name, layer in self.named_modules()
            if isinstance(layer, nn.LayerNorm)
            for part in ("weight", "bias")
        }
        return ends | hidden | vectors

    def forward(self, tokens_BT: torch.Tensor) -> torch.Tensor:
        """Logits (B, T, vocab_size) of token ids (B, T)."""
        x_BTD = self.embedding(tokens_BT)
        seen = backend.window_mask(x_BTD.shape[1], self.window, self.head_dim, x_BTD.device)
        blocks = zip(self.attention_norm, self.attention, self.mlp_norm, self.mlp, strict=True)
        for attention_norm, attention, mlp_norm, mlp in blocks:
            x_BTD = x_BTD + attention(attention_norm(x_BTD), self.rotary_2TR, seen)
            x_BTD = x_BTD + mlp(mlp_norm(x_BTD))
        return self.output(scaled(self.final_norm(x_BTD), self.output_multiplier))
