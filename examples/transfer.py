"""What is lost where the narrow model is tuned and the wide one trained: a table by recipe.

python examples/transfer.py
widthwise transfer examples/transfer.py:make muP SP --widths 32 256
"""

import torch
from torch import nn

import widthwise as ww

WIDTHS, RATES, STEPS = (32, 256), (0.005, 0.01, 0.02, 0.04, 0.08), 40


def make(width: int) -> nn.Module:
    """The module at a width, all else held fixed."""
    layers = [nn.Linear(8, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 1))


def batches(seed: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """(inputs, targets), ...: a network of four units that is to be learned."""
    fixed = torch.Generator().manual_seed(0)
    inward, outward = torch.randn(8, 4, generator=fixed), torch.randn(4, 1, generator=fixed)
    inputs = torch.randn(STEPS, 64, 8, generator=torch.Generator().manual_seed(seed))
    return [(x, (x @ inward).sin() @ outward) for x in inputs]


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(ww.transfer(make, ["muP", "SP"], batches, WIDTHS, tune={"lr": RATES}, seeds=3))
