"""Runs trained as one against the same runs one by one: milliseconds for a step of all of them.

    uv run python benchmarks/stacked.py [--model gpt2] [--device cuda] [--paper]

The models, settings and widths are those of `benchmarks/step.py`; the runs differ in learning rate
and read one random batch. Both ways train `--steps` steps, building the stack included, evaluations
and data left out, and take turns; times are the fastest of `--repeats`. "one by one / as one" is
the median over the turns, above 1 where it pays to stack. On a GPU, a run's step that takes longer
to compute than to launch gains nothing (`repro.cost.stack_size`).
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from benchmarks.step import MODELS, now, specs, with_batch
from repro.data.random_data import random_data
from repro.suite import arithmetic
from repro.suite.spec import override
from repro.tasks import TASKS
from repro.training import device as devices
from repro.training import loop, stacked
from repro.training.loop import Training

STACKED = [model for model in MODELS if model not in ("bart", "r2c2")]  # which have dropout


def trainings(task: str, spec: Mapping, runs: int, device: torch.device) -> list[Training]:
    """So many runs of a spec, each at a rate of its own."""
    data = random_data(spec, device)
    found = []
    for number in range(runs):
        training = TASKS[task].build(spec, data, device)
        for group in training.optimizer.param_groups:
            group["lr"] *= 0.9**number
        found.append(replace(training, evaluations=1, held_out=(), evaluate=None))
    return found


def silent(step: int, loss: float) -> None:
    """No progress."""


def seconds(as_one: bool, runs: Sequence[Training], device: torch.device) -> float:
    """What training the runs takes, built already."""
    with tempfile.TemporaryDirectory() as folder:
        states = [Path(folder) / str(number) for number in range(len(runs))]
        start = now(device)
        if as_one:
            stacked.fit(runs, progress=silent, checkpoints=states, finals=[None] * len(runs))
        else:
            for run, state in zip(runs, states, strict=True):
                loop.train(run, progress=silent, checkpoint=state)
        return now(device) - start


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=STACKED, default="mlp")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--paper", action="store_true", help="the paper's batch, length and widths")
    parser.add_argument("--batch", type=int, help="rows or sequences a step")
    parser.add_argument("--length", type=int, help="tokens of a sequence")
    parser.add_argument("--widths", type=float, nargs="+", help="some of the model's widths")
    parser.add_argument("--runs", type=int, nargs="+", default=[4, 16, 64], help="how many as one")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args(arguments)
    device = devices.select(args.device, threads=1)
    where = arithmetic.cpu_model() if device.type == "cpu" else devices.describe(device)
    print(f"{where}, torch {torch.__version__}, {args.precision}, {args.model}")
    columns = ["width", "runs", "ms one by one", "ms as one", "one by one / as one"]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    there = specs(args.model, args.paper)
    for width in args.widths or there:
        if width not in there:
            parser.error(f"--widths {width:g}: choose from {', '.join(f'{w:g}' for w in there)}")
        task, spec = there[width]
        changes = {"precision": args.precision, "threads": 1, "steps": args.steps}
        spec = with_batch(override(spec, changes), args.batch, args.length)
        for count in args.runs:
            times: dict[bool, list[float]] = {True: [], False: []}
            for _ in range(args.repeats):
                for as_one, spent in times.items():
                    runs = trainings(task, spec, count, device)
                    spent.append(1e3 * seconds(as_one, runs, device) / args.steps)
            ratio = statistics.median(b / a for a, b in zip(*times.values(), strict=True))
            alone, together = min(times[False]), min(times[True])
            print(
                f"| {width:g} | {count} | {alone:.1f} | {together:.1f} | {ratio:.2f} |", flush=True
            )


if __name__ == "__main__":
    main()
