"""What `widthwise.recipe` takes the optimizers of others for, and what the library's own coordinate
check then says of an MLP; writes the table of docs/optimizers.md.

Every class of torch.optim, timm.optim and pytorch_optimizer that is made of parameters and a rate
alone is looked at. Each that is taken is tuned at the least width, and checked at an eighth of that
rate.

    uv run --with pytorch_optimizer python -m benchmarks.optimizers [--write docs/optimizers.md]
"""

import argparse
import importlib
import importlib.metadata
import inspect
import math
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

import widthwise as ww
from benchmarks.calibration import BEGIN, END
from widthwise.errors import UserError

PACKAGES = {"torch.optim": "torch", "timm.optim": "timm", "pytorch_optimizer": "pytorch_optimizer"}
WIDTHS = (64, 128, 256)
RATES = [10.0 ** (-k / 2) for k in range(1, 10)]
STEPS, AFTER, SEEDS = 20, 6, 24  # of RAdam the first five steps are none
ABSTRACT = {"Optimizer", "BaseOptimizer"}


def make(width: int) -> nn.Module:
    """An MLP."""
    layers = nn.Linear(6, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
    return nn.Sequential(*layers, nn.Linear(width, 4))


def batches(seed: int) -> list:
    """One batch of 64 rows."""
    x = torch.randn(64, 6, generator=torch.Generator().manual_seed(seed))
    return [(x, x[:, :4])]


def classes() -> Iterator[tuple[str, Any]]:
    """(package, class) of all that are there."""
    for module in PACKAGES:
        try:
            found = importlib.import_module(module)
        except ImportError:
            continue
        for name, kind in sorted(vars(found).items()):
            is_one = inspect.isclass(kind) and issubclass(kind, torch.optim.Optimizer)
            if is_one and name not in ABSTRACT and name == kind.__name__:
                yield module, kind


def trained(optimizer: Any) -> Any:
    """An optimizer in the mode for training, where it has one."""
    getattr(optimizer, "train", lambda: None)()
    return optimizer


def best_rate(recipe: ww.Recipe) -> float:
    """The rate at which the narrow model's loss is lowest after STEPS steps."""
    losses = {}
    for rate in RATES:
        torch.manual_seed(0)
        model = make(WIDTHS[0])
        optimizer = trained(recipe.optimizer.kind(model.parameters(), lr=rate))
        for _ in range(STEPS):
            ((x, y),) = batches(0)
            optimizer.zero_grad()
            loss = (model(x) - y).square().mean()
            loss.backward()
            optimizer.step()
        losses[rate] = float(loss.detach()) if bool(loss.isfinite()) else math.inf
    return min(losses, key=lambda rate: losses[rate])


def judged(kind: Any) -> tuple[str, str]:
    """("right", "unclear" or "wrong", what it is taken for), or ("refused", why)."""
    try:
        recipe = ww.recipe("muP", kind)
    except UserError as error:
        why = str(error).partition(f"{kind.__qualname__}: ")[2]
        return "refused", why.partition(": choose")[0].partition(": give")[0]
    update = recipe.optimizer
    way = {True: "independent", False: "coupled", None: "a setting"}[update.decoupled]
    taken = f"{'Adam' if update.degree == 0 else 'SGD'}'s, {way}"
    if update.matrices is not None:
        return (
            "matrices",
            f"orthogonal matrices, width^{-update.matrix_lr:g}; for hidden ones alone",
        )
    rate = best_rate(recipe) / 8
    try:
        found = ww.coordinate_check(
            make,
            recipe,
            batches,
            WIDTHS,
            lr=rate,
            optimizer=lambda groups: trained(kind(groups, lr=rate)),
            after=AFTER,
            seeds=SEEDS,
            progress=lambda line: None,
        )
    except Exception as error:
        return "failed", f"{taken}: {type(error).__name__}: {error}"
    return found.verdict, taken if found.passed else f"{taken}: {found.reason}"


def main(words: list[str] | None = None) -> int:
    """Print a line a class, and counts; write the page's table where one is given. 1 where one is
    taken wrongly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="the page whose table is brought up to date")
    parser.add_argument("--only", default="", help="a part of the names of classes")
    arguments = parser.parse_args(words)
    torch.set_num_threads(1)
    counts: Counter[tuple[str, str]] = Counter()
    lines = ["| class | muP | taken for, or why not |", "|---|---|---|"]
    for module, kind in classes():
        if arguments.only not in kind.__name__:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            verdict, said = judged(kind)
        counts[module, verdict] += 1
        lines.append(f"| {module}.{kind.__name__} | {verdict} | {' '.join(said.split())} |")
        print(lines[-1].strip("| "), flush=True)
    counted = [
        f"{module} {importlib.metadata.version(PACKAGES[module])}: "
        + ", ".join(f"{n} {verdict}" for (of, verdict), n in sorted(counts.items()) if of == module)
        for module in dict.fromkeys(module for module, _ in counts)
    ]
    table = "\n".join([". ".join(counted) + ".", "", *lines])
    print(table)
    if arguments.write:
        page = arguments.write.read_text()
        before, _, rest = page.partition(BEGIN)
        arguments.write.write_text(before + BEGIN + table + "\n" + END + rest.partition(END)[2])
    return int(any(verdict == "wrong" for _, verdict in counts))


if __name__ == "__main__":
    raise SystemExit(main())
