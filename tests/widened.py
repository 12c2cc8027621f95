"""An MLP of one's own, an optimizer for it, and both at a larger width."""

import torch

import widthwise
from benchmarks.zoo.small import times
from benchmarks.zoo.to_widen import ROWS, mlp


def adamw(model, **changes):
    """AdamW with an eps and a decay that are felt."""
    settings = {"lr": 0.01, "eps": 1e-3, "weight_decay": 0.1} | changes
    return torch.optim.AdamW(model.parameters(), **settings)


def widen_mlp(model, optimizer=None, factor=2, **options):
    """What `widen` returns of an `mlp`, which its outputs on ROWS are held against."""
    return widthwise.widen(model, optimizer, factor, times(mlp), ROWS, **options)


def pair(**changes):
    """An `mlp` of width 8 in float64, and its optimizer."""
    model = mlp(8).double()
    return model, adamw(model, **changes)
