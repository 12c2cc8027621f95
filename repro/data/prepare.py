"""From a dataset's module to prepared files: texts, arrays, indices, streams; then their tokens.

A module of data/ offers `identity(source)`, `describe(source)` and one of
  splits(source) -> {split: text}
  arrays(source) -> {split: {"inputs": array, "labels": array}}
  CORPUS, a `repro.data.corpus.Corpus`, for documents read as a stream.
One that offers arrays may offer `image_folder(source)` too: the folder of image files to be read
where they lie, None where the source has arrays.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from repro.data import image_folder, tokenization
from repro.data.arrays import write_arrays
from repro.data.corpus import SPLITS, Corpus
from repro.data.needs import Tokens
from repro.data.shards import write_shards
from repro.data.source import Source
from repro.errors import UserError
from repro.files import read_json, sha256, sha256_file, write_bytes, write_json


def prepare(module: ModuleType, source: Source, identity: Mapping, destination: Path) -> None:
    """Fetch or generate a dataset; write its files, then its manifest `destination`.

    Of a stream nothing is kept but that its first validation document can be read.
    """
    if hasattr(module, "splits"):
        entries = {}
        for split, content in module.splits(source).items():
            data = content.encode()
            write_bytes(destination.parent / f"{split}.txt", data)
            entries[split] = {
                "file": f"{split}.txt",
                "bytes": len(data),
                "sha256": sha256(data),
            }
        write_json(destination, {"dataset": dict(identity), "splits": entries})
    elif hasattr(module, "image_folder") and (folder := module.image_folder(source)):
        image_folder.write_index(_name(module), folder, identity, destination)
    elif hasattr(module, "arrays"):
        write_arrays(module.arrays(source), identity, destination)
    else:
        first = next(module.CORPUS.documents(source, "valid"), None)
        if first is None:
            raise UserError(
                f"{_name(module)}: split valid has no documents; give a source with text"
            )
        write_json(destination, {"dataset": dict(identity), "streamed": list(SPLITS)})


def point_at_source(module: ModuleType, source: Source, prepared: Path) -> None:
    """Before a run reads what `prepare` left: files that lie elsewhere are those of `source`."""
    folder = module.image_folder(source) if hasattr(module, "image_folder") else None
    if folder:
        image_folder.point_at(folder, prepared)


def tokenize(
    module: ModuleType, source: Source, prepared: Path, need: Tokens, destination: Path
) -> None:
    """Encode a prepared dataset and write the manifest of its tokens.

    prepared: the manifest `prepare` wrote. Raises UserError where a dataset is not text.
    """
    manifest = read_json(prepared)
    if "splits" in manifest:
        tokenization.tokenize(prepared, need.vocab_size, destination, need.tokenizer)
    elif "streamed" in manifest:
        tokenize_stream(module.CORPUS, source, need, destination)
    else:
        raise UserError(f"{_name(module)}: is not text and has no tokens")


def tokenize_stream(corpus: Corpus, source: Source, need: Tokens, destination: Path) -> None:
    """Encode a corpus into shards beside `destination`, its manifest.

    A BPE tokenizer is trained on the first `bpe_characters` characters of train, whole documents.
    """
    tokenization.check_vocab_size(need.tokenizer, need.vocab_size)
    if need.tokenizer == "gpt2":
        tokenizer = tokenization.gpt2()
    else:
        first = list(beginning(corpus.documents(source, "train"), corpus.bpe_characters))
        tokenizer = tokenization.train_bpe(first, need.vocab_size, separator=True)
    folder = destination.parent
    tokenization.write_tokenizer(tokenizer, folder / "tokenizer.json", need.vocab_size)
    separator = tokenizer.token_to_id(tokenization.SEPARATOR)
    written = {
        split: write_shards(
            corpus.documents(source, split),
            tokenizer,
            dataset=corpus.name,
            split=split,
            separator=separator,
            shard_tokens=corpus.shard_tokens,
            folder=folder,
        )
        for split in SPLITS
    }
    read = {
        split: {key: entry[key] for key in ("documents", "text_sha256")}
        for split, entry in written.items()
    }
    corpus.check_documents(source, read)
    write_json(
        destination,
        {
            "vocab_size": need.vocab_size,
            "vocab_reached": tokenizer.get_vocab_size(),
            "separator": separator,
            "tokens": {s: sum(x["tokens"] for x in w["shards"]) for s, w in written.items()},
            "documents": read,
            "shards": {split: entry["shards"] for split, entry in written.items()},
            "sha256": {"tokenizer.json": sha256_file(folder / "tokenizer.json")},
        },
    )


def beginning(documents: Iterator[str], characters: int) -> Iterator[str]:
    """Whole documents until they have at least `characters` characters."""
    count = 0
    for document in documents:
        yield document
        count += len(document)
        if count >= characters:
            return


def _name(module: ModuleType) -> str:
    return module.__name__.split(".")[-1]
