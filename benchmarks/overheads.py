"""Time that pretraining spends on evaluations and checkpoints, as shares of its training time.

    uv run python benchmarks/overheads.py [--folder FOLDER]

reduced, measured: the first run of study `embedding_lr/pretraining` on one thread; its evaluations
and checkpoints are timed inside the loop. Checkpoints count as often as the loop would write them.
paper, computed: operations of evaluations (per token a third of training) over operations of
training; a checkpoint has 12 bytes per parameter (weights, Adam's moments) and is written at the
rate at which this machine writes 1 GB into FOLDER, by default a temporary folder.
"""

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from repro import backend
from repro.core import config, discovery
from repro.core.suite import Suite
from repro.cost.llm import pretraining_cost
from repro.data.needs import Tokens
from repro.tasks import TASKS, pretraining
from repro.training import loop
from repro.workflow import jobs
from studies.embedding_lr.pretraining import STUDY as LONG
from studies.embedding_lr.pretraining_ratios import STUDY as SHORT

WORD_TOKENS = 300_000  # about as many as WikiText-2's test split has with a vocabulary of 32,064


class Timed:
    """Wraps a function and keeps the seconds of each call."""

    def __init__(self, function):
        self.function, self.seconds = function, []

    def __call__(self, *args, **kwargs):
        start = time.perf_counter()
        result = self.function(*args, **kwargs)
        self.seconds.append(time.perf_counter() - start)
        return result


def interval(seconds: float) -> float:
    """Seconds between two checkpoints if writing one takes `seconds`."""
    return loop.checkpoint_interval(seconds)


def measured(scale: str) -> list[str]:
    """The table's row for a run trained on this machine."""
    suite = Suite(config.parse({"scale": scale}, discovery.dataset_names()))
    cell = suite.cells("embedding_lr/pretraining")[0]
    for name in ("fineweb_edu", "wikitext2"):
        jobs.fetch(suite, name)
    for need in suite.needs(cell):
        if isinstance(need, Tokens):
            jobs.tokenize(suite, need)
    spec = cell.runs[0].spec
    device = backend.select("cpu", spec["threads"])
    loaded = pretraining.load_data(spec, suite.needs(cell), device)
    training = TASKS["pretraining"].build(spec, loaded, device)
    timed = evaluate, save = Timed(loop.evaluate), Timed(loop.save)
    loop.evaluate, loop.save = timed
    # Checkpoints every second (smoke: every step), to time several in a short run; how often a real
    # run writes them is computed.
    regular, loop.CHECKPOINT_SECONDS = loop.CHECKPOINT_SECONDS, 1.0 if scale != "smoke" else 0.0
    start = time.perf_counter()
    loop.train(
        training,
        progress=lambda step, loss: None,
        checkpoint=Path("state"),
    )
    total = time.perf_counter() - start
    loop.evaluate, loop.save = (function.function for function in timed)
    loop.CHECKPOINT_SECONDS = regular
    evaluating, written = sum(evaluate.seconds), sum(save.seconds)
    one = written / len(save.seconds)
    stepping = total - evaluating - written
    return [
        f"pretraining, {scale}",
        "measured",
        f"{stepping:.1f} s",
        f"{len(evaluate.seconds)} x {evaluate.seconds[-1]:.2f} s",
        f"{evaluating / stepping:.1%}",
        f"{one:.2f} s every {interval(one):.0f} s",
        f"{one / interval(one):.2%}",
    ]


def computed(name: str, spec: Mapping, rate: float) -> list[str]:
    """The table's row at paper scale; rate: bytes written per second."""
    cost, data, text = pretraining_cost(spec), spec["data"], spec["data"]["text"]
    tokens = data["validation_blocks"] * data["sequence_length"]
    if text:
        tokens += WORD_TOKENS * data["sequence_length"] / text["stride"]
    evaluating = spec["evaluations"] * tokens / (3 * cost.seen)
    one = 12 * cost.parameters / rate
    return [
        f"{name}, paper",
        "computed",
        f"{cost.flops:.3g} operations",
        f"{spec['evaluations']} x {tokens / 1e6:.1f} M tokens",
        f"{evaluating:.3%}",
        f"{one:.0f} s every {interval(one):.0f} s",
        f"{one / interval(one):.2%}",
    ]


def write_rate(gigabytes: float) -> float:
    """Bytes per second when writing a checkpoint of that size."""
    state, path = {"tensor": torch.zeros(round(250_000_000 * gigabytes))}, Path("state.written")
    write = Timed(lambda: torch.save(state, path))
    write()
    sync = Timed(lambda: os.fsync(os.open(path, os.O_RDONLY)))
    sync()
    path.unlink()
    return gigabytes * 1e9 / (write.seconds[0] + sync.seconds[0])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", help="where checkpoints go")
    parser.add_argument("--scale", choices=("smoke", "reduced"), default="reduced")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="written, to measure the disk")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        with contextlib.chdir(folder):
            rate = write_rate(args.gigabytes)
            rows = [measured(args.scale)]
    rows += [computed("pretraining", LONG.spec, rate)]
    rows += [computed("pretraining_ratios", SHORT.spec, rate)]
    print(f"torch {torch.__version__}, writes {rate / 1e9:.2f} GB a second")
    print("| run | | training | evaluations | share | a checkpoint | share |")
    print("|---" * 7 + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
