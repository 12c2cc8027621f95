"""The mup package's examples, made small from a checkout of it."""

import ast
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks._checkouts import (
    BASE,
    HEAD_DIM,
    LAYERS,
    VOCABULARY,
    Made,
    cross_entropy,
    drawn,
    module,
    package,
    parts,
    text,
)


def scaled_by(mup: Any, sized: Callable[[int], nn.Module]) -> list[Callable[[int], nn.Module]]:
    """width -> a module by the package's rules, and the same without them."""

    def make(width: int) -> nn.Module:
        model = sized(width)
        mup.set_base_shapes(model, sized(BASE), delta=sized(2 * BASE))
        return model

    def plain(width: int) -> nn.Module:
        model = sized(width)
        mup.set_base_shapes(model, None)
        return model

    return [make, plain]


def labelled(*shape: int) -> Callable[[int], list]:
    """seed -> one batch of sixteen inputs of a shape, of ten classes."""

    def batches(seed: int) -> list:
        inputs = torch.randn(16, *shape, generator=drawn(seed))
        return [(inputs, torch.randint(10, (16,), generator=drawn(seed + 1)))]

    return batches


def mup_mlp(checkout: Path) -> Made:
    mup = package(checkout, "mup")

    arguments = types.SimpleNamespace(output_mult=1.0, init_std=1.0)
    known = {"nn": nn, "F": functional, "MuReadout": mup.MuReadout, "args": arguments}
    path = checkout / "examples" / "MLP" / "main.py"
    parts(path, lambda node: isinstance(node, ast.ClassDef) and node.name == "MLP", known)
    make, plain = scaled_by(mup, known["MLP"])

    def optimizer(model: nn.Module) -> torch.optim.Optimizer:
        return mup.MuSGD(model.parameters(), lr=0.1, momentum=0.9)

    return Made(make, optimizer, plain, labelled(3072), cross_entropy)


class Layers(nn.Module):
    """In place of torch's TransformerEncoder, which today passes layers more than theirs take."""

    def __init__(self, layers: nn.ModuleList) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, stream: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            stream = layer(stream, mask)
        return stream


def mup_transformer(kind: str, rate: float) -> Callable[[Path], Made]:
    """The example with the optimizer of that name at the rate of its readme, and two heads, as it
    has them; without dropout, whose noise would hide slopes. Plain: its `standparam`, with heads
    of one size, since muP divides the logits of heads that grow, which the module makes itself."""

    def build(checkout: Path) -> Made:
        mup = package(checkout, "mup")
        example = module(checkout / "examples" / "Transformer" / "model.py", "mup_transformer")
        arguments = types.SimpleNamespace(attn_mult=1, output_mult=1)

        def sized(width: int, heads: int = 2, **more: Any) -> nn.Module:
            model = example.TransformerModel(
                arguments, VOCABULARY, width, heads, width, LAYERS, dropout=0, bias=False, **more
            )
            model.transformer_encoder = Layers(model.transformer_encoder.layers)
            return model

        make, _ = scaled_by(mup, sized)

        def plain(width: int) -> nn.Module:
            return sized(width, width // HEAD_DIM, standparam=True)

        def optimizer(model: nn.Module) -> torch.optim.Optimizer:
            return getattr(mup, kind)(model.parameters(), lr=rate)

        def batches(seed: int) -> list:
            """A sequence a column, as the example has them."""
            return [(inputs.t().contiguous(), targets.t()) for inputs, targets in text(seed)]

        return Made(make, optimizer, plain, batches, cross_entropy)

    return build


def mup_resnet(checkout: Path) -> Made:
    """18 layers for CIFAR's size, the first of a quarter of the width, with MuSGD as the example
    has it."""
    mup = package(checkout, "mup")
    example = module(checkout / "examples" / "ResNet" / "resnet.py", "mup_resnet")

    def sized(width: int) -> nn.Module:
        return example.ResNet18(wm=width / (4 * BASE))

    make, plain = scaled_by(mup, sized)

    def optimizer(model: nn.Module) -> torch.optim.Optimizer:
        return mup.MuSGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)

    return Made(make, optimizer, plain, labelled(3, 32, 32), cross_entropy)
