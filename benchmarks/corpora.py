"""Megabytes of text per second: columns of parquet, encoding in one stream and in parts, cutting.

    uv run python benchmarks/corpora.py [--megabytes 256] [--text FILE] [--folder FOLDER]

Documents of about 4,000 characters of a text, by default the suite's synthetic language, lie in two
parquet files with the columns of FineWeb-Edu. "rows" is how `datasets` streams them, for
comparison; GPT-2's tokenizer. CPU seconds are those of all processes. Files are in memory.
"""

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from repro.cores import usable_cores
from repro.data import parquet, shards, tokenization
from repro.data.cutting import cut
from repro.data.parquet import File
from repro.data.parts import write_parts
from repro.data.synthetic_text import zipf_mandelbrot_text

CHARACTERS, ROW_GROUP, FILES, LONGEST = 4_000, 1_000, 2, 510


def write_replica(folder: Path, text: str, megabytes: float) -> list[Path]:
    """Parquet files with the columns of FineWeb-Edu, with so much text in all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pieces = [text[i : i + CHARACTERS] for i in range(0, len(text), CHARACTERS)]
    count = max(int(megabytes * 1e6 / CHARACTERS / FILES), 1)
    paths = [folder / f"train-0000{number}-of-0000{FILES}.parquet" for number in range(FILES)]
    for path in paths:
        texts = list(itertools.islice(itertools.cycle(pieces), count))
        words = {key: [key] * count for key in ("id", "dump", "url", "file_path", "language")}
        numbers = {key: [1.0] * count for key in ("language_score", "token_count", "score")}
        columns = {"text": texts, **words, **numbers, "int_score": [1] * count}
        pq.write_table(pa.table(columns), path, row_group_size=ROW_GROUP)
    return paths


def rows(paths: list[Path]) -> None:
    """Read the documents as `datasets` streams them, row by row."""
    import datasets

    files = [str(path) for path in paths]
    for row in datasets.load_dataset("parquet", data_files=files, split="train", streaming=True):
        row["text"]


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """(seconds, CPU seconds of this process and of those that have ended)."""
    before, start = os.times(), time.perf_counter()
    work()
    seconds, after = time.perf_counter() - start, os.times()
    return seconds, sum(after[:4]) - sum(before[:4])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=float, default=256)
    parser.add_argument("--text", help="a UTF-8 file to take the documents from")
    parser.add_argument("--folder", help="where the files go")
    args = parser.parse_args(arguments)
    text = Path(args.text).read_text() if args.text else zipf_mandelbrot_text(450_000, 0)
    tokenizer = tokenization.gpt2()
    separator = tokenizer.token_to_id(tokenization.SEPARATOR)
    cores = usable_cores()
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        paths = write_replica(folder, text, args.megabytes)
        files = [File("replica", str(path)) for path in paths]
        size = sum(len(document.encode()) for file in files for document in file.texts()) / 1e6
        settings = {"dataset": "replica", "split": "train", "separator": separator}
        settings |= {"shard_tokens": 100_000_000}

        def documents():
            return itertools.chain.from_iterable(file.texts() for file in files)

        def in_parts():
            parts = parquet.parts(files)
            write_parts(parts, tokenizer, folder=folder / "parts", **settings)

        def in_one_stream():
            shards.write_shards(documents(), tokenizer, folder=folder / "stream", **settings)

        def cutting():
            for path in (folder / "stream").glob("*.npy"):
                cut(np.load(path, mmap_mode="r"), separator, full_stop, LONGEST)

        full_stop = np.zeros(tokenization.GPT2_VOCABULARY, dtype=bool)
        full_stop[[tokenizer.token_to_id("."), tokenizer.token_to_id("Ġ.")]] = True
        calls = {
            "rows, by `datasets`": lambda: rows(paths),
            "column `text`": lambda: sum(1 for _ in documents()),
            "encoding one stream": in_one_stream,
            f"encoding parts, {cores} processes": in_parts,
            "cutting into blocks": cutting,
        }
        print(f"{size:,.0f} MB of text in {FILES} files, {cores} cores")
        print("| | MB/s | CPU seconds a GB |\n|---|---|---|")
        for title, work in calls.items():
            seconds, cpu = measured(work)
            print(f"| {title} | {size / seconds:,.1f} | {cpu / size * 1e3:,.1f} |", flush=True)


if __name__ == "__main__":
    main()
