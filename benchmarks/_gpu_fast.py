"""The stages of `benchmarks/gpu.sh` that say how fast a device is."""

import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks import step
from benchmarks._gpu_bench import Bench, Late, clear, size
from repro import backend
from repro.core import config, discovery
from repro.core.runs import Run
from repro.core.spec import override
from repro.core.suite import Suite
from repro.data.random_data import random_data
from repro.tasks import TASKS
from repro.training import cross_entropy

HALF = ("bfloat16", "float16")


def speeds(bench: Bench) -> dict:
    """Products by precision, memory, copies from the host, and the start of one kernel; bytes and
    operations a second, seconds."""
    flops = {}
    n = 8192 if bench.on_gpu else 512
    for precision in ("float32", *(("tf32", *HALF) if bench.on_gpu else ())):
        kind = getattr(torch, precision) if precision in HALF else torch.float32
        with backend.autocast(bench.device, precision):  # sets TF32
            a, b = (torch.randn(n, n, device=bench.device, dtype=kind) for _ in range(2))
            with torch.autocast(bench.device.type, enabled=False):
                flops[precision] = 2 * n**3 / bench.seconds(partial(torch.matmul, a, b))
    large = torch.empty(2**28 if bench.on_gpu else 2**22, device=bench.device)
    host = torch.empty(2**26 if bench.on_gpu else 2**22, pin_memory=bench.on_gpu)
    target = torch.empty_like(host, device=bench.device)
    small = torch.zeros(8, device=bench.device)

    def start() -> None:
        for _ in range(1000):
            small.add_(1)

    return {
        "flops": flops,
        "memory": 2 * 4 * large.numel() / bench.seconds(large.clone),
        "from_host": 4 * host.numel() / bench.seconds(lambda: target.copy_(host)),
        "kernel_seconds": bench.seconds(start) / 1000,
    }


def kernels(bench: Bench) -> dict:
    """Milliseconds of what the models lean on: the readout of an odd vocabulary and of one padded
    to a multiple of 64, forward and both gradients; the loss, ours and torch's; attention by kernel
    (null: it does not take this case), by size of a head and length, with and without a mask."""
    kind = torch.bfloat16 if bench.on_gpu else torch.float32
    rows, width = (4096, 1920) if bench.on_gpu else (64, 32)
    found: dict[str, Any] = {}

    def randn(*shape: int, grad: bool = False) -> torch.Tensor:
        return torch.randn(*shape, device=bench.device, dtype=kind, requires_grad=grad)

    def ms(call: Callable[[], object]) -> float:
        return round(1e3 * bench.seconds(call), 4)

    x = randn(rows, width)
    for entries in (50257, 50304) if bench.on_gpu else (257, 320):
        w, g = randn(entries, width), randn(rows, entries)
        products = (lambda w=w: x @ w.T, lambda g=g, w=w: g @ w, lambda g=g: g.T @ x)
        found[f"readout {entries}"] = [ms(product) for product in products]
    logits = randn(rows, 50304 if bench.on_gpu else 320, grad=True)
    y = torch.randint(0, 320, (rows,), device=bench.device)
    ours, theirs = cross_entropy.cross_entropy, F.cross_entropy
    found["loss"] = ms(lambda: torch.autograd.grad(ours(logits, y), logits))
    found["loss of torch"] = ms(lambda: torch.autograd.grad(theirs(logits.float(), y), logits))
    return found | {"attention": attention(bench, randn, ms) if bench.on_gpu else {}}


