"""What a text may hold, and how few entries a vocabulary may have."""

import pytest
from refusals import refused
from tokenizers import Tokenizer

from repro.data.tokenization import SEPARATOR, UNKNOWN, encode, plain, train_bpe

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
