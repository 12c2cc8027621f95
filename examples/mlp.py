"""muP for an MLP: the rate that is best at width 64 is best at width 512, where SP's is not.

python examples/mlp.py
widthwise check examples/mlp.py:make --recipe muP --lr 0.02
"""

import torch
import torch.nn.functional as F
from torch import nn

import widthwise as ww

BASE, WIDTHS, RATES = 64, (64, 512), (0.0025, 0.01, 0.04)


def make(width: int) -> nn.Module:
    """The module at a width, all else held fixed."""
    return nn.Sequential(
        nn.Linear(6, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 4)
    )


def batches(seed: int, count: int = 1) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """(inputs, targets), ...: which of four directions an input is nearest to."""
    generator = torch.Generator().manual_seed(seed)
    directions = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    inputs = torch.randn(count, 64, 6, generator=generator)
    return [(x, (x @ directions).tanh().argmax(-1)) for x in inputs]


def train(width: int, parametrization: str, lr: float) -> float:
    """The mean loss of the last of 60 steps."""
    torch.manual_seed(0)
    roles = ww.roles(make, BASE, batches(0)[0][0])
    model = make(width)
    plan = ww.plan(model, roles, ww.recipe(parametrization, optimizer="adam")).init_()
    optimizer = torch.optim.Adam(plan.groups(lr))
    losses = []
    for x, y in batches(1, count=60):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses[-20:]) / 20


if __name__ == "__main__":
    print(ww.roles(make, BASE, batches(0)[0][0]))
    for parametrization in ("SP", "muP"):
        for width in WIDTHS:
            losses = {lr: train(width, parametrization, lr) for lr in RATES}
            shown = "  ".join(f"{lr}: {loss:.3f}" for lr, loss in losses.items())
            best = min(losses, key=losses.__getitem__)
            print(f"{parametrization:4} width {width:4}  loss by rate  {shown}  best {best}")
