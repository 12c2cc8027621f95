"""Training step of a model: its FLOP/s as a share of this machine's measured matmul peak.

    uv run python benchmarks/step.py [--model gpt2] [--device cuda --precision bfloat16 --paper]

A run of a study is built as the suite builds it, then timed on one random batch, repeatedly.
decoder: the first paper's transformer. llm: one block of the decoder of its Table 3, between an
embedding and an output of 256 entries, 1,024 tokens a step. mlp, resnet, gpt2: the settings of
study `upscaling/<model>` (MLP: with AdamW) at its widths. vit, bart, r2c2: those of the third
paper, standard strategy. `--paper` takes the paper's batch, length and widths in place of the
reduced ones (llm: 4 sequences of 4,096 tokens); `--batch` and `--length` cut what does not fit;
`--vocabulary` sets the size of one.
Microbatches are as large as the study's, sequences have maximum length. Memory: on CUDA, the most
that torch allocated.
One thread and the default arithmetic, as in the workflow's jobs (`repro.lineage.arithmetic`); other
precisions than float32 are refused on a CPU, which has no fast kernels for them under it.
Times are the fastest of `--repeats` (of two if a step takes 5 s); on a CPU the process' own time,
which is wall time if nothing else runs. The peak is the best of several square float32 (on CUDA:
bfloat16) matrix products. "plain" is a model of the same shapes as a user would write or import it
(`benchmarks/_plain.py`), which takes turns with ours; "plain / ours" is the median over the turns,
above 1 where ours is faster. The last columns are the
profiler's self time by kind of operator.
"""

import argparse
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from repro.lineage import arithmetic

if notice := arithmetic.apply(arithmetic.DEFAULT):  # before torch reads the environment
    print(notice, file=sys.stderr)

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from benchmarks import _plain
from benchmarks._peak import matmul_peak
from repro import backend
from repro.core import config, discovery
from repro.core.spec import lookup, override
from repro.core.suite import Suite
from repro.cost import Layout
from repro.data.random_data import random_data
from repro.tasks import TASKS
from repro.training import distributed, loop, ranks
from repro.training.loop import Batches, Training
from studies.embedding_lr import _decoder, _llm

GROUPS = {
    "matmul": ("aten::mm", "aten::addmm", "aten::bmm", "convolution"),
    "attention": ("scaled_dot_product", "flash_atten"),
    "softmax, GELU, norm": ("softmax", "gelu", "layer_norm", "nll_loss", "batch_norm"),
    "dropout": ("bernoulli", "dropout"),
    "optimizer": ("Optimizer", "_fused_adam", "_fused_sgd", "_foreach"),
}


Stepper = Callable[[int], None]  # takes so many steps


def synchronize(device: torch.device) -> None:
    """Wait for queued work on CUDA."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def now(device: torch.device) -> float:
    """Seconds on the process' own clock on a CPU; on CUDA, of the wall, when all work is done."""
    if device.type == "cpu":
        return time.process_time()
    synchronize(device)
    return time.perf_counter()


class Turns:
    """Batches for our loop; after every `count` of them it is the plain model's turn.

    ours, plain: seconds a step in each turn. The loop asks for a batch when a step is done, so what
    it does once a run is in none of them.
    """

    def __init__(self, batches: Batches, plain: Stepper | None, device: torch.device, count: int):
        self.batches, self.step, self.device, self.count = batches, plain, device, count
        self.ours: list[float] = []
        self.plain: list[float] = []

    def from_step(self, step: int) -> Iterator[tuple[torch.Tensor, ...]]:
        """Those of `batches`."""
        source = self.batches.from_step(step)
        while True:
            start = now(self.device)
            yield from islice(source, self.count)
            end = now(self.device)
            self.ours.append((end - start) / self.count)
            if self.step:
                self.step(self.count)
                self.plain.append((now(self.device) - end) / self.count)


UPSCALING_STAGES = ("tune", "tune_upscaled", "base", "scratch")
STAGES = {
    "mlp": [f"upscaling/mlp_adamw/{stage}" for stage in UPSCALING_STAGES],
    "resnet": [f"upscaling/resnet/{stage}" for stage in UPSCALING_STAGES],
    "gpt2": [f"upscaling/gpt2/{stage}" for stage in UPSCALING_STAGES],
    "vit": ["effective_theory/vit/standard_search"],
    "bart": ["effective_theory/bart/standard"],
    "r2c2": ["effective_theory/r2c2"],
}
MODELS = ("decoder", "llm", *STAGES)
# What a stage takes from an earlier one is not known here: the base, and a rate.
FROM_SCRATCH = {"start": None, "lr": 0.001}


def specs(model: str, paper: bool) -> dict[float, tuple[str, Mapping]]:
    """Width -> (task, spec) of the model's runs, the narrowest first."""
    if model == "decoder":
        base = override(_decoder.PAPER, {} if paper else _decoder.REDUCED)
        sizes = range(8, 13) if paper else range(5, 10)
        return {2**k: ("language_model", override(base, _decoder.size(k))) for k in sizes}
    if model == "llm":
        block = {"model.depth": 1, "data.vocab_size": 256, "microbatches": 1}
        block |= {"data.batch_size": 4} if paper else {"data.batch_size": 1}
        block |= {} if paper else {"data.sequence_length": 1_024}
        return {lookup(_llm.PAPER, "model.width"): ("pretraining", override(_llm.PAPER, block))}
    scale = {"scale": "paper" if paper else "reduced"}
    suite = Suite(config.parse(scale, discovery.dataset_names()))
    runs = [run for stage in STAGES[model] for cell in suite.cells(stage) for run in cell.runs]
    found = {run.spec["model"]["width"]: run for run in runs}
    return {
        width: (run.task, override(run.spec, FROM_SCRATCH) if "start" in run.spec else run.spec)
        for width, run in sorted(found.items())
    }


