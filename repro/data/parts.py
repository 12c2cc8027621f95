"""Shards of a corpus that lies in parts: encoded by several processes, joined in the parts' order.

Beside the shards, in `parts-{split}/`, every part that was encoded has a JSON file with its counts
and digests, and until its tokens are in shards a file of them. What is there is not read again.
"""

import hashlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np

from repro.cores import usable_cores
from repro.data.leaks import HeldOut
from repro.data.parquet import PART_BYTES, Part
from repro.data.shards import Shards, encoded, made_by, noted, token_dtype, update
from repro.data.tokenization import plain
from repro.errors import UserError
from repro.files import (
    atomic_path,
    canonical_json,
    remove_temporaries,
    sha256,
    sha256_file,
    write_sealed,
)


@dataclass(frozen=True)
class Encoding:
    """How a part is encoded. tokenizer: a `tokenizers.Tokenizer` as JSON. made_with: the settings
    that shards are made with. held_out: documents that must not be in train, None: any may."""

    tokenizer: str
    separator: int
    made_with: Mapping
    held_out: HeldOut | None


def write_parts(
    parts: Iterable[Part],
    tokenizer,
    *,
    dataset: str,
    split: str,
    separator: int,
    shard_tokens: int,
    folder: Path,
    limit: int | None = None,
    held_out: HeldOut | None = None,
) -> dict:
    """Encode parts into the shards that `shards.write_shards` makes of their documents in order.

    limit: how many documents there are at most. Other arguments: as of `write_shards`.
    Returns {"documents", "shards"} as `write_shards`, and {"parts_sha256"}, a digest of the number
    of documents and their SHA-256 of every part.
    If a call was killed, the next one encodes the parts that it had not finished, and writes the
    same bytes.
    Raises UserError when there are no documents, or more than half of `held_out` are among them.
    """
    parts = iter(parts)
    ahead = list(islice(parts, usable_cores()))
    if not ahead:
        raise UserError(f"{dataset}: split {split} has no documents; give a source with text")
    made_with = made_by(tokenizer, separator, shard_tokens) | {
        "part_bytes": PART_BYTES,
        "first": ahead[0].identity,
        "limit": limit,
    }
    shards = Shards(folder, split, made_with)
    if shards.finished:
        return shards.finished
    remove_temporaries(folder / f"parts-{split}")
    encoding = Encoding(tokenizer.to_str(), separator, made_with, held_out)
    dtype = token_dtype(tokenizer)
    buffer: np.ndarray = np.empty(shard_tokens, dtype=dtype)
    kept = shard_tokens * len(shards.done)  # tokens in shards of an earlier call
    work = _Work(folder / f"parts-{split}", encoding, kept, limit, len(ahead))
    filled = position = documents = 0
    read: list[list] = []
    waiting: deque[tuple[int, Path]] = deque()  # where the tokens of a file end, and the file
    for note, path in work.notes(chain(ahead, parts)):
        count, found = note["tokens"], note["documents"]
        if held_out:
            held_out.met(note["met"])
        ids: np.ndarray = np.empty(0, dtype)
        if count and position + count > kept:
            ids = np.memmap(path, dtype=dtype, mode="r")
        if limit is not None and documents + found > limit:
            found = limit - documents
            count = int(np.flatnonzero(ids == separator)[found - 1]) + 1
        ids = ids[max(kept - position, 0) : count]
        while len(ids):
            part = ids[: shard_tokens - filled]
            buffer[filled : filled + len(part)] = part
            filled, ids = filled + len(part), ids[len(part) :]
            if filled == shard_tokens:
                shards.write(buffer)
                filled = 0
        position, documents = position + count, documents + found
        read.append([note["documents"], note["text_sha256"]])
        waiting.append((position, path))
        while waiting and waiting[0][0] <= shard_tokens * len(shards.done):
            waiting.popleft()[1].unlink(missing_ok=True)
        if documents == limit:
            break
    if filled:
        shards.write(buffer[:filled])
    if not shards.done:
        raise UserError(f"{dataset}: split {split} has no documents; give a source with text")
    if held_out:
        held_out.tell()
    digest = sha256(canonical_json(read))
    result = shards.finish({"documents": documents, "parts_sha256": digest})
    for path in (folder / f"parts-{split}").glob("*.bin"):
        path.unlink()
    return result


