"""Vision Transformer of Dinan, Yaida & Zhang (arXiv 2304.02034), I.0 and II.1.B: no class token.

Patches through one linear map (1.6), learned positions (1.7), pre-LN blocks without biases, LN
without affine parameters; the head's LN comes before the tokens are averaged (1.2 to 1.4, footnote
7). Inits are those of II.1.C, C in variance C / fan_in, uniform but for stem and head.
"""

from collections.abc import Mapping
from types import MappingProxyType

import torch
import torch.nn.functional as F
from torch import nn

from repro.errors import UserError
from repro.models.blocks import MLP, Attention, attention_scale
from repro.models.readout import scaled
from widthwise.parametrization import Role

ARCHITECTURE = {"class_name": "ViT", "head_dim_grows": True}
TINY = {
    "task": "image_classification",
    "widths": [32, 64, 128, 256],
    "lr": 0.02,
    "model": {
        "depth": 2,
        "heads": 2,
        "expansion": 4,
        "patch": 4,
        "resolution": 8,
        "classes": 4,
        "base_width": 32,
    },
    "data": {
        "batch_size": 32,
        "flip": False,
        "erasing": 0.0,
        "crop": None,
        "randaugment": None,
        "mixup": None,
        "cutmix": None,
        "evaluation_resize": None,
    },
    "factors": {},
    "schedule": {"name": "constant", "warmup": 0, "final_lr": 0.0},
    "label_smoothing": 0.0,
}

CHANNELS = 3
EPS = 1e-6
# II.1.C: C of the matrices, and the positions' standard deviation; a model may have others.
CONSTANTS = {"QKV": 1 / 2, "U": 1 / 3, "W": 2 / 5, "X": 8 / 5, "positions": 0.02}


class ViT(nn.Module):
    """Images (B, 3, resolution, resolution) -> logits (B, classes).

    patch: pixels along a patch's side. expansion: the paper's M. output_multiplier: factor on what
    the head reads. attention_multiplier: factor on attention's logits head_dim^-1/2 q.k.
    constants: initial constants in place of the paper's, by the names in CONSTANTS.
    Parameters hold no values until `Plan.init_` of `widthwise` draws them, except for
    the head's bias (0).
    Raises UserError where heads do not divide the width, or patches the image, and on a constant
    there is none of.
    """

    def __init__(
        self,
        *,
        width: int,
        depth: int,
        heads: int,
        expansion: int,
        patch: int,
        resolution: int,
        classes: int,
        base_width: float,
        output_multiplier: float,
        attention_multiplier: float,
        constants: Mapping[str, float] = MappingProxyType({}),
    ):
        super().__init__()
        if unknown := set(constants) - set(CONSTANTS):
            raise UserError(f"model: constants of {sorted(unknown)}: choose from {[*CONSTANTS]}")
        self.constants = CONSTANTS | dict(constants)
        if width % heads:
            raise UserError(f"width {width} is no multiple of {heads} heads")
        if resolution % patch:
            raise UserError(f"resolution {resolution} is no multiple of a patch of {patch} pixels")
        self.width, self.depth, self.expansion = width, depth, expansion
        self.patch, self.grid, self.classes = patch, resolution // patch, classes
        self.base_width, self.output_multiplier = base_width, output_multiplier
        self.patchify = nn.Linear(CHANNELS * patch**2, width, bias=False)
        self.positions = nn.Parameter(torch.empty(self.grid**2, width))
        head_dim = width // heads
        scale = attention_scale(head_dim, attention_multiplier)
        self.attention = nn.ModuleList(
            Attention(width, head_dim, scale, causal=False) for _ in range(depth)
        )
        self.mlp = nn.ModuleList(MLP(width, expansion) for _ in range(depth))
        self.head = nn.Linear(width, classes)
        nn.init.zeros_(self.head.bias)

    def roles(self) -> dict[str, Role]:
        """Parameter name -> Role."""
        n, m = self.width, self.expansion
        ratio = n / self.base_width
        n_patch = self.patchify.in_features

        def matrix(name: str, fan_in: int, fan_out: int) -> Role:
            std = (self.constants[name] / fan_in) ** 0.5
            return Role("hidden", fan_in, ratio, ratio, std, fan_out, "uniform")

        roles = {
            "patchify.weight": Role("embedding", n_patch, width_out=ratio, std=n_patch**-0.5),
            "positions": Role("embedding", width_out=ratio, std=self.constants["positions"]),
            "head.weight": Role("output", n, width_in=ratio, fan_out=self.classes),
            "head.bias": Role("scalar", fan_out=self.classes),
        }
        for i in range(self.depth):
            roles |= {
                f"attention.{i}.qkv.weight": matrix("QKV", n, n),
                f"attention.{i}.out.weight": matrix("U", n, n),
                f"mlp.{i}.up.weight": matrix("W", n, m * n),
                f"mlp.{i}.down.weight": matrix("X", m * n, n),
            }
        return roles

    def patches(self, images: torch.Tensor) -> torch.Tensor:
        """(B, 3, H, W) -> (B, T, 3 patch^2): rows of patches, each by channel, row, column."""
        B, g, p = len(images), self.grid, self.patch
        y = images.reshape(B, CHANNELS, g, p, g, p).permute(0, 2, 4, 1, 3, 5)
        return y.reshape(B, g * g, CHANNELS * p * p)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(B, 3, resolution, resolution) -> (B, classes)."""
        x_BTD = self.patchify(self.patches(images)) + self.positions
        for attention, mlp in zip(self.attention, self.mlp, strict=True):
            x_BTD = x_BTD + attention(self.norm(x_BTD))
            x_BTD = x_BTD + mlp(self.norm(x_BTD))
        return self.head(scaled(self.norm(x_BTD).mean(1), self.output_multiplier))

    def norm(self, x_BTD: torch.Tensor) -> torch.Tensor:
        """LayerNorm without affine parameters."""
        return F.layer_norm(x_BTD, (self.width,), eps=EPS)
