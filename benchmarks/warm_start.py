"""Training step of the paper's MLP compared with plain PyTorch, on the same CPU in one run.

    uv run python benchmarks/warm_start.py [--threads 2 --rounds 8 --widths 100 400 2000]

Ma et al. (arXiv 2602.10545), Appendix F.1: 464,809 rows of 54 features, batch 2000. Ours is
`repro.training.loop` over `ArrayBatches` under muP; plain is an `nn.Sequential` with torch's stock
optimizer over a shuffling `DataLoader` of a `TensorDataset` with two workers. The two take turns
in short rounds, so that other work on the machine slows both. Each round starts with a few untimed
steps, which use up the batches that workers had ready. Wall times are those of the fastest round;
processor times, including workers, of the median round: they count when jobs fill all cores.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import psutil
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from repro import backend
from repro.core.spec import lookup, override
from repro.data.batches import ArrayBatches
from repro.data.loading import Data
from repro.tasks import TASKS
from repro.training import loop
from studies.upscaling._mlp import ADAMW, SGD, SPEC

ROWS, INPUTS, CLASSES = 464_809, lookup(SPEC, "model.inputs"), lookup(SPEC, "model.classes")
BATCH, LR = lookup(SPEC, "data.batch_size"), 0.001
WORKERS, UNTIMED = 2, 5  # four batches are ready, two per worker
STEPS = {100: 40, 400: 20, 2000: 3}  # width -> steps per round


def table(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Random features and labels."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((rows, INPUTS), dtype=np.float32)
    return features, rng.integers(0, CLASSES, rows)


class Running:
    """Batches that continue where the loop's last call stopped."""

    def __init__(self, batches: ArrayBatches):
        self.source = batches.from_step(0)

    def from_step(self, step: int):
        return self.source


def ours(width: int, optimizer: dict, features: np.ndarray, labels: np.ndarray) -> Callable:
    """A function: number of steps -> seconds that the suite's loop takes for them."""
    spec = override(SPEC, {"model.width": width, "optimizer": optimizer, "lr": LR})
    rows = ArrayBatches("random", features, labels, BATCH, 0, torch.device("cpu"))
    training = TASKS["warm_start"].build(spec, Data(Running(rows)), "cpu")

    def run(steps: int) -> float:
        timed = replace(training, steps=steps, evaluations=1, held_out=(), evaluate=None)
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            loop.train(timed, progress=lambda step, value: None, checkpoint=Path(folder) / "state")
            return time.perf_counter() - start

    return run


def plain(width: int, optimizer: dict, features: np.ndarray, labels: np.ndarray) -> Callable:
    """A function: number of steps -> seconds that stock torch takes for them."""
    hidden = [layer for _ in range(2) for layer in (nn.Linear(width, width), nn.ReLU())]
    net = nn.Sequential(nn.Linear(INPUTS, width), nn.ReLU(), *hidden, nn.Linear(width, CLASSES))
    kind = torch.optim.SGD if optimizer["name"] == "sgd" else torch.optim.AdamW
    stock = kind(net.parameters(), lr=LR, weight_decay=optimizer["weight_decay"])
    dataset = TensorDataset(torch.from_numpy(features), torch.from_numpy(labels))
    loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=WORKERS, drop_last=True)
    source = forever(loader)

    def run(steps: int) -> float:
        start, total = time.perf_counter(), 0.0
        for inputs, targets in (next(source) for _ in range(steps)):
            stock.zero_grad()
            value = F.cross_entropy(net(inputs), targets)
            value.backward()
            stock.step()
            total += value.item()
        return time.perf_counter() - start

    return run


def forever(loader: DataLoader):
    """One epoch after another."""
    while True:
        yield from loader


def processor_seconds(with_workers: bool) -> float:
    """Seconds of processor time so far, of this process and, if asked for, its running children."""
    this = psutil.Process()
    times = [p.cpu_times() for p in (this, *(this.children() if with_workers else ()))]
    return sum(t.user + t.system for t in times)


def compete(contenders, steps: int, rounds: int) -> list[tuple[float, float]]:
    """(wall, processor) milliseconds per step of each contender."""
    found: list[tuple[list[float], list[float]]] = [([], []) for _ in contenders]
    for _ in range(rounds):
        for run, (wall, processor), workers in zip(contenders, found, (False, True), strict=True):
            run(min(steps, UNTIMED))
            start = processor_seconds(workers)
            wall.append(run(steps))
            processor.append(processor_seconds(workers) - start)
    return [
        (1e3 * min(wall) / steps, 1e3 * statistics.median(processor) / steps)
        for wall, processor in found
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2, help="torch's, of both contenders")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--steps", type=int, help="a round, by default more at smaller widths")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--widths", type=int, nargs="+", default=[*STEPS])
    args = parser.parse_args(arguments)
    device = backend.select("cpu", args.threads)
    features, labels = table(args.rows)
    print(f"{backend.describe(device)}, torch {torch.__version__}, {args.threads} threads")
    print(
        "| width | optimizer | ours, ms a step | plain | plain / ours | ours, processor ms | plain "
        "| plain / ours |"
    )
    print("|---" * 8 + "|")
    for width in args.widths:
        for optimizer in (SGD, ADAMW):
            contenders = [make(width, optimizer, features, labels) for make in (ours, plain)]
            steps = args.steps or STEPS.get(width, 10)
            mine, other = compete(contenders, steps, args.rounds)
            pairs = zip(mine, other, strict=True)
            # Processor time is counted in ticks of 10 ms: a few tiny steps may take none.
            cells = (f"{a:.1f} | {b:.1f} | {f'{b / a:.2f}' if a else '-'}" for a, b in pairs)
            print(f"| {width} | {optimizer['name']} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
