"""Samples per second of span denoising on one core, compared with fairseq's DenoisingDataset.

    uv run --extra fairseq python benchmarks/denoising.py [--samples 2048]

Blocks of 512 tokens with GPT-2's vocabulary; three of four tokens start a word, sentences have
about 20 tokens. Timed are whole padded batches, as in a training step; the fastest of three.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch

from repro.data import denoising
from repro.data.denoising import FIRST, Denoising, DenoisingBatches
from repro.data.tokenization import GPT2_VOCABULARY

LENGTH, BATCHES = 512, (32, 512)


def vocabulary() -> denoising.Vocabulary:
    """GPT-2's size; entry 0 is the full stop."""
    names = {".": 0} | {f"{'Ġ' if i % 4 else ''}t{i}": i for i in range(1, GPT2_VOCABULARY)}
    return denoising.vocabulary(names)


def text(samples: int) -> np.ndarray:
    """Tokens for a number of blocks."""
    rng = np.random.default_rng(0)
    tokens = 1 + rng.zipf(1.3, samples * LENGTH) % (GPT2_VOCABULARY - 1)
    tokens[rng.random(len(tokens)) < 1 / 20] = 0
    return tokens.astype(np.uint16)


def ours(names: denoising.Vocabulary, samples: int, batch_size: int) -> float:
    """Seconds per sample of the suite's batches."""
    noise = Denoising(names, 0.3, 3.0, LENGTH)
    tokens = text(2 * samples)
    batches = DenoisingBatches("random", tokens, None, noise, batch_size, LENGTH, 0, "cpu")
    stream = batches.from_step(0)
    next(stream)
    start = time.perf_counter()
    for _ in range(samples // batch_size):
        next(stream)
    return (time.perf_counter() - start) / (samples // batch_size * batch_size)


def theirs(names: denoising.Vocabulary, samples: int, batch_size: int) -> float:
    """Seconds per sample of DenoisingDataset with its collater."""
    from fairseq.data import DenoisingDataset, Dictionary

    dictionary = Dictionary()
    for i in range(names.size - FIRST - 1):
        dictionary.add_symbol(str(i))
    mask = dictionary.add_symbol("<mask>")
    noise = Denoising(names, 0.3, 3.0, LENGTH)
    tokens = text(2 * samples)
    blocks = DenoisingBatches("random", tokens, None, noise, batch_size, LENGTH, 0, "cpu")

    class Blocks(torch.utils.data.Dataset):
        def __getitem__(self, index):
            row, length = blocks.read([index])
            return torch.from_numpy(row[0, : length[0]])

        def __len__(self):
            return blocks.rows

    dataset = DenoisingDataset(
        Blocks(),
        np.full(blocks.rows, LENGTH),
        dictionary,
        mask,
        torch.from_numpy(names.word_start.astype(np.uint8)),
        shuffle=False,
        seed=1,
        mask=0.3,
        mask_random=0.0,
        insert=0.0,
        rotate=0.0,
        permute_sentences=1.0,
        bpe="gpt2",
        replace_length=1,
        mask_length="span-poisson",
        poisson_lambda=3.0,
    )
    dataset.full_stop_index = FIRST
    start = time.perf_counter()
    for first in range(0, samples, batch_size):
        dataset.collater([dataset[i] for i in range(first, first + batch_size)])
    return (time.perf_counter() - start) / samples


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one row per batch size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2_048)
    parser.add_argument("--repeats", type=int, default=3, help="of which the fastest counts")
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    names = vocabulary()
    try:
        import fairseq  # noqa: F401

        makers = {"ours": ours, "fairseq": theirs}
    except ImportError:
        print("the extra `fairseq` is not installed: only ours is measured")
        makers = {"ours": ours}
    columns = [f"{name}, samples/s" for name in makers]
    print("| " + " | ".join(["batch", *columns, "ratio"]) + " |")
    print("|---" * (2 + len(columns)) + "|")
    for size in BATCHES:
        best = {
            name: min(make(names, args.samples, size) for _ in range(args.repeats))
            for name, make in makers.items()
        }
        rates = [f"{1 / seconds:,.0f}" for seconds in best.values()]
        ratio = f"{best['fairseq'] / best['ours']:.1f}" if "fairseq" in best else "-"
        print("| " + " | ".join([str(size), *rates, ratio]) + " |")


if __name__ == "__main__":
    main()
