"""What a text may hold, how few entries a vocabulary may have, and that one serves the smaller."""

import json

import pytest
from refusals import refused
from tokenizers import Tokenizer

from repro.data.tokenization import SEPARATOR, UNKNOWN, cut, encode, plain, train_bpe

TEXTS = ["a b c " * 50, f"x y {SEPARATOR} z {UNKNOWN} w " * 3]


@pytest.mark.parametrize("stored", [False, True])
def test_the_characters_of_a_reserved_entry_are_plain_text(stored):
    tokenizer = train_bpe(TEXTS, 200, separator=True)
    if stored:
        tokenizer = plain(Tokenizer.from_str(tokenizer.to_str()))
    reserved = {tokenizer.token_to_id(SEPARATOR), tokenizer.token_to_id(UNKNOWN)}
    ids = encode(tokenizer, [[f"x {SEPARATOR} y", f"a {UNKNOWN} b"]])
    assert not reserved & set(ids.tolist())
    assert tokenizer.token_to_id(UNKNOWN) in encode(tokenizer, [["ж"]])  # what is unknown is so


def test_a_vocabulary_below_the_alphabet_is_refused():
    text = ["".join(map(chr, range(0x400, 0x400 + 150)))]
    with refused("a vocabulary of 100 entries: .* have 101"):
        train_bpe(text, 100)
    assert train_bpe(text, 101).get_vocab_size() == 101
    with refused("have 102"):
        train_bpe(text, 101, separator=True)
    assert train_bpe(["a b"], 3).get_vocab_size() == 3


@pytest.mark.parametrize("size", [28, 29, 60, 200, 1024])
def test_the_first_merges_of_a_larger_tokenizer_are_a_smaller_one(small_text, size):
    """Byte by byte; also where several merges make one token, and where there are no more."""
    for text in ([small_text], ["a b ab aab aabab abab aaaa b"]):
        larger = json.loads(train_bpe(text, 1024).to_str())
        found = Tokenizer.from_str(json.dumps(cut(larger, size)))
        assert found.to_str() == train_bpe(text, size).to_str()
    with refused("a vocabulary of 9 entries: the text's alphabet"):
        cut(json.loads(train_bpe([small_text], 64).to_str()), 9)
