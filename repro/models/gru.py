"""A recurrent language model of torch's own layers: embedding, GRU, untied readout."""

from collections.abc import Mapping

import torch
from torch import nn

from repro.models.readout import scaled
from widthwise.parametrization import Role

ARCHITECTURE = {"class_name": "GRU"}
TINY = {
    "task": "transfer",
    "widths": [32, 64, 128, 256],
    "lr": 0.02,
    "model": {"depth": 2, "base_width": 32},
    "data": {"batch_size": 8, "sequence_length": 16, "vocab_size": 64},
    "schedule": {"name": "constant", "warmup": 0, "final": 1.0},
    "embedding_ratio": 1.0,
}


class GRU(nn.Module):
    """Token ids (B, T) -> logits (B, T, vocab_size).

    depth: layers of the GRU. output_multiplier: factor on the logits.
    At the base width the initial values have the laws that torch's layers draw from: uniform of
    standard deviation (3 width)^-1/2 for weights and biases, normal of 1 for the embedding. Biases
    keep theirs at every width.
    Parameters hold no values until `Plan.init_` of `widthwise` draws them.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        sequence_length: int,  # of the data; a recurrent network takes any
        width: int,
        depth: int,
        base_width: int,
        output_multiplier: float,
    ):
        super().__init__()
        self.width, self.base_width = width, base_width
        self.output_multiplier = output_multiplier
        self.embedding = nn.Embedding(vocab_size, width)
        self.layers = nn.GRU(width, width, depth, batch_first=True)
        self.output = nn.Linear(width, vocab_size, bias=False)

    def roles(self) -> Mapping[str, Role]:
        """Parameter name -> Role; a gate's weights are (3 width, width), summed over the last."""
        n, ratio = self.width, self.width / self.base_width

        def of(kind: str, width: int, **more) -> Role:
            return Role(kind, std=(3 * width) ** -0.5, distribution="uniform", **more)

        roles = {
            "embedding.weight": Role("embedding", width_out=ratio),
            "output.weight": of("output", n, fan_in=n, width_in=ratio),
        }
        for name, _ in self.layers.named_parameters():
            roles[f"layers.{name}"] = (
                of("vector", self.base_width, width_out=ratio)
                if name.startswith("bias")
                else of("hidden", n, fan_in=n, width_in=ratio, width_out=ratio)
            )
        return roles

    def forward(self, tokens_BT: torch.Tensor) -> torch.Tensor:
        """Logits (B, T, vocab_size) of token ids (B, T)."""
        x_BTD, _ = self.layers(self.embedding(tokens_BT))
        return self.output(scaled(x_BTD, self.output_multiplier))
