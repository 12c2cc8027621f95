"""A file of a user's: what the library's commands are given."""

import torch
from torch import nn

WIDTHS = [8, 16]
RATES = [2.0**-7, 2.0**-5, 2.0**-3]


def make(width):
    """A module of a width."""
    return nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 2))


def batches(seed):
    """Ten of 16 rows."""
    x = torch.randn(10, 16, 4, generator=torch.Generator().manual_seed(seed))
    return [(each, each[:, :2]) for each in x]
