"""Modules of torch.nn, and layers with updates of low rank."""

import re
from typing import Any

import torch
from torch import nn

from benchmarks.zoo.hugging_face import CAUSAL
from benchmarks.zoo.inputs import BOTH, FRAMES, ONE_WAY, Make, Row, sizes, tokens


class Sequences(nn.Module):
    """Frames -> an inner module of torch.nn -> a readout."""

    def __init__(self, inner: nn.Module, width: int, out: int):
        super().__init__()
        self.first, self.inner, self.readout = nn.Linear(32, width), inner, nn.Linear(out, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, 32) -> (B, T, 5)."""
        x = self.first(x)
        x = self.inner(x, x) if isinstance(self.inner, nn.Transformer) else self.inner(x)
        return self.readout(x[0] if isinstance(x, tuple) else x)


def _encoder(k: int, grow: str) -> nn.Module:
    width, heads, _ = sizes(k, grow)
    layer = nn.TransformerEncoderLayer(width, heads, 2 * width, batch_first=True)
    return Sequences(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), width, width)


def _transformer(k: int, grow: str) -> nn.Module:
    width, heads, _ = sizes(k, grow)
    return Sequences(nn.Transformer(width, heads, 1, 1, 2 * width, batch_first=True), width, width)


def recurrent(kind: type, factor: int = 1, **settings: Any) -> Make:
    """A recurrent network of torch.nn's."""

    def make(k: int, grow: str) -> nn.Module:
        width = 16 * k
        given = {key: value * k if key == "proj_size" else value for key, value in settings.items()}
        out = given.get("proj_size", width) * factor
        return Sequences(kind(width, width, batch_first=True, **given), width, out)

    return make


class LowRank(nn.Module):
    """A linear layer with an update of low rank; magnitude: of DoRA's, a length a row."""

    def __init__(self, layer: nn.Linear, rank: int, magnitude: bool):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, layer.in_features) * layer.in_features**-0.5)
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))
        self.magnitude = nn.Parameter(layer.weight.detach().norm(dim=1)) if magnitude else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., in) -> (..., out)."""
        if self.magnitude is None:
            return self.layer(x) + x @ self.down.T @ self.up.T
        weight = self.layer.weight + self.up @ self.down
        weight = self.magnitude[:, None] * weight / weight.norm(dim=1, keepdim=True)
        return nn.functional.linear(x, weight, self.layer.bias)


def lora(inner: Make, pattern: str, growing: bool = False, magnitude: bool = False) -> Make:
    """A model whose layers of a name's end have updates of low rank, as peft's."""

    def make(k: int, grow: str) -> nn.Module:
        model = inner(k, grow)
        found = [(n, m) for n, m in model.named_modules() if isinstance(m, nn.Linear)]
        for name, layer in found:
            if re.search(pattern, name):
                owner, _, last = name.rpartition(".")
                rank = 4 * (k if growing else 1)
                setattr(model.get_submodule(owner), last, LowRank(layer, rank, magnitude))
        return model

    return make


TORCH: dict[str, Row] = {
    "TransformerEncoder": (_encoder, FRAMES, BOTH),
    "nn.Transformer": (_transformer, FRAMES, BOTH),
    "LSTM": (recurrent(nn.LSTM), FRAMES, ONE_WAY),
    "LSTM, projected": (recurrent(nn.LSTM, proj_size=8), FRAMES, ONE_WAY),
    "GRU": (recurrent(nn.GRU), FRAMES, ONE_WAY),
    "RNN": (recurrent(nn.RNN), FRAMES, ONE_WAY),
    "GRU, both ways": (recurrent(nn.GRU, 2, bidirectional=True), FRAMES, ONE_WAY),
    "LoRA, llama": (lora(CAUSAL["llama"], r"[qv]_proj"), tokens, BOTH),
    "LoRA, llama, rank grows": (lora(CAUSAL["llama"], r"[qv]_proj", True), tokens, BOTH),
    "LoRA, phi": (lora(CAUSAL["phi"], r"[qv]_proj"), tokens, BOTH),
    "DoRA, llama": (lora(CAUSAL["llama"], r"[qv]_proj", False, True), tokens, BOTH),
}
