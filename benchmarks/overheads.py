"""What pretraining spends besides training: evaluations and checkpoints, as shares of its time.

    uv run python benchmarks/overheads.py [--folder FOLDER]

reduced, measured: the first run of study `embedding_lr/pretraining` on one thread, its evaluations
and checkpoints timed inside the loop. A checkpoint counts as often as the loop writes one.
paper, computed: operations of the evaluations, a third of training's a token, over those of the
training steps; a checkpoint of 12 bytes a parameter (weights, Adam's moments) at the rate at which
this machine writes 1 GB into FOLDER, the temporary one by default.
"""

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from repro.cost.llm import pretraining_cost
from repro.data.needs import Tokens
from repro.suite import config, jobs, registry
from repro.suite.suite import Suite
from repro.tasks import TASKS, pretraining
from repro.training import device as devices
from repro.training import loop
from studies.embedding_lr.pretraining import STUDY as LONG
from studies.embedding_lr.pretraining_ratios import STUDY as SHORT

WORD_TOKENS = 300_000  # WikiText-2's test split under a vocabulary of 32,064, about


class Timed:
    """A function, and the seconds of each of its calls."""

    def __init__(self, function):
        self.function, self.seconds = function, []

    def __call__(self, *args, **kwargs):
        start = time.perf_counter()
        result = self.function(*args, **kwargs)
        self.seconds.append(time.perf_counter() - start)
        return result


def interval(seconds: float) -> float:
    """Seconds from one checkpoint to the next, by how long one takes."""
    return loop.checkpoint_interval(seconds)


def measured(scale: str) -> list[str]:
    """The row of a run carried out here."""
    suite = Suite(config.parse({"scale": scale}, registry.dataset_names()))
    cell = suite.cells("embedding_lr/pretraining")[0]
    for name in ("fineweb_edu", "wikitext2"):
        jobs.fetch(suite, name)
    for need in suite.needs(cell):
        if isinstance(need, Tokens):
            jobs.tokenize(suite, need)
    spec = cell.runs[0].spec
    device = devices.select("cpu", spec["threads"])
    loaded = pretraining.load_data(spec, suite.needs(cell), device)
    training = TASKS["pretraining"].build(spec, loaded, device)
    evaluate, save = Timed(training.evaluate), Timed(loop._save)
    original, loop._save = loop._save, save
    # A checkpoint a second or, where a run is shorter, a step: how often they come is computed.
    regular, loop.CHECKPOINT_SECONDS = loop.CHECKPOINT_SECONDS, 1.0 if scale != "smoke" else 0.0
    start = time.perf_counter()
    loop.train(
        replace(training, evaluate=evaluate),
        progress=lambda step, loss: None,
        checkpoint=Path("state"),
    )
    total = time.perf_counter() - start
    loop._save, loop.CHECKPOINT_SECONDS = original, regular
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
    """A row of the paper's scale; rate: bytes written a second."""
    cost, data, words = pretraining_cost(spec), spec["data"], spec["words"]
    tokens = data["validation_blocks"] * data["sequence_length"]
    if words:
        tokens += WORD_TOKENS * data["sequence_length"] / words["stride"]
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
    """Bytes a second of a checkpoint of that size."""
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
