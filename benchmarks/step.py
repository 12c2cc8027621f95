"""Training step of a model: achieved FLOP/s over the machine's own measured matmul peak.

    uv run python benchmarks/step.py [--model gpt2] [--device cuda --precision bfloat16 --paper]

decoder: the first paper's transformer. llm: one block of the decoder of its Table 3, between an
embedding and an output of 256 entries, 1,024 tokens a step. mlp, resnet, gpt2: the settings of
study `upscaling/<model>` (MLP: with AdamW) at its widths, on random data. vit, bart, r2c2: those of
the third paper. `--paper` takes the paper's batch, length and widths in place of the reduced ones
(llm: 4 sequences of 4,096 tokens); `--batch` cuts a batch that does not fit. Batches go through in
the parts the study states, sequences are as long as they may be. Memory: on CUDA, the most that
torch held.
One thread, as the workflow's jobs run. Times are the fastest of five repeats, two where a step
takes 5 s; on a CPU the process's own time, which is wall time where nothing else runs. The peak is
the best of several square float32 (on CUDA: bfloat16) products. The split is of the profiler's
self time over the step's operators.
"""

import argparse
import itertools
import math
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from repro import models, parametrization
from repro.cost import Cost
from repro.cost.bart import denoising_vocabulary_size, span_denoising_cost
from repro.cost.decoder import language_model_cost
from repro.cost.llm import pretraining_cost
from repro.cost.vit import image_classification_cost
from repro.cost.warm_start import warm_start_cost
from repro.data.batches import ArrayBatches, TokenBatches
from repro.data.denoising import FIRST, PADDING
from repro.data.recipe import cross_entropy
from repro.parametrization import KINDS
from repro.suite import config, registry
from repro.suite.budget import matmul_peak
from repro.suite.spec import override
from repro.suite.suite import Suite
from repro.tasks import image_classification, pretraining, span_denoising
from repro.tasks.language_model import build_model
from repro.training import clipping, loop
from repro.training import device as devices
from repro.training.evaluation import loss
from repro.training.optimizer import make_groups, make_optimizer
from studies.embedding_lr._decoder import ADAM, LVP_INIT, PAPER
from studies.embedding_lr._llm import PAPER as PRETRAINING

GROUPS = {
    "matmul": ("aten::mm", "aten::addmm", "aten::bmm", "convolution"),
    "attention": ("scaled_dot_product", "flash_atten"),
    "softmax, GELU, norm": ("softmax", "gelu", "layer_norm", "nll_loss", "batch_norm"),
    "dropout": ("bernoulli", "dropout"),
    "optimizer": ("Optimizer", "_fused_adam", "_fused_sgd", "_foreach"),
}


