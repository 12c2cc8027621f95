"""Byte-pair encoding of a corpus: train once per (corpus, vocabulary size), keep arrays."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from repro.errors import UserError
from repro.files import atomic_path, read_json, sha256_file, write_bytes, write_json

UNKNOWN = "[UNK]"
ALPHABET = 100  # characters kept; a byte-level alphabet leaves no room for merges at 256


def train_bpe(text: str, vocab_size: int):
    """Train a BPE tokenizer (whitespace pre-tokenization) on a text.

    Returns a `tokenizers.Tokenizer` with at most `vocab_size` entries: fewer where the text
    has no more merges to offer. Deterministic: the alphabet is ours, ties broken by code point.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    counts = Counter(text)
    characters = sorted((c for c in counts if not c.isspace()), key=lambda c: (-counts[c], c))
    alphabet = characters[:ALPHABET]
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[UNKNOWN],
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    tokenizer.train_from_iterator(text.splitlines(), trainer)
    return tokenizer


def encode(tokenizer, text: str) -> np.ndarray:
    """Token ids of a text, one array, uint16 where the vocabulary allows it, else uint32."""
    encodings = tokenizer.encode_batch(text.splitlines())
    dtype = np.uint16 if tokenizer.get_vocab_size() <= 2**16 else np.uint32
    return np.concatenate([np.asarray(e.ids, dtype=dtype) for e in encodings])


def tokenize(corpus: Path, vocab_size: int, destination: Path) -> None:
    """Train on a corpus' train split, encode every split, and write `destination`.

    corpus: the manifest written by `repro fetch`, its texts beside it.
    destination: the manifest to write, JSON; `tokenizer.json` and `tokens.safetensors` land
    beside it first.
    """
    from safetensors.numpy import save_file

    manifest = read_json(corpus)
    texts = {}
    for split, entry in manifest["splits"].items():
        path = corpus.parent / entry["file"]
        if not path.exists() or sha256_file(path) != entry["sha256"]:
            raise UserError(f"{path}: is not what {corpus} says; delete {corpus} and run again")
        texts[split] = path.read_bytes().decode()
    tokenizer = train_bpe(texts["train"], vocab_size)
    reached = tokenizer.get_vocab_size()
    if reached < vocab_size:
        print(f"vocabulary {vocab_size} asked for, {reached} reached: the text has no more merges")
    arrays = {split: encode(tokenizer, text) for split, text in texts.items()}
    folder = destination.parent
    write_bytes(folder / "tokenizer.json", tokenizer.to_str().encode())
    with atomic_path(folder / "tokens.safetensors") as temporary:
        save_file(arrays, temporary)
    write_json(
        destination,
        {
            "vocab_size": vocab_size,
            "vocab_reached": reached,
            "tokens": {split: int(a.size) for split, a in arrays.items()},
            "sha256": {
                name: sha256_file(folder / name)
                for name in ("tokenizer.json", "tokens.safetensors")
            },
        },
    )


def load_tokens(manifest_path: Path) -> tuple[Mapping, dict[str, np.ndarray]]:
    """The manifest and the arrays of `tokenize`; raises UserError when their digests differ."""
    from safetensors.numpy import load_file

    manifest = read_json(manifest_path)
    path = Path(manifest_path).parent / "tokens.safetensors"
    if not path.exists() or sha256_file(path) != manifest["sha256"][path.name]:
        raise UserError(
            f"{path}: is missing or changed since it was written; delete {manifest_path} and "
            "run the same command again"
        )
    return manifest, load_file(path)
