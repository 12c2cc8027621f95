"""Training step of the decoder: achieved FLOP/s over the machine's own measured matmul peak.

    uv run python benchmarks/step.py [--device cuda --precision bfloat16 --paper]

One thread, as the workflow's jobs run. The peak is the best of several square float32 (on CUDA:
bfloat16) products. The split is of the profiler's self time over the step's operators.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from repro import device as devices
from repro import parametrization, train
from repro.budget import matmul_peak
from repro.cost import language_model_cost
from repro.data.batches import TokenBatches
from repro.tasks.language_model import build_model, loss
from studies.embedding_lr._decoder import ADAM, LVP_INIT, PAPER

GROUPS = {
    "matmul": ("aten::mm", "aten::addmm", "aten::bmm"),
    "attention": ("scaled_dot_product", "flash_atten"),
    "softmax, GELU, norm": ("softmax", "gelu", "layer_norm", "nll_loss"),
    "optimizer": ("Optimizer", "_fused_adam", "_foreach"),
}


def synchronize(device: torch.device) -> None:
    """Wait for queued work on CUDA."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def seconds(call, device: torch.device, repeats: int) -> float:
    """Median wall time of a call after two warm-up calls."""
    for _ in range(2):
        call()
    times = []
    for _ in range(repeats):
        synchronize(device)
        start = time.perf_counter()
        call()
        synchronize(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(k: int, shape: dict, device: torch.device, precision: str) -> tuple:
    """(width, vocabulary, seconds a step, FLOP/s, group -> share of time) at (2^k, 2^(k+3))."""
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
    optimizer = train.make_optimizer(groups, ADAM)
    tokens = np.random.default_rng(0).integers(0, vocab, 4 * batch * length, dtype=np.uint16)
    batches = TokenBatches("random", tokens, batch, length, 0, device)

    def steps(count: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            train.train(
                net,
                loss,
                batches,
                optimizer,
                steps=count,
                evaluations=1,
                precision=precision,
                progress=lambda step, value: None,
                checkpoint=Path(folder) / "state",
            )

    count = 20
    step = seconds(lambda: steps(count), device, 5) / count
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        steps(count)
    spent = {name: 0.0 for name in GROUPS} | {"other": 0.0}
    for event in profiler.key_averages():
        name = next((g for g, keys in GROUPS.items() if any(k in event.key for k in keys)), "other")
        spent[name] += event.self_cpu_time_total
    total = sum(spent.values())
    spec = {"model": model, "vocab_size": vocab, "steps": 1, "optimizer": ADAM, **shape}
    flops = language_model_cost(spec).flops / step
    return 2**k, vocab, step, flops, {name: value / total for name, value in spent.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--paper", action="store_true", help="the paper's batch, length and widths")
    args = parser.parse_args()
    device = devices.select(args.device, threads=1)
    reduced = {"batch_size": 8, "sequence_length": 32, "head_dim": 16}
    paper = {"batch_size": 256, "sequence_length": 256, "head_dim": 64}
    shape, sizes = (paper, range(8, 13)) if args.paper else (reduced, range(5, 10))
    best = matmul_peak(device.type)
    print(f"{devices.describe(device)}, torch {torch.__version__}, {args.precision}, {shape}")
    print(f"matmul peak {best / 1e9:.1f} GFLOP/s")
    names = [*GROUPS, "other"]
    print("| d | m | ms a step | GFLOP/s | of peak | " + " | ".join(names) + " |")
    print("|---" * (5 + len(names)) + "|")
    for k in sizes:
        width, vocab, step, flops, split = measure(k, shape, device, args.precision)
        shares = " | ".join(f"{split[name]:.0%}" for name in names)
        print(
            f"| {width} | {vocab} | {step * 1e3:.1f} | {flops / 1e9:.1f} | {flops / best:.0%} "
            f"| {shares} |"
        )


if __name__ == "__main__":
    main()
