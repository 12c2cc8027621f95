"""Streams of documents from the Hugging Face hub or a folder, and their division into splits."""

import glob
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from repro.data import lockfiles
from repro.data.digests import of_users_file
from repro.data.parquet import File, check_whole
from repro.data.text import KINDS, blocks, check_none_left, said
from repro.errors import UserError
from repro.files import key_of, write_sealed

BATCH = 256  # documents counted at a time


def hub_files(dataset: str, repository: str, subset: str, revision: str | None) -> list[File]:
    """The parquet files of a hub dataset's train split, in order; none is read.

    Raises UserError when the hub cannot be reached or has other files.
    """
    import datasets

    place = f"{repository} ({subset}) at revision {revision}"
    try:
        builder = datasets.load_dataset_builder(repository, subset, revision=revision)
        files = [str(file) for file in builder.config.data_files["train"]]
    except Exception as error:  # the hub's client raises many kinds, all end the same way here
        _check_cache(dataset, error)
        raise UserError(
            f"{dataset}: {place} could not be reached ({_reason(error)}); try again, or use "
            f"{dataset}=FOLDER or {dataset}=embedded"
        ) from error
    if other := [file for file in files if not file.endswith(".parquet")]:
        raise UserError(
            f"{dataset}: {place} has {other[0]}, expected parquet; give {dataset}=FOLDER"
        )
    return [File(dataset, file, "run the same command again to go on") for file in files]


def from_hub(dataset: str, repository: str, subset: str, revision: str | None) -> Iterator[str]:
    """Column `text` of a hub dataset's train split, read without writing to disk.

    Raises UserError when the hub cannot be reached, reading breaks off or there is no such column.
    """
    for file in hub_files(dataset, repository, subset, revision):
        yield from file.texts()


def locked_revision(dataset: str, repository: str, lock: Path) -> str:
    """The revision of a hub dataset in the lock file.

    Without one there, it is the hub's newest revision, which is then noted there, so that every
    later read uses it. Raises UserError when the hub is needed and cannot be reached.
    """
    from huggingface_hub import HfApi

    if not lockfiles.read(lock).get("revision"):
        try:
            revision = HfApi().dataset_info(repository).sha
        except Exception as error:  # as in `from_hub`
            raise UserError(
                f"{dataset}: the revision of {repository} could not be asked for "
                f"({_reason(error)}); try again, or use {dataset}=FOLDER or {dataset}=embedded"
            ) from error
        lockfiles.write(dataset, lock, revision=revision)
    return lockfiles.read(lock)["revision"]


def folder_files(dataset: str, folder: Path) -> dict[str, list[Path]]:
    """Split -> the files of a folder, in order. Those whose names say valid (`text.SAID`) belong to
    valid, all others to train.

    A text folder has train.txt and possibly valid.txt; other folders have *.jsonl or *.parquet.
    Raises UserError when there is no file to train on, files of several kinds, or one that says
    that it is another split.
    """
    names = said(dataset, folder)
    texts = [p for p in names if names[p] and re.fullmatch(KINDS[0], p.name, re.IGNORECASE)]
    kinds = {".txt": texts} | {
        suffix: [path for path in names if path.suffix == suffix]
        for suffix in (".jsonl", ".parquet")
    }
    used = {suffix: files for suffix, files in kinds.items() if files}
    if len(used) > 1:
        raise UserError(
            f"{dataset}: {folder} holds files of several kinds ({', '.join(sorted(used))}), "
            "expected one; keep those to be read"
        )
    files = [path for each in used.values() for path in each if names[path] != "test"]
    check_none_left(dataset, names, files)
    valid = [path for path in files if names[path] == "valid"]
    train = [path for path in files if path not in valid]
    if not train:
        raise UserError(
            f"{dataset}: {folder} has no text to train on, expected train.txt, *.jsonl or "
            f"*.parquet, found {sorted(p.name for p in folder.iterdir())[:8]}"
        )
    check_whole(dataset, files)
    return {"train": train, "valid": valid}


def folder_digests(dataset: str, folder: Path) -> dict[str, str]:
    """File name -> SHA-256 of the files of `folder_files`, remembered for large files."""
    files = [path for each in folder_files(dataset, folder).values() for path in each]
    return {path.name: of_users_file(path) for path in files}


def check_enough(dataset: str, folder: Path, valid_tokens: int, digests: Mapping[str, str]) -> None:
    """Raise UserError where a folder without files of valid has no `valid_tokens` tokens for it and
    some text behind them. digests: of its files; it is counted once for them."""
    files = folder_files(dataset, folder)
    memory = Path("resources", "digests", f"{key_of([valid_tokens, dict(digests)])}.json")
    if files["valid"] or memory.exists():
        return
    stream = from_files(dataset, files["train"])
    if next(divide(dataset, stream, "train", valid_tokens), None) is None:
        raise UserError(_too_short(dataset, valid_tokens, "none more"))
    write_sealed(memory, {"valid_tokens": valid_tokens})