def with_batch(spec: Mapping, rows: int | None, length: int | None) -> dict:
    """A spec with another batch size or sequence length, and microbatches of the same size.

    None changes nothing. Raises KeyError on a length if the task's samples have none.
    """
    data = "data." if "data" in spec else ""
    changes = {f"{data}batch_size": rows, f"{data}sequence_length": length}
    if rows and data:
        changes["microbatches"] = math.ceil(
            rows * spec["microbatches"] / spec["data"]["batch_size"]
        )
    return override(spec, {key: value for key, value in changes.items() if value})


def train_steps(training: Training, count: int, batches: Batches) -> None:
    """Train so many steps of a run on other batches, and evaluate nothing."""
    timed = replace(training, steps=count, batches=batches, schedule=None)
    timed = replace(timed, evaluations=1, held_out=(), evaluate=None)
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        loop.train(timed, progress=lambda step, value: None, checkpoint=state)


def time_steps(
    training: Training,
    plain: Stepper | None,
    device: torch.device,
    repeats: int,
    repeat_seconds: float,
) -> Turns:
    """Both models' turns, of `repeat_seconds` each."""
    once = Turns(training.batches, plain, device, 1)
    train_steps(training, 4, once)
    count = max(1, min(20, round(repeat_seconds / min(once.ours))))
    turns = Turns(training.batches, plain, device, count)
    train_steps(training, count * (repeats if min(once.ours) < 5 else 2) + 1, turns)
    return turns


def measure(
    training: Training,
    plain: Stepper | None,
    device: torch.device,
    repeats: int,
    repeat_seconds: float,
) -> tuple[list[float], list[float], dict[str, float]]:
    """(seconds per step in each turn, those of `plain`, group of operators -> share of time)."""
    turns = time_steps(training, plain, device, repeats, repeat_seconds)
    on_gpu = device.type == "cuda"
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with profile(activities=activities) as profiler:
        train_steps(training, turns.count, training.batches)
    spent = {name: 0.0 for name in GROUPS} | {"other": 0.0}
    for event in profiler.key_averages():
        name = next((g for g, keys in GROUPS.items() if any(k in event.key for k in keys)), "other")
        if (
            event.device_type == DeviceType.CPU
        ):  # a kernel's own entry says what its operator's does
            spent[name] += event.self_device_time_total if on_gpu else event.self_cpu_time_total
    total = sum(spent.values())
    return turns.ours, turns.plain, {name: value / total for name, value in spent.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, default="decoder")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--paper", action="store_true", help="the paper's batch, length and widths")
    parser.add_argument("--batch", type=int, help="rows or sequences a step")
    parser.add_argument("--length", type=int, help="tokens of a sequence")
    parser.add_argument("--vocabulary", type=int, help="entries, in place of the study's")
    parser.add_argument("--widths", type=float, nargs="+", help="some of the model's widths")
    parser.add_argument("--compile", action="store_true", help="by torch.compile, both models")
    parser.add_argument("--repeats", type=int, default=5, help="of which the fastest counts")
    parser.add_argument("--repeat-seconds", type=float, default=0.5, help="a repeat takes, about")
    args = parser.parse_args(arguments)
    if args.device == "cpu" and args.precision != "float32":
        parser.error(f"--precision {args.precision}: on a CPU jobs take float32; add --device cuda")
    device = backend.select(args.device, threads=1)
    there = specs(args.model, args.paper)
    best = matmul_peak(device.type, 40, partial(now, device))
    where = arithmetic.cpu_model() if device.type == "cpu" else backend.describe(device)
    print(f"{where}, torch {torch.__version__}, {args.precision}, {args.model}")
    print(f"matmul peak {best / 1e9:.1f} GFLOP/s")
    titles = "width,parameters,ms a step,plain ms,plain / ours,read a second,GFLOP/s,of peak"
    columns = [*titles.split(","), "plain of peak", "memory GB", *GROUPS, "other"]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for width in args.widths or there:
        if width not in there:
            parser.error(f"--widths {width:g}: choose from {', '.join(f'{w:g}' for w in there)}")
        name, spec = there[width]
        spec = override(spec, {"precision": args.precision, "threads": 1})
        spec = with_batch(spec, args.batch, args.length)
        if args.vocabulary:
            spec = override(spec, {"data.vocab_size": args.vocabulary})
        task = TASKS[name]
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        training = task.build(spec, random_data(spec, device), device)
        batch = next(iter(training.batches.from_step(0)))
        if args.compile:  # once, before the loops of `measure`
            with ranks.laid_out(Layout(compile=True)):
                distributed.prepare(training.model)
        plain = _plain.stepper(spec, batch, device, args.compile)
        ours, theirs, split = measure(training, plain, device, args.repeats, args.repeat_seconds)
        step = min(ours)
        ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True)) if theirs else 0
        beside = f"{min(theirs) * 1e3:.1f} | {ratio:.2f}" if theirs else "- | -"
        cost = task.cost(override(spec, {"steps": 1}))
        flops, seen = cost.flops / step, cost.seen / step
        plain_share = f"{cost.flops / min(theirs) / best:.0%}" if theirs else "-"
        held = torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else None
        memory = "-" if held is None else f"{held:.1f}"
        size = sum(p.numel() for p in training.model.parameters())
        shares = " | ".join(f"{share:.0%}" for share in split.values())
        print(
            f"| {width:g} | {size:,} | {step * 1e3:.1f} | {beside} | {seen:,.0f} {cost.unit} "
            f"| {flops / 1e9:.1f} | {flops / best:.0%} | {plain_share} | {memory} "
            f"| {shares} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