def synchronize(device: torch.device) -> None:
    """Wait for queued work on CUDA."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def seconds(call: Callable, device: torch.device, repeats: int) -> float:
    """Time of a call, the fastest: of the process on a CPU, wall time on CUDA."""
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    best = math.inf
    for _ in range(repeats):
        synchronize(device)
        start = clock()
        call()
        synchronize(device)
        best = min(best, clock() - start)
    return best


@dataclass(frozen=True)
class Case:
    """A model with its optimizer and batches; cost: of one training step.

    loss, parts: as `loop.train` has them.
    """

    width: float
    net: torch.nn.Module
    optimizer: torch.optim.Optimizer
    batches: object
    clip: Callable | None
    cost: Cost
    loss: Callable = loss
    parts: int = 1


def random_tokens(vocab: int, batch: int, length: int, device: torch.device) -> TokenBatches:
    """Four batches of tokens."""
    tokens = np.random.default_rng(0).integers(0, vocab, 4 * batch * length + 1, dtype=np.uint16)
    return TokenBatches("random", tokens, batch, length, 0, device)


def decoder(k: int, shape: dict, device: torch.device) -> Case:
    """The decoder at width 2^k, vocabulary 2^(k+3)."""
    model = PAPER["model"] | {"width": 2**k, "head_dim": shape["head_dim"]}
    vocab, length, batch = 2 ** (k + 3), shape["sequence_length"], shape["batch_size"]
    with torch.device(device):
        net = build_model(
            model, vocab_size=vocab, sequence_length=length, init=LVP_INIT, scaling="muP"
        )
    parametrization.initialize(net, LVP_INIT, torch.Generator(device).manual_seed(0))
    groups = parametrization.param_groups(
        net,
        scaling="muP",
        family="adam",
        lr={"embedding": 0.01, "hidden": 0.2, "output": 0.2},
        weight_decay=0.0,
        eps=ADAM["eps"],
    )
    spec = {"model": model, "vocab_size": vocab, "steps": 1, "optimizer": ADAM, **shape}
    return Case(
        2**k,
        net,
        make_optimizer(groups, ADAM),
        random_tokens(vocab, batch, length, device),
        None,
        language_model_cost(spec),
    )


def decoders(paper: bool, batch: int | None, device: torch.device):
    """Width -> a call that makes its Case."""
    reduced = {"batch_size": 8, "sequence_length": 32, "head_dim": 16}
    full = {"batch_size": 256, "sequence_length": 256, "head_dim": 64}
    shape, sizes = (full, range(8, 13)) if paper else (reduced, range(5, 10))
    shape["batch_size"] = batch or shape["batch_size"]
    return {2**k: lambda k=k: decoder(k, shape, device) for k in sizes}


def llm_blocks(paper: bool, batch: int | None, device: torch.device):
    """Width -> a call that makes its Case: one block of Table 3."""
    rows = batch or (4 if paper else 1)
    length = PRETRAINING["data"]["sequence_length"] if paper else 1_024
    return {PRETRAINING["model"]["width"]: lambda: llm_block(rows, length, device)}


def llm_block(rows: int, length: int, device: torch.device) -> Case:
    """One block of Table 3, with the optimizer and the clipping of study `pretraining`."""
    data = {"batch_size": rows, "sequence_length": length, "vocab_size": 256}
    spec = override(PRETRAINING, {f"data.{key}": value for key, value in data.items()})
    spec = override(spec, {"model.depth": 1, "steps": 1, "parts": 1})
    with torch.device(device):
        net = models.build(spec["model"], "SP", vocab_size=256, sequence_length=length)
    generator = torch.Generator(device).manual_seed(0)
    parametrization.initialize(net, dict.fromkeys(KINDS, spec["init"]), generator)
    optimizer = spec["optimizer"]
    groups = pretraining.make_groups(net, "SP", optimizer, spec["lr"], spec["embedding_lr"])
    return Case(
        net.width,
        net,
        make_optimizer(groups, optimizer),
        random_tokens(256, rows, length, device),
        clipping.clipper(net, optimizer["clip"]),
        pretraining_cost(spec),
    )


def warm_starts(name: str, paper: bool, batch: int | None, device: torch.device):
    """Width -> a call that makes the Case of a model of the second paper."""
    settings = {"scale": "paper" if paper else "reduced"}
    suite = Suite(config.parse(settings, registry.dataset_names()))
    study = f"upscaling/{'mlp_adamw' if name == 'mlp' else name}"
    specs = {
        run.spec["model"]["width"]: run.spec
        for stage in ("tune", "tune_upscaled", "base", "scratch")
        for cell in suite.cells(f"{study}/{stage}")
        for run in cell.runs
    }
    return {width: lambda w=width: warm_start(specs[w], batch, device) for width in sorted(specs)}


def warm_start(spec: dict, batch: int | None, device: torch.device) -> Case:
    """The model of a spec, learning rate 0.001, on random data of its shape."""
    rows = batch or spec["data"]["batch_size"]
    spec = override(spec, {"data.batch_size": rows, "steps": 1, "lr": 0.001})
    data, model, rng = spec["data"], spec["model"], np.random.default_rng(0)
    fixed = {key: data[key] for key in ("vocab_size", "sequence_length") if key in data}
    if fixed:
        batches = random_tokens(data["vocab_size"], rows, data["sequence_length"], device)
    else:
        side = data.get("resolution")
        size = (4 * rows, 3, side, side) if side else (4 * rows, model["inputs"])
        inputs = rng.standard_normal(size, dtype=np.float32)
        labels = rng.integers(0, model["classes"], 4 * rows)
        batches = ArrayBatches("random", inputs, labels, rows, 0, device)
    scaling = spec["parametrization_name"]
    with torch.device(device):
        net = models.build(model, scaling, **fixed)
    generator = torch.Generator(device).manual_seed(0)
    parametrization.initialize(net, dict.fromkeys(KINDS, scaling), generator)
    groups = make_groups(net, scaling, spec["optimizer"], spec["lr"])
    return Case(
        model["width"],
        net,
        make_optimizer(groups, spec["optimizer"]),
        batches,
        clipping.clipper(net, spec["optimizer"]["clip"]),
        warm_start_cost(spec),
    )


class Repeated:
    """One batch, again and again."""

    def __init__(self, *batch: torch.Tensor):
        self.batch = batch

    def from_step(self, step: int):
        """It, endlessly."""
        return itertools.repeat(self.batch)


THIRD = {
    "vit": "effective_theory/vit/standard_search",
    "bart": "effective_theory/bart/standard",
    "r2c2": "effective_theory/r2c2",
}


def third_paper(name: str, paper: bool, batch: int | None, device: torch.device):
    """Width -> a call that makes the Case of a model of the third paper, standard strategy."""
    settings = {"scale": "paper" if paper else "reduced"}
    suite = Suite(config.parse(settings, registry.dataset_names()))
    spec = suite.cells(THIRD[name])[0].runs[0].spec
    rows = batch or spec["data"]["batch_size"]
    parts = math.ceil(rows * spec["parts"] / spec["data"]["batch_size"])
    spec = override(spec, {"data.batch_size": rows, "parts": parts, "steps": 1})
    make = vision_transformer if name == "vit" else encoder_decoder
    return {spec["model"]["width"]: lambda: make(spec, device)}


def vision_transformer(spec: dict, device: torch.device) -> Case:
    """The ViT of a spec on random images."""
    model, rows, scaling = spec["model"], spec["data"]["batch_size"], spec["parametrization_name"]
    with torch.device(device):
        net = models.build(model, scaling)
        images = torch.randn(rows, 3, model["resolution"], model["resolution"])
        labels = torch.randint(model["classes"], (rows,))
    generator = torch.Generator(device).manual_seed(0)
    parametrization.initialize(net, dict.fromkeys(KINDS, scaling), generator)
    return Case(
        model["width"],
        net,
        image_classification.make_optimizer(net, scaling, spec["optimizer"], spec["lr"], {}),
        Repeated(images, labels),
        clipping.clipper(net, spec["optimizer"]["clip"]),
        image_classification_cost(spec),
        cross_entropy(spec["label_smoothing"]),
        spec["parts"],
    )


def encoder_decoder(spec: dict, device: torch.device) -> Case:
    """The BART of a spec on random tokens, the corrupted text as long as the original."""
    data, scaling = spec["data"], spec["parametrization_name"]
    size, length = denoising_vocabulary_size(data["vocab_size"]), data["sequence_length"]
    fixed = {"vocab_size": size, "padding": PADDING, "sequence_length": length}
    with torch.device(device):
        net = models.build(spec["model"], scaling, **fixed)
        tokens = torch.randint(FIRST, size, (data["batch_size"], length))
        total = torch.full((len(tokens),), tokens.numel())
    span_denoising.start(net, scaling, seed=0)
    return Case(
        net.width,
        net,
        span_denoising.make_optimizer(net, scaling, spec["optimizer"], spec["lr"]),
        Repeated(tokens, tokens, tokens, total),
        clipping.clipper(net, spec["optimizer"]["clip"]),
        span_denoising_cost(spec),
        span_denoising.make_loss(spec["parts"]),
        spec["parts"],
    )


def measure(case: Case, device: torch.device, precision: str) -> tuple[float, dict[str, float]]:
    """(seconds a step, group -> share of time)."""

    def steps(count: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            loop.train(
                case.net,
                case.loss,
                case.batches,
                case.optimizer,
                steps=count,
                evaluations=1,
                precision=precision,
                progress=lambda step, value: None,
                checkpoint=Path(folder) / "state",
                clip=case.clip,
                parts=case.parts,
            )

    steps(2)
    once = seconds(lambda: steps(1), device, 1)
    count = max(1, min(20, round(0.5 / once)))
    step = seconds(lambda: steps(count), device, 5 if once < 5 else 2) / count
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        steps(count)
    spent = {name: 0.0 for name in GROUPS} | {"other": 0.0}
    for event in profiler.key_averages():
        name = next((g for g, keys in GROUPS.items() if any(k in event.key for k in keys)), "other")
        spent[name] += event.self_cpu_time_total
    total = sum(spent.values())
    return step, {name: value / total for name, value in spent.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    choices = ("decoder", "llm", "mlp", "resnet", "gpt2", *THIRD)
    parser.add_argument("--model", choices=choices, default="decoder")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--paper", action="store_true", help="the paper's batch, length and widths")
    parser.add_argument("--batch", type=int, help="rows or sequences a step")
    parser.add_argument("--widths", type=float, nargs="+", help="some of the model's widths")
    args = parser.parse_args()
    device = devices.select(args.device, threads=1)
    if args.model == "decoder":
        cases = decoders(args.paper, args.batch, device)
    elif args.model == "llm":
        cases = llm_blocks(args.paper, args.batch, device)
    elif args.model in THIRD:
        cases = third_paper(args.model, args.paper, args.batch, device)
    else:
        cases = warm_starts(args.model, args.paper, args.batch, device)
    best = matmul_peak(device.type)
    print(f"{devices.describe(device)}, torch {torch.__version__}, {args.precision}, {args.model}")
    print(f"matmul peak {best / 1e9:.1f} GFLOP/s")
    names = [*GROUPS, "other"]
    print(
        "| width | parameters | ms a step | read a second | GFLOP/s | of peak | memory, GB | "
        + " | ".join(names)
        + " |"
    )
    print("|---" * (7 + len(names)) + "|")
    for width in args.widths or cases:
        case = cases[width]()
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        step, split = measure(case, device, args.precision)
        flops, seen = case.cost.flops / step, case.cost.seen / step
        held = torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else None
        memory = "-" if held is None else f"{held:.1f}"
        size = sum(p.numel() for p in case.net.parameters())
        shares = " | ".join(f"{split[name]:.0%}" for name in names)
        print(
            f"| {width:g} | {size:,} | {step * 1e3:.1f} | {seen:,.0f} {case.cost.unit} "
            f"| {flops / 1e9:.1f} | {flops / best:.0%} | {memory} | {shares} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
