"""muP as a careful user writes it into their own code, and little data to train on."""

# mypy: disable-error-code="union-attr,operator,arg-type"
# torch types an attribute of a module as Tensor | Module.

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

BASE = 64  # the base width of all
VOCABULARY = 32
WIDTHS = (BASE, 2 * BASE, 4 * BASE)


# Data: little of it, so that a width is larger than the number of things it has to tell apart.


def vectors(seed: int) -> list:
    """32 rows of 6 numbers, in 4 classes."""
    generator = torch.Generator().manual_seed(100 + seed)
    x = torch.randn(32, 6, generator=generator)
    return [(x, x[:, :4].argmax(1))]


def walks(seed: int) -> list:
    """4 sequences of 16 tokens and the next ones: random walks on a circle."""
    generator = torch.Generator().manual_seed(100 + seed)
    steps = torch.randint(1, 4, (4, 17), generator=generator)
    found = (steps.cumsum(1) + torch.arange(4)[:, None] * 8) % VOCABULARY
    return [(found[:, :-1], found[:, 1:])]


def images(seed: int) -> list:
    """16 pictures of 8 x 8 in 4 classes, each a pattern of its class and noise."""
    generator = torch.Generator().manual_seed(100 + seed)
    labels = torch.arange(16) % 4
    patterns = torch.randn(4, 3, 8, 8, generator=generator)
    return [(patterns[labels] + 0.5 * torch.randn(16, 3, 8, 8, generator=generator), labels)]


def rows(seed: int) -> list:
    """8 sequences of 8 rows of 6 numbers, in 4 classes."""
    generator = torch.Generator().manual_seed(100 + seed)
    x = torch.randn(8, 8, 6, generator=generator)
    return [(x, x.sum(1)[:, :4].argmax(1))]


# muP by hand: what a careful user writes into their own code.


@dataclass(frozen=True)
class Hand:
    """The choices of an implementation by hand; as they stand here they are muP for Adam.

    Each is a power of m, the width over the base width (attention: of head_dim). readout: factor on
    the logits. readout_std, embedding_std: beside a standard init. *_lr: beside the base's rate.
    """

    attention: float = -1.0
    frozen: bool = False
    queries: float = 0.0
    readout: float = 0.0
    readout_std: float = -0.5
    hidden_std: float = 0.0
    embedding_std: float = 0.0
    embedding_lr: float = 0.0
    hidden_lr: float = -1.0
    readout_lr: float = -1.0
    vector_lr: float = 0.0
    decay: float = 1.0

    def init_(self, model: nn.Module, m: float) -> None:
        """Draw a model's matrices afresh; a tied readout has the embedding's row."""
        for name, p in model.named_parameters():
            kind = kind_of(name, p)
            if kind == "embedding":
                fan_in = 1 if isinstance(_owner(model, name), nn.Embedding) else p[0].numel()
                nn.init.normal_(p, 0.0, fan_in**-0.5 * m**self.embedding_std)
            elif kind == "hidden":
                nn.init.normal_(p, 0.0, p[0].numel() ** -0.5 * m**self.hidden_std)
            elif kind == "readout":
                nn.init.normal_(p, 0.0, p.shape[1] ** -0.5 * m**self.readout_std)

    def groups(self, model: nn.Module, m: float, lr: float, weight_decay: float = 0.0) -> list:
        """A group a tensor: decay times rate does not depend on the width, if decay is 1."""
        powers = {
            "embedding": self.embedding_lr,
            "hidden": self.hidden_lr,
            "readout": self.readout_lr,
            "vector": self.vector_lr,
            "scalar": 0.0,
        }
        result = []
        for name, p in model.named_parameters():
            factor = m ** powers[kind_of(name, p)]
            decay = weight_decay * factor**-self.decay
            result.append({"params": [p], "lr": lr * factor, "weight_decay": decay})
        return result


def _owner(model: nn.Module, name: str) -> nn.Module:
    return model.get_submodule(name.rpartition(".")[0])


def kind_of(name: str, p: nn.Parameter) -> str:
    """By the names that the models of this file give their layers."""
    first = name.split(".")
    if p.ndim < 2:
        return "scalar" if name == "readout.bias" else "vector"
    if any(part in ("tokens", "positions", "entry") for part in first):
        return "embedding"
    return "readout" if "readout" in first else "hidden"


def by_hand(build: Callable[..., nn.Module], hand: Hand = Hand()) -> Callable[[int], nn.Module]:
    """`make` of a model with its initial values by hand."""

    def make(width: int) -> nn.Module:
        model = build(width, hand)
        hand.init_(model, width / BASE)
        return model

    return make


def optimizer_by_hand(
    hand: Hand, lr: float, kind: type = torch.optim.AdamW, weight_decay: float = 0.0, **more: Any
) -> Callable[[nn.Module], torch.optim.Optimizer]:
    """The optimizer that a user's own groups make."""

    def optimizer(model: nn.Module) -> torch.optim.Optimizer:
        return kind(hand.groups(model, model.width / BASE, lr, weight_decay), **more)

    return optimizer
