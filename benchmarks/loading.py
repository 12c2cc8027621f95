"""Tokens per second read from shards, compared with what a 1B model consumes on one H100.

    uv run python benchmarks/loading.py [--tokens 400e6] [--device cuda] [--folder FOLDER]

Shards of random uint16 ids are written and memory-mapped like a tokenized corpus. Batches of 16
sequences of 4,096 tokens are copied to the device in training's order, random blocks. cold: after
the file's pages were dropped from memory. One thread.
Consumed: 6 operations per parameter and token at 40 % of an H100's bf16 peak, as in `repro
show cost`.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch

from repro import backend
from repro.core.spec import lookup
from repro.cost import GPU_FLOPS
from repro.cost.llm import pretraining_cost
from repro.data.batches import TokenBatches
from repro.data.shards import ShardedTokens
from studies.embedding_lr._llm import PAPER

SHARDS, ROWS = 4, 16


def drop(paths: list[Path]) -> None:
    """Drop files from the page cache, so that their next read is from disk."""
    for path in paths:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def rate(batches: TokenBatches, count: int, device: torch.device) -> float:
    """Tokens per second of the first `count` batches."""
    source = batches.from_step(0)
    start = time.perf_counter()
    for _ in range(count):
        inputs, _ = next(source)
    if device.type == "cuda":
        torch.cuda.synchronize()
    return count * inputs.numel() / (time.perf_counter() - start)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=float, default=400e6)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--folder", help="where the shards go")
    args = parser.parse_args(arguments)
    device = backend.select(args.device, threads=1)
    length, each = lookup(PAPER, "data.sequence_length"), int(args.tokens) // SHARDS
    wanted = GPU_FLOPS / (6 * pretraining_cost(PAPER).parameters)
    print(f"{backend.describe(device)}, torch {torch.__version__}; {wanted:,.0f} tokens/s consumed")
    print("| shards | tokens/s | times what is consumed |\n|---|---|---|")
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        paths = [Path(folder) / f"{i}.npy" for i in range(SHARDS)]
        rng = np.random.default_rng(0)
        for path in paths:
            np.save(path, rng.integers(0, 32_064, each, dtype=np.uint16))
        drop(paths)
        shards = ShardedTokens([np.load(path, mmap_mode="r") for path in paths])
        batches = TokenBatches("random", shards, ROWS, length, 0, device)
        count = batches.per_epoch
        for name in ("cold", "in memory"):
            found = rate(batches, count, device)
            print(f"| {name} | {found:,.0f} | {found / wanted:.0f} |", flush=True)


if __name__ == "__main__":
    main()
