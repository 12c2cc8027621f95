"""Needs, the prepared inputs that a run reads: a dataset's tokens, arrays or texts. No torch."""

from dataclasses import dataclass

TOKENIZATION = 1  # version; raise it when `repro.data.tokenization` gives other tokens


@dataclass(frozen=True)
class Tokens:
    """A need: a dataset's tokens at one vocabulary size.

    tokenizer: `bpe`, trained on the dataset, or `gpt2`, OpenAI's with 50,257 entries.
    """

    dataset: str
    vocab_size: int
    tokenizer: str = "bpe"

    @property
    def name(self) -> str:
        """`wikitext2/512`, `fineweb/gpt2`."""
        return f"{self.dataset}/{self.vocab_size if self.tokenizer == 'bpe' else self.tokenizer}"


@dataclass(frozen=True)
class Arrays:
    """A need: a dataset's inputs and labels, or its folder of image files."""

    dataset: str

    @property
    def name(self) -> str:
        """The dataset's name."""
        return self.dataset


@dataclass(frozen=True)
class Text:
    """A need: a dataset's texts, as published."""

    dataset: str

    @property
    def name(self) -> str:
        """`wikitext2/text`."""
        return f"{self.dataset}/text"


Need = Tokens | Arrays | Text
