"""Token shards: a stream of documents as files with a fixed number of tokens, written resumably.

A shard is an .npy array of token ids. A JSON file with the same name holds its checksum and the
position in the stream where the shard was full. A document may continue in the next shard.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypedDict, get_type_hints

import numpy as np

from repro.data.digests import remembered_sha256
from repro.errors import UserError
from repro.files import (
    atomic_path,
    check_keys,
    read_sealed,
    remove_temporaries,
    sha256_file,
    write_sealed,
)

BATCH = 1_000  # documents encoded at a time


class ShardedTokens:
    """The tokens of a split as memory-mapped arrays, `shards`, in order.

    digests: SHA-256 of every shard's file, None of arrays that lie in no file.
    """

    def __init__(self, shards: list[np.ndarray], digests: Sequence[str] | None = None):
        self.shards, self.digests = shards, digests

    def __len__(self) -> int:
        return sum(len(shard) for shard in self.shards)

    def derived(
        self, name: str, settings: Mapping, make: Callable[[np.ndarray], np.ndarray]
    ) -> list[np.ndarray]:
        """make(shard) of every shard, kept beside it and memory-mapped, so that it is computed
        once: not at every start, nor in every process of a run.

        name: of the files, `train-00000.{name}.npy`. settings: all that `make` depends on besides
        the shard, as JSON values. Processes that need the same share the work.
        Where the folder cannot be written or has no file locks, everything is made in memory.
        """
        if self.digests is None:
            return [make(shard) for shard in self.shards]
        places = [
            _Derived(Path(shard.filename), name, {"shard": digest, **settings})  # type: ignore[attr-defined]
            for shard, digest in zip(self.shards, self.digests, strict=True)
        ]
        # At first what nobody else is at; then wait for the others, and make what they left.
        for wait in (False, True):
            for place, shard in zip(places, self.shards, strict=True):
                place.make(shard, make, wait)
        return [place.read() for place in places]


class _Derived:
    """An array made from one shard, beside it; the JSON file of the same name says from what."""

    def __init__(self, shard: Path, name: str, made_with: Mapping):
        self.path = shard.with_suffix(f".{name}.npy")
        self.note = self.path.with_suffix(".json")
        self.made_with = dict(made_with)
        self.array: np.ndarray | None = None

    def is_made(self) -> bool:
        """Whether it is there, whole and made with the same settings from the same shard."""
        known = noted(self.note, {"made_with": dict, "sha256": str})
        if known is None or known["made_with"] != self.made_with or not self.path.exists():
            return False
        return (
            remembered_sha256(self.path, self.path.with_suffix(".verified.json")) == known["sha256"]
        )

    def make(self, shard: np.ndarray, make: Callable[[np.ndarray], np.ndarray], wait: bool) -> None:
        """Make and write it, unless that is done, or, without `wait`, another process is at it."""
        from filelock import FileLock, Timeout

        if self.array is not None or self.is_made():
            return
        lock = self.path.with_name(f".{self.path.name}.lock")
        made, begun = None, False
        try:
            with FileLock(lock, blocking=wait, fallback_to_soft=False):
                try:
                    if not self.is_made():
                        begun = True
                        made = make(shard)
                        with atomic_path(self.path) as temporary:
                            np.save(temporary, made)
                        found = sha256_file(self.path)
                        write_sealed(self.note, {"made_with": self.made_with, "sha256": found})
                finally:
                    lock.unlink(missing_ok=True)
        except Timeout:
            return
        except (OSError, NotImplementedError, UserError):  # read-only, full, or without locks
            if begun and made is None:
                raise  # making it failed: a second time would tell the same, later
            self.array = make(shard) if made is None else made

    def read(self) -> np.ndarray:
        """The array, memory-mapped."""
        if self.array is not None:
            return self.array
        return np.asarray(np.load(self.path, mmap_mode="r", allow_pickle=False))


def parts_of(tokens: np.ndarray | ShardedTokens) -> list[np.ndarray]:
    """The arrays that tokens lie in: one, or each shard."""
    return tokens.shards if isinstance(tokens, ShardedTokens) else [tokens]


def token_dtype(tokenizer) -> type:
    """uint16 if the vocabulary of a `tokenizers.Tokenizer` is small enough, else uint32."""
    return np.uint16 if tokenizer.get_vocab_size() <= 2**16 else np.uint32


def write_shards(
    documents: Iterable[str],
    tokenizer,
    *,
    dataset: str,
    split: str,
    separator: int | None,
    shard_tokens: int,
    folder: Path,
) -> dict:
    """Encode a stream of documents into `folder`: {split}-00000.npy, {split}-00001.npy, ...

    tokenizer: a `tokenizers.Tokenizer`. separator: token id after every document, or None.
    shard_tokens: tokens of every shard but the last.
    Returns {"documents": their number, "text_sha256": of all of them, "shards": [{"file",
    "tokens", "sha256"}, ...]}.
    If a call was killed, the next one continues after the last complete shard: it reads the earlier
    documents again, without encoding them, and writes the same bytes.
    Raises UserError when the stream is empty, or gives other documents when it is read again.
    """
    made_with = made_by(tokenizer, separator, shard_tokens)
    shards = Shards(folder, split, made_with)
    if shards.finished:
        return shards.finished
    # The stream cannot be entered in the middle: earlier documents are read again, and their digest
    # shows that they are the same as before.
    state = shards.done[-1] if shards.done else {"documents": 0, "offset": 0}
    number, offset = state["documents"], state["offset"]
    stream, text = iter(documents), hashlib.sha256()
    for document in islice(stream, number):
        update(text, document)
    if shards.done and text.hexdigest() != state["text_sha256"]:
        raise UserError(
            f"{dataset}: the first {number} documents of split {split} are not those of the call "
            f"that was interrupted; delete {folder} and run the same command again"
        )
    buffer: np.ndarray = np.empty(shard_tokens, dtype=token_dtype(tokenizer))
    filled = 0

    def write() -> None:
        position = {"documents": number, "offset": offset, "text_sha256": text.hexdigest()}
        shards.write(buffer[:filled], position)

    # `number` (of the document) and `offset` (in tokens) are the position in the stream. Each shard
    # stores both, so that the next call can continue inside a document that a shard ends in.
    for document, ids in encoded(stream, tokenizer, separator, buffer.dtype):
        while offset < len(ids):
            part = ids[offset : offset + shard_tokens - filled]
            buffer[filled : filled + len(part)] = part
            filled, offset = filled + len(part), offset + len(part)
            if filled == shard_tokens:
                write()
                filled = 0
        update(text, document)
        number, offset = number + 1, 0
    if filled:
        write()
    if not shards.done:
        raise UserError(f"{dataset}: split {split} has no documents; give a source with text")
    return shards.finish({"documents": number, "text_sha256": text.hexdigest()})


def made_by(tokenizer, separator: int | None, shard_tokens: int) -> dict:
    """What shards of one stream depend on, as JSON values."""
    return {
        "tokenizer": hashlib.sha256(tokenizer.to_str().encode()).hexdigest(),
        "separator": separator,
        "shard_tokens": shard_tokens,
    }


class Shards:
    """The shards of a split while they are written.

    made_with: what they depend on, `made_by` and more. finished: what `write_shards` returns, where
    an earlier call came to the end with the same settings, else None. done: what is noted of the
    full shards that an earlier call left; all that belongs to others is removed.
    """

    def __init__(self, folder: Path, split: str, made_with: Mapping):
        self.folder, self.split, self.made_with = folder, split, dict(made_with)
        self.summary = folder / f"{split}.json"
        self.done = _finished(folder, split, made_with)
        self.finished = self._known()
        if self.finished:
            return
        self.summary.unlink(missing_ok=True)
        # A short shard was the end of the stream; it is made again after the full shards.
        self.done = [s for s in self.done if s["tokens"] == made_with["shard_tokens"]]
        kept = {f"{split}-{i:05d}" for i in range(len(self.done))}
        for path in folder.glob(f"{split}-*"):
            if path.name.split(".")[0] not in kept:
                path.unlink()
        remove_temporaries(
            folder, f".{split}-*"
        )  # what a killed call left in the middle of a write

    def _known(self) -> dict | None:
        known = noted(self.summary, {"made_with": dict, "shards": list[dict]})
        if not known or known["made_with"] != self.made_with:
            return None
        return _result(known) if known["shards"] == [_entry(s) for s in self.done] else None

    def write(self, tokens: np.ndarray, position: Mapping = MappingProxyType({})) -> None:
        """Write the next shard, and a note of it with where the stream was then."""
        path = self.folder / f"{self.split}-{len(self.done):05d}.npy"
        with atomic_path(path) as temporary:
            np.save(temporary, tokens)
        shard = {"file": path.name, "tokens": len(tokens), "sha256": sha256_file(path)}
        shard |= {**position, "made_with": self.made_with}
        write_sealed(path.with_suffix(".json"), shard)
        self.done.append(shard)

    def finish(self, read: Mapping) -> dict:
        """Note that the stream has ended, and what was read of it; returns that and the shards."""
        entries = [_entry(shard) for shard in self.done]
        found = {**read, "shards": entries, "made_with": self.made_with}
        write_sealed(self.summary, found)
        return _result(found)


def encoded(
    stream: Iterator[str], tokenizer, separator: int | None, dtype
) -> Iterator[tuple[str, np.ndarray]]:
    """(document, its token ids); names of special tokens in a document are plain text."""
    end = [] if separator is None else [separator]
    tokenizer.encode_special_tokens = True
    while batch := list(islice(stream, BATCH)):
        encodings = tokenizer.encode_batch_fast(batch, add_special_tokens=False)
        for document, encoding in zip(batch, encodings, strict=True):
            yield document, np.asarray(encoding.ids + end, dtype=dtype)


def update(digest, document: str) -> None:
    """Go on with the digest of all documents by one more."""
    digest.update(document.encode("utf-8", "surrogatepass") + b"\0")


class Shard(TypedDict):
    """What a manifest says of a shard."""

    file: str
    tokens: int
    sha256: str


SHARD = {**get_type_hints(Shard), "made_with": dict}  # of an earlier call


def _entry(shard: Mapping) -> dict:
    return {key: shard[key] for key in ("file", "tokens", "sha256")}


def _result(summary: Mapping) -> dict:
    return {key: value for key, value in summary.items() if key != "made_with"}


def noted(path: Path, kind: Any) -> dict | None:
    """What an earlier call wrote down of a shard or a split; None where it is missing, changed or
    of another type: what it was of is then made again."""
    try:
        return read_sealed(path, kind=kind)
    except UserError:
        return None


def _finished(folder: Path, split: str, made_with: Mapping) -> list[dict]:
    """Complete shards of an earlier call, up to the first that is missing or damaged."""
    done: list[dict] = []
    while True:
        path = folder / f"{split}-{len(done):05d}.npy"
        shard = noted(path.with_suffix(".json"), SHARD)
        if shard is None or shard["made_with"] != made_with:
            return done
        if not path.exists() or sha256_file(path) != shard["sha256"]:
            return done
        done.append(shard)
        if shard["tokens"] < made_with["shard_tokens"]:
            return done


def load_shards(manifest: Mapping, manifest_path: Path) -> dict[str, ShardedTokens]:
    """Split -> its tokens, memory-mapped; a checksum is computed again only if a file changed.

    Raises UserError naming a shard that is missing or differs from the manifest.
    """
    check_keys(manifest, {"shards": dict[str, list[Shard]]}, manifest_path)
    result = {}
    for split, entries in manifest["shards"].items():
        shards = []
        for entry in entries:
            path = manifest_path.parent / entry["file"]
            advice = f"delete {manifest_path} and run the same command again"
            if not path.exists():
                raise UserError(f"{path}: the shard is missing; {advice}")
            found = remembered_sha256(path, path.with_suffix(".verified.json"))
            if found != entry["sha256"]:
                raise UserError(
                    f"{path}: the shard has SHA-256 {found}, expected {entry['sha256']}; {advice}"
                )
            shards.append(np.load(path, mmap_mode="r", allow_pickle=False))
        result[split] = ShardedTokens(shards, [entry["sha256"] for entry in entries])
    return result
