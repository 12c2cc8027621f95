"""The multi-layer perceptron of Ma et al. (arXiv 2602.10545), Appendix F.1."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from repro.models.readout import scaled
from widthwise.parametrization import Role

ARCHITECTURE = {"class_name": "MLP"}
TINY = {
    "task": "warm_start",
    "widths": [64, 128, 256, 512],
    "lr": 0.02,
    "model": {"inputs": 6, "classes": 4, "hidden_layers": 3, "base_width": 64},
    "data": {"batch_size": 64},
    "start": None,
}


class MLP(nn.Module):
    """Features (B, inputs) -> logits (B, classes): `hidden_layers` of one width, ReLU, biases.

    output_multiplier: factor on the readout's product, not on its bias.
    drawn_biases: whether biases of hidden layers start with the spread that they have at the base
        width, fan_in^-1/2 there, at every width (Table 2's vectors; the released code), else at 0.
    Biases that are not drawn are zero. All other parameters hold no values until
    `Plan.init_` of `widthwise` draws them, which sets the readout to zero.
    """

    def __init__(
        self,
        *,
        inputs: int,
        classes: int,
        hidden_layers: int,
        width: int,
        base_width: float,
        output_multiplier: float,
        drawn_biases: bool = False,
    ):
        super().__init__()
        self.settings: dict[str, Any] = {
            "inputs": inputs,
            "classes": classes,
            "hidden_layers": hidden_layers,
            "base_width": base_width,
            "drawn_biases": drawn_biases,
        }
        self.width = width
        self.output_multiplier = output_multiplier
        self.input = nn.Linear(inputs, width)
        self.hidden = nn.ModuleList(nn.Linear(width, width) for _ in range(hidden_layers - 1))
        self.output = nn.Linear(width, classes)
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)

    def wider(self, factor: int) -> "MLP":
        """The same network, uninitialized, `factor` times as wide."""
        return MLP(
            **self.settings,
            width=self.width * factor,
            output_multiplier=self.output_multiplier / factor,
        )

    def roles(self) -> dict[str, Role]:
        """Parameter name -> Role."""
        base_width, inputs = self.settings["base_width"], self.settings["inputs"]
        ratio = self.width / base_width

        def bias(fan_in: float) -> Role:
            std = fan_in**-0.5 if self.settings["drawn_biases"] else None
            return Role("vector", width_out=ratio, std=std)

        roles = {
            "input.weight": Role("embedding", inputs, width_out=ratio, std=inputs**-0.5),
            "input.bias": bias(inputs),
            "output.weight": Role("output", self.width, width_in=ratio, std=0.0),
            "output.bias": Role("scalar"),
        }
        for i in range(len(self.hidden)):
            roles[f"hidden.{i}.weight"] = Role("hidden", self.width, ratio, ratio)
            roles[f"hidden.{i}.bias"] = bias(base_width)
        return roles

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, inputs) -> (B, classes)."""
        x = F.relu(self.input(x))
        for layer in self.hidden:
            x = F.relu(layer(x))
        # A batch has far more rows than there are classes: the multiplier is cheapest here.
        weight = scaled(self.output.weight, self.output_multiplier)
        return F.linear(x, weight, self.output.bias)
