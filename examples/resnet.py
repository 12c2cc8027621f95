"""A ResNet of torchvision's blocks: under muP, then widened as it trains, then set free by noise.

python examples/resnet.py
"""

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models.resnet import BasicBlock

import widthwise as ww

BASE = 8


def make(width: int) -> nn.Module:
    """Four stages of a block each; `width` channels in the first."""
    layers = [nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    before = width
    for channels in (width, 2 * width, 4 * width, 8 * width):
        stride, shortcut = 1, None
        if channels != before:
            stride = 2
            narrow = nn.Conv2d(before, channels, 1, stride, bias=False)
            shortcut = nn.Sequential(narrow, nn.BatchNorm2d(channels))
        layers.append(BasicBlock(before, channels, stride, shortcut))
        before = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 4))


def batches(seed: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """(images, which of four colours): noise over a colour."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(4, (16,), generator=generator)
    colours = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])[labels]
    return [(colours[:, :, None, None] + torch.randn(16, 3, 16, 16, generator=generator), labels)]


def steps(model: nn.Module, optimizer: torch.optim.Optimizer, count: int) -> list[float]:
    """The loss before each of so many steps on one batch."""
    x, y = batches(0)[0]
    losses = []
    for _ in range(count):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def shown(losses: list[float]) -> str:
    """Losses in a line."""
    return " ".join(f"{loss:.4f}" for loss in losses)


if __name__ == "__main__":
    torch.manual_seed(0)
    x, _ = batches(0)[0]
    roles = ww.roles(make, BASE, x)
    print(roles)
    model = make(BASE)
    optimizer = torch.optim.AdamW(ww.plan(model, roles, "muP").groups(lr=0.003), lr=0.003)
    print("narrow, first steps ", shown(steps(model, optimizer, 4)))

    wide, wide_optimizer, _ = ww.widen(model, optimizer, 2, lambda k: make(BASE * k), x)
    print("narrow, as it was   ", shown(steps(model, optimizer, 4)))
    print("wide, the same steps", shown(steps(wide, wide_optimizer, 4)))

    with torch.no_grad():  # copies of a unit stay equal until noise tells them apart
        for parameter in wide.parameters():
            if parameter.ndim > 1:
                parameter.add_(0.1 * parameter.std() * torch.randn_like(parameter))
    print("wide, set free      ", shown(steps(wide, wide_optimizer, 4)))
