"""ResNet-18 for 32x32 images with a width multiplier (Ma et al., Appendix F.2).

He et al. (arXiv 1512.03385): two basic blocks in each of four stages; a 3x3 stem with stride 1 and
no max-pooling. Convolutions start from N(0, 1 / fan_in), as Table 2 has it and the released code;
the readout at zero.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import nn

from repro.errors import UserError
from repro.models.readout import scaled
from widthwise.parametrization import Role

ARCHITECTURE = {"class_name": "ResNet"}
TINY = {
    "task": "warm_start",
    "widths": [0.0625, 0.125, 0.25],
    "lr": 0.02,
    "model": {"classes": 4, "base_width": 0.0625},
    "data": {"batch_size": 32, "resolution": 8},
    "start": None,
}

CHANNELS = (64, 128, 256, 512)


def _conv(inputs: int, outputs: int, size: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut, 1x1 where the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1 = _conv(inputs, outputs, 3, stride)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = _conv(outputs, outputs, 3, 1)
        self.norm2 = nn.BatchNorm2d(outputs)
        changes = stride != 1 or inputs != outputs
        self.shortcut = _conv(inputs, outputs, 1, stride) if changes else None
        self.shortcut_norm = nn.BatchNorm2d(outputs) if changes else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, inputs, H, W) -> (B, outputs, H / stride, W / stride)."""
        y = F.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        if self.shortcut is not None and self.shortcut_norm is not None:
            x = self.shortcut_norm(self.shortcut(x))
        return F.relu(x + y)


class ResNet(nn.Module):
    """Images (B, 3, H, W) -> logits (B, classes).

    width: multiplier of the stages' 64, 128, 256 and 512 channels, or one for each stage.
    Parameters hold no values until `Plan.init_` of `widthwise` draws them, except for
    BatchNorm's (1 and 0) and the readout's bias (0).
    Raises UserError where a multiplier gives no whole number of channels.
    """

    def __init__(
        self,
        *,
        classes: int,
        width: float | Sequence[float],
        base_width: float,
        output_multiplier: float,
    ):
        super().__init__()
        widths = tuple(width) if isinstance(width, Sequence) else (width,) * len(CHANNELS)
        exact = [c * w for c, w in zip(CHANNELS, widths, strict=True)]
        if any(c != int(c) or c < 1 for c in exact):
            raise UserError(f"width {width}: {exact} are no whole numbers of channels")
        channels = [int(c) for c in exact]
        self.classes, self.widths, self.base_width = classes, widths, base_width
        self.output_multiplier = output_multiplier
        self.stem = _conv(3, channels[0], 3, 1)
        self.stem_norm = nn.BatchNorm2d(channels[0])
        blocks, inputs = [], channels[0]
        for stage, outputs in enumerate(channels):
            for i in range(2):
                blocks.append(Block(inputs, outputs, 2 if stage and not i else 1))
                inputs = outputs
        self.blocks = nn.ModuleList(blocks)
        self.output = nn.Linear(inputs, classes)
        nn.init.zeros_(self.output.bias)

    def wider(self, factor: int | Sequence[int]) -> "ResNet":
        """The same network, uninitialized, `factor` times as wide, or one factor a stage."""
        factors = factor if isinstance(factor, Sequence) else (factor,) * len(self.widths)
        return ResNet(
            classes=self.classes,
            width=tuple(w * k for w, k in zip(self.widths, factors, strict=True)),
            base_width=self.base_width,
            output_multiplier=self.output_multiplier / factors[-1],
        )

    def roles(self) -> dict[str, Role]:
        """Parameter name -> Role."""
        ratios = [w / self.base_width for w in self.widths]
        roles = {
            "stem.weight": Role("embedding", 27, width_out=ratios[0], std=27**-0.5),
            "output.weight": Role("output", self.output.in_features, width_in=ratios[-1], std=0.0),
            "output.bias": Role("scalar"),
        }
        for name, module in self.named_modules():
            if isinstance(module, nn.BatchNorm2d):
                stage = 0 if name == "stem_norm" else int(name.split(".")[1]) // 2
                roles[f"{name}.weight"] = roles[f"{name}.bias"] = Role(
                    "vector", width_out=ratios[stage]
                )
            elif isinstance(module, nn.Conv2d) and name != "stem":
                # Two blocks a stage. A block's first convolution and its shortcut read the width of
                # the block before; everything else reads and writes the block's own.
                index = int(name.split(".")[1])
                first = name.endswith(("conv1", "shortcut"))
                into = ratios[max(index - 1, 0) // 2] if first else ratios[index // 2]
                fan_in = module.weight[0].numel()
                roles[f"{name}.weight"] = Role("hidden", fan_in, into, ratios[index // 2])
        return roles

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, 3, H, W) -> (B, classes)."""
        x = F.relu(self.stem_norm(self.stem(x)))
        for block in self.blocks:
            x = block(x)
        return self.output(scaled(x.mean((2, 3)), self.output_multiplier))