class _Work:
    """The encoding of parts, by a number of processes.

    kept: tokens that are in shards already. limit: as of `write_parts`.
    """

    def __init__(
        self, folder: Path, encoding: Encoding, kept: int, limit: int | None, processes: int
    ):
        self.folder, self.encoding, self.kept, self.limit = folder, encoding, kept, limit
        self.processes = processes

    def notes(self, parts: Iterable[Part]) -> Iterator[tuple[dict, Path]]:
        """(what is noted of a part, the file of its tokens), in order; the file may be gone where
        all of its tokens are in shards. Ends only when the parts do."""
        begun: deque[tuple[int, Path, dict | Future]] = deque()
        end: int | None = 0  # tokens of all parts so far, None behind a part not yet encoded
        most = 0  # documents, at most, of the parts so far
        waiting = enumerate(parts)
        with _processes(self.processes) as submit:
            while True:
                while len(begun) < 2 * self.processes and (self.limit is None or most < self.limit):
                    number, part = next(waiting, (0, None))
                    if part is None:
                        break
                    path = self.folder / f"{number:06d}.bin"
                    known = self._known(path, part)
                    end = end + known["tokens"] if known and end is not None else None
                    covered = end is not None and end <= self.kept
                    if known and (covered or self._is_whole(path, known)):
                        most += known["documents"]
                        begun.append((known["documents"], path, known))
                    else:
                        most += part.rows
                        begun.append((part.rows, path, submit(encode, part, path, self.encoding)))
                if not begun:
                    return
                counted, path, found = begun.popleft()
                note = found.result() if isinstance(found, Future) else found
                most += note["documents"] - counted
                yield note, path

    def _known(self, path: Path, part: Part) -> dict | None:
        """What an earlier call noted of the same part, encoded in the same way."""
        note = noted(path.with_suffix(".json"), NOTE)
        if note is None or note["made_with"] != dict(self.encoding.made_with):
            return None
        return note if note["part"] == part.identity else None

    def _is_whole(self, path: Path, note: Mapping) -> bool:
        return path.exists() and sha256_file(path) == note["sha256"]


@contextmanager
def _processes(count: int):
    """A function like `Executor.submit`, which has `count` processes carry out what it is given;
    where that is one, this one does. Whatever ends the caller ends them."""
    if count == 1:
        yield lambda function, *arguments: function(*arguments)
        return
    # Not forked: threads of tokenizers and pyarrow would be missing in a copy of this process.
    context = multiprocessing.get_context("spawn")
    threads = max(1, usable_cores() // count)
    with ProcessPoolExecutor(
        count, mp_context=context, initializer=_begin, initargs=(threads,)
    ) as pool:
        try:
            yield pool.submit
        except BaseException as error:
            for process in multiprocessing.active_children():
                process.terminate()
            if isinstance(error, BrokenProcessPool):
                raise UserError(
                    "a process that encodes text was killed, perhaps for lack of memory; run the "
                    "same command again to go on"
                ) from error
            raise


def _begin(threads: int) -> None:
    """In a process that encodes: its number of threads; and it ends with the one that started
    it."""
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@lru_cache(maxsize=1)
def _tokenizer(content: str):
    from tokenizers import Tokenizer

    return plain(Tokenizer.from_str(content))


NOTE = {
    **{"documents": int, "tokens": int, "text_sha256": str, "sha256": str},
    **{"met": list[str], "part": Any, "made_with": dict},
}


def encode(part: Part, path: Path, encoding: Encoding) -> dict:
    """Write the tokens of a part to `path` and what is known of it to a JSON file of that name.

    Returns {"documents", "tokens", "text_sha256", "sha256" (of the tokens' file), "met" (digests of
    held-out documents that are among it), "part", "made_with"}.
    """
    tokenizer, separator = _tokenizer(encoding.tokenizer), encoding.separator
    dtype = token_dtype(tokenizer)
    documents = tokens = 0
    text, written = hashlib.sha256(), hashlib.sha256()
    met: set[bytes] = set()
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        for document, ids in encoded(part.documents(), tokenizer, separator, dtype):
            update(text, document)
            if encoding.held_out:
                met |= encoding.held_out.among(document)
            data = ids.tobytes()
            file.write(data)
            written.update(data)
            documents, tokens = documents + 1, tokens + len(ids)
    note = {
        "documents": documents,
        "tokens": tokens,
        "text_sha256": text.hexdigest(),
        "sha256": written.hexdigest(),
        "met": sorted(each.hex() for each in met),
        "part": part.identity,
        "made_with": dict(encoding.made_with),
    }
    write_sealed(path.with_suffix(".json"), note)
    return note
