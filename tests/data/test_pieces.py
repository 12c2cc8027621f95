"""A text is read and tokenized a piece at a time, and has the tokens of the whole."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
from refusals import refused

from repro.data import text, tokenization
from repro.data.prepare import prepare
from repro.data.source import Source

# White space as Unicode, Python and the tokenizers' expressions see it differently.
PARTS = (
    *(" ", "  ", "\n", "\r\n", "\n\n", " \n", "\t", "\x1c", "\x1f", "\x85", "\u2028", "\u00a0"),
    *("a", "bc", "Zeit", "é", "漢字", "'s", " 's", "12", "!?", "[UNK]", "<|endoftext|>", "\u200b"),
)


@pytest.fixture
def odd():
    chosen = random.Random(0)
    return "".join(chosen.choice(PARTS) for _ in range(20_000))


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(text, "PIECE", 64)


def test_pieces_are_the_text_and_have_its_tokens(odd, small_pieces):
    found = [*text.pieces(text.cut(odd), "odd")]
    assert "".join(found) == odd and len(found) > 200
    tokenizer = tokenization.gpt2()
    whole = tokenizer.encode(odd).ids
    np.testing.assert_array_equal(tokenization.encode(tokenizer, ([p] for p in found)), whole)


def test_lines_in_pieces_have_the_tokens_of_whole_lines(odd, small_pieces, tmp_path):
    (tmp_path / "odd.txt").write_bytes(odd.encode())
    in_pieces = tokenization.Lines(tmp_path / "odd.txt")
    trained = [tokenization.train_bpe(lines, 60) for lines in (odd.splitlines(), in_pieces)]
    assert trained[0].to_str() == trained[1].to_str()
    whole = tokenization.encode(trained[0], [odd.splitlines()])
    np.testing.assert_array_equal(tokenization.encode(trained[0], [[*in_pieces]]), whole)
    assert len(whole) > 10_000


@pytest.mark.parametrize("kind, size", [("bpe", 300), ("gpt2", 50_257)])
def test_of_one_long_line_the_tokenizer_sees_a_piece_at_a_time(tmp_path, kind, size, monkeypatch):
    """It takes a hundred times as much memory as the text that it is given."""
    (tmp_path / "train.txt").write_text("some words of a line " * 50_000)
    module = SimpleNamespace(
        __name__="data.text", splits=lambda source: {"train": source.folder / "train.txt"}
    )
    manifest = tmp_path / "text" / "manifest.json"
    prepare(module, Source("folder", tmp_path), {}, manifest)
    given, encode = [], tokenization.encode

    def watched(tokenizer, batches):
        return encode(tokenizer, (given.append(sum(map(len, b))) or b for b in batches))

    monkeypatch.setattr(tokenization, "encode", watched)
    tokenization.tokenize(manifest, size, tmp_path / kind / "tokens.json", kind)
    assert sum(given) > 1_000_000 and max(given) < 2 * text.PIECE


def test_the_wrong_byte_is_named_by_its_place_in_the_whole_file(tmp_path, small_pieces):
    (tmp_path / "train.txt").write_bytes("é".encode() * 1_000 + b"\xff")
    with refused(r"^text: .*not UTF-8 \(byte 0xff at offset 2000\)"):
        text.check_text("text", tmp_path / "train.txt")
    (tmp_path / "train.txt").write_bytes(b"a" * 63 + "é".encode()[:1])
    with refused(r"not UTF-8 \(byte 0xc3 at offset 63\)"):
        text.check_text("text", tmp_path / "train.txt")