def _too_short(dataset: str, valid_tokens: int, there_are: str) -> str:
    return (
        f"{dataset}: the first {valid_tokens} tokens are kept for validation and there are "
        f"{there_are}; give a folder with valid.txt, valid*.jsonl or valid*.parquet"
    )


def from_files(dataset: str, files: list[Path]) -> Iterator[str]:
    """Documents of text files (one per line, empty lines left out), .jsonl or .parquet (`text`).

    Raises UserError naming the file that cannot be read or has no column `text`.
    """
    for path in files:
        if not path.stat().st_size:
            raise UserError(f"{dataset}: {path} is empty; mend or remove it")
        if path.suffix == ".txt":
            yield from (line for line in _lines(dataset, path) if line.strip())
            continue
        if path.suffix == ".parquet":
            yield from File(dataset, str(path)).texts()
            continue
        import datasets  # which takes seconds, and a text does not need it

        if "::" in str(path):  # `datasets` reads it as a chain of protocols; it cannot be escaped
            raise UserError(f"{dataset}: {path}: a path with '::' cannot be read; rename it")
        # `datasets` reads a path as a glob pattern: [12] would match another folder named 1.
        literal = glob.escape(str(path))
        try:
            rows = datasets.load_dataset(
                "json", data_files=[literal], split="train", streaming=True
            )
        except Exception as error:  # as `datasets` meets it: empty, truncated, not that format
            _check_cache(dataset, error, path)
            raise UserError(
                f"{dataset}: {path} cannot be read as json ({_reason(error)}); mend or remove it"
            ) from error
        yield from _texts(dataset, rows, str(path), "mend or remove it")


def _lines(dataset: str, path: Path) -> Iterator[str]:
    parts: list[str] = []
    try:
        for block in blocks(path):
            for number, part in enumerate(block.split("\n")):
                if number:
                    yield "".join(parts)
                    parts = []
                parts.append(part)
    except UserError as error:
        raise UserError(f"{dataset}: {error}") from None
    yield "".join(parts)


def _texts(dataset: str, rows: Iterable[Mapping], place: str, advice: str) -> Iterator[str]:
    """The texts of rows; any error while reading them becomes a UserError."""
    source = iter(rows)
    number = 0
    while True:
        try:
            row = next(source, None)
        except Exception as error:  # network, truncated file, a row of another shape
            _check_cache(dataset, error, Path(place))
            raise UserError(
                f"{dataset}: {place} broke off after {number} documents ({_reason(error)}); "
                + advice
            ) from error
        if row is None:
            return
        if "text" not in row:
            raise UserError(f"{dataset}: {place}: column 'text' is missing, found {sorted(row)}")
        if not isinstance(row["text"], str):
            raise UserError(
                f"{dataset}: {place}: 'text' of row {number} is {row['text']!r}, expected a string"
            )
        number += 1
        if row["text"]:
            yield row["text"]


def _check_cache(dataset: str, error: Exception, path: Path | None = None) -> None:
    """Raise UserError where it is not the file at `path` that `datasets` cannot reach, but its own
    cache, which lies in the home of the user."""
    if isinstance(error, OSError) and error.filename and error.filename != str(path):
        raise UserError(
            f"{dataset}: the cache of Hugging Face's datasets cannot be written "
            f"({error.filename}: {error.strerror}); set HF_HOME to a folder that can"
        ) from error


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def divide(dataset: str, stream: Iterator[str], split: str, valid_tokens: int) -> Iterator[str]:
    """One split of a stream: its first documents are valid, the rest train.

    valid is the shortest beginning with `valid_tokens` GPT-2 tokens, counting one separator per
    document. GPT-2's tokenizer counts here even if a run uses another, so that the split is fixed.
    Raises UserError when the stream has fewer tokens.
    """
    from repro.data.tokenization import gpt2

    tokenizer, count = gpt2(), 0
    while count < valid_tokens:
        batch = list(islice(stream, BATCH))
        if not batch:
            raise UserError(_too_short(dataset, valid_tokens, f"only {count}"))
        for encoding, document in zip(
            tokenizer.encode_batch_fast(batch, add_special_tokens=False), batch, strict=True
        ):
            if (split == "valid") == (count < valid_tokens):
                yield document
            count += len(encoding) + 1
    if split == "train":
        yield from stream
