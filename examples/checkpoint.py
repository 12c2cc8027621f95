"""A checkpoint is widened, set free by noise, saved and resumed.

python examples/checkpoint.py
"""

import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

import widthwise as ww

WIDTH, FACTOR = 32, 2


def make(factor: int) -> nn.Module:
    """The module, `factor` times as wide, all else held fixed."""
    n = WIDTH * factor
    return nn.Sequential(nn.Linear(8, n), nn.ReLU(), nn.Linear(n, n), nn.ReLU(), nn.Linear(n, 1))


def train(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int, seed: int) -> float:
    """The last loss: a network of four units is learned, on batches of the seed."""
    fixed = torch.Generator().manual_seed(0)
    inward, outward = torch.randn(8, 4, generator=fixed), torch.randn(4, 1, generator=fixed)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        x = torch.randn(64, 8, generator=generator)
        loss = F.mse_loss(model(x), (x @ inward).sin() @ outward)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def save(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """One file with both states."""
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)


if __name__ == "__main__":
    torch.manual_seed(0)
    narrow, wide_file = (Path(tempfile.mkdtemp()) / name for name in ("narrow.pt", "wide.pt"))
    model = make(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    print(f"narrow, trained        {train(model, optimizer, 50, seed=1):.4f}")
    save(narrow, model, optimizer)

    saved = torch.load(narrow)
    model = make(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    wide, its_optimizer, growth = ww.widen(model, optimizer, FACTOR, make, torch.randn(16, 8))
    print(f"narrow, 20 steps more  {train(model, optimizer, 20, seed=2):.4f}")
    print(f"wide, the same steps   {train(wide, its_optimizer, 20, seed=2):.4f}")

    ww.perturb(wide, growth, level=0.1, generator=torch.Generator().manual_seed(3))
    save(wide_file, wide, its_optimizer)
    print(f"wide, set free         {train(wide, its_optimizer, 20, seed=4):.4f}")

    saved, again = torch.load(wide_file), make(FACTOR)
    again.load_state_dict(saved["model"])
    resumed = ww.resume(torch.optim.AdamW, again, saved["optimizer"])
    print(f"wide, resumed          {train(again, resumed, 20, seed=4):.4f}")