def attention(bench: Bench, randn: Callable, ms: Callable) -> dict:
    """Case -> kernel -> milliseconds, forward and backward, of four rows of twelve heads. BART's
    has a mask and dropout, which only some kernels take; without one it would not fit."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    cases = (
        (64, 512, ""),
        (64, 512, ", mask"),
        (64, 512, ", mask, dropout"),
        (160, 1024, ""),
        (320, 1024, ""),
        (128, 4096, ", mask"),
    )
    names = ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION", "MATH")
    found: dict[str, dict[str, float | None]] = {}
    for head, length, words in cases:
        q, k, v = (randn(4, 12, length, head, grad=True) for _ in range(3))
        mask = torch.ones(length, length, dtype=torch.bool, device=bench.device).tril()
        kind: dict[str, Any] = {"attn_mask": mask} if "mask" in words else {"is_causal": True}
        kind["dropout_p"] = 0.1 if "dropout" in words else 0.0

        def go(q=q, k=k, v=v, kind=kind) -> None:
            out = F.scaled_dot_product_attention(q, k, v, **kind)
            torch.autograd.grad(out.sum(), (q, k, v))

        of_case = found[f"head {head}, length {length}{words}"] = {}
        for name in names:
            try:
                with warnings.catch_warnings(), sdpa_kernel(getattr(SDPBackend, name)):
                    warnings.simplefilter("ignore")  # why a kernel does not take a case
                    of_case[name] = ms(go)
            except RuntimeError:
                of_case[name] = None
        of_case["chosen"] = ms(go)
    return found


def steps(bench: Bench) -> dict:
    """Whole training steps of every model in its precision, of the smallest and the largest run of
    all figures that fits; at most four microbatches."""
    rows: list[dict] = []
    left = {" ".join(pair): "no time was left" for pair in bench.runs}
    try:
        for (model, precision), found in bench.runs.items():
            left[f"{model} {precision}"] = "does not fit"
            by_size = {size(run): run for run in found}
            smallest, largest = min(by_size), sorted(by_size, reverse=True)
            for sizes in ([smallest], largest):
                row = next(filter(None, (time_run(bench, by_size[each]) for each in sizes)), None)
                if row and row not in rows:
                    rows.append({"model": model, "precision": precision, **row})
                    left.pop(f"{model} {precision}", None)
    except Late:
        pass  # what was timed is of use
    return {"steps": rows, "without": left, "right": bool(rows)}


def time_run(bench: Bench, run: Run) -> dict | None:
    """How long a step of a run takes; None where it does not fit."""
    task, spec = TASKS[run.task], at_most(run)
    priced = task.cost(override(spec, {"steps": 1}))
    if priced.memory_bytes > FULL * bench.memory:
        return None
    try:
        if bench.on_gpu:
            torch.cuda.reset_peak_memory_stats()
        training = task.build(spec, random_data(spec, bench.device), bench.device)
        turns = step.time_steps(training, None, bench.device, *REPEATS[bench.on_gpu])
    except torch.OutOfMemoryError:
        return None
    finally:
        clear(bench)
    seconds = min(turns.ours)
    held = {"memory_gb": torch.cuda.max_memory_allocated() / 1e9} if bench.on_gpu else {}
    return {
        "task": run.task,
        "parameters": size(run),
        "microbatches": priced.microbatches,
        "layers": priced.layers,
        "flops": priced.flops,
        "seconds": seconds,
        "gflops_a_second": priced.flops / seconds / 1e9,
        f"{priced.unit}_a_second": priced.seen / seconds,
        **held,
    }


FULL = 0.8  # share of the memory that a run may take as computed
REPEATS = {True: (3, 0.5), False: (1, 0.02)}  # on a GPU? -> turns, seconds of one


def at_most(run: Run, microbatches: int = 4) -> dict:
    """A run's spec with few microbatches of the size that it has."""
    batch, parts = run.spec["data"]["batch_size"], run.spec.get("microbatches", 1)
    rows = batch // parts * microbatches if parts > microbatches else batch
    return step.with_batch({**run.spec, "threads": 1}, rows, None)


def reading(bench: Bench) -> dict:
    """What a CPU feeds: tokens from shards to the device, and, where torchvision is, images that
    are decoded, and cropped as the ViT's; a second and core. How many the device finishes."""
    import numpy as np

    from benchmarks.loading import rate
    from repro.data.batches import TokenBatches
    from repro.data.shards import ShardedTokens

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shard.npy"
        np.save(path, rng.integers(0, 32_064, 50_000_000 if bench.on_gpu else 2_000_000, np.uint16))
        shards = ShardedTokens([np.load(path, mmap_mode="r")])
        batches = TokenBatches("random", shards, 16, 1024, 0, bench.device)
        tokens = rate(batches, min(200, batches.per_epoch), bench.device)
    found = {"tokens_a_second": tokens, "mb_a_second": 2 * tokens / 1e6}
    try:
        return found | images(bench, rng)
    except ImportError as error:
        return found | {"images": f"left out: no {error.name}"}


def images(bench: Bench, rng) -> dict:
    """Images of 500 x 375 a second that a core decodes, and that it decodes and crops for the ViT
    of paper scale; cropped ones that the device augments and normalises."""
    from PIL import Image

    from repro.data.image_batch import Finish
    from repro.data.image_folder import ImageFiles
    from repro.data.transforms import seeded, training_cropping

    names = [f"{number}.JPEG" for number in range(16)]
    suite = Suite(config.parse({"scale": "paper"}, discovery.dataset_names()))
    spec = suite.cells("effective_theory/vit/standard_search")[0].runs[0].spec
    cropping = training_cropping(spec["data"], spec["model"]["resolution"])
    assert cropping is not None, "a batch knows all of the recipe"
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            coarse = Image.fromarray(rng.integers(0, 256, (47, 63, 3), dtype="uint8"))
            photograph = coarse.resize((500, 375), Image.Resampling.BICUBIC)
            photograph.save(Path(folder, name), quality=90)
        files = ImageFiles("random", Path(folder), {".": dict.fromkeys(names, 0)})

        def timed(call: Callable[[torch.Tensor], Any]) -> tuple[list, float]:
            begin, found = time.perf_counter(), []
            for row in range(len(files)):
                with seeded(0, 0, row):
                    found.append(call(files.pixels(row)))
            return found, len(files) / (time.perf_counter() - begin)

        timed(cropping)  # the first loads what it needs
        _, decoded = timed(lambda pixels: None)
        drawn, cropped = timed(cropping)
    finish, operations = Finish(bench.device), [one.operations for one in drawn]
    batch = torch.stack([one.image for one in drawn]).to(bench.device)
    nothing = torch.empty(0, 5, dtype=torch.int64), torch.empty(0, device=bench.device)
    seconds = bench.seconds(lambda: finish(batch.clone(), operations, *nothing))
    found = {"decoded_a_second": decoded, "images_a_second": cropped}
    return found | {"finished_a_second": len(batch) / seconds}
