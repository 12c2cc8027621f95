"""A generated language with Zipf-Mandelbrot word frequencies that a small model can learn.

Words belong to latent classes, and a class depends on the previous word's class. The joint
distribution of class pairs has the words' frequencies as marginals, so word frequencies are exactly
Zipf-Mandelbrot, and consecutive words share information. Words are syllables with an ending that
shows their class.

Of six prototypes this one can be learnt in a few hundred steps: with word-specific successors or
more classes a small model learnt nothing.
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cache, lru_cache
from operator import length_hint

import numpy as np

VOCABULARY = 30_000
CLASSES = 24
SHARPNESS = 4.0  # standard deviation of log class-pair probabilities before balancing
EXPONENT = 1.1  # p_i proportional to (i + SHIFT)^-EXPONENT
SHIFT = 1.0
LANGUAGE_SEED = 20250614
SENTENCE_END = "."  # the most frequent word
WORDS_PER_LINE = 100

ONSETS = [
    "b",
    "ch",
    "d",
    "f",
    "g",
    "h",
    "k",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "sh",
    "t",
    "v",
    "w",
    "y",
    "z",
    "tr",
    "st",
    "pl",
    "gr",
]
VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "oo"]
CODAS = ["", "", "", "n", "r", "s", "l", "t", "m"]


@lru_cache(maxsize=3)
def zipf_mandelbrot_text(words: int, seed: int) -> str:
    """Text of `words` words; `seed` picks the sample, the language is always the same.

    RandomState, not Generator: its streams never change, and the text has a fixed digest.
    """
    p_word, classes, spelling, p_class, step = _language()
    sample = np.random.RandomState([LANGUAGE_SEED, seed + 1])
    current = int(np.searchsorted(np.cumsum(p_class), sample.random_sample()))
    chain = []
    for drawn in sample.random_sample(words).tolist():
        current = min(bisect_left(step[current], drawn), CLASSES - 1)
        chain.append(current)
    of_class = np.array(chain)
    tokens = np.empty(words, dtype=np.int64)
    uniform = sample.random_sample(words)
    for c in range(CLASSES):
        members = np.flatnonzero(classes == c)
        cumulative = np.cumsum(p_word[members])
        found = np.searchsorted(cumulative, uniform[of_class == c] * cumulative[-1])
        tokens[of_class == c] = members[np.minimum(found, len(members) - 1)]
    return _lines(spelling[tokens])


@cache
def _language() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[list[float]]]:
    """Of all words (VOCABULARY,): probabilities, classes and spellings. The classes' probabilities,
    and for each of them the cumulated ones of the class that follows."""
    rng = np.random.RandomState(LANGUAGE_SEED)
    p_word = (np.arange(1, VOCABULARY + 1) + SHIFT) ** -EXPONENT
    p_word /= p_word.sum()
    classes = rng.randint(CLASSES, size=VOCABULARY)
    spelling = np.array(_spell(classes, rng), dtype=object)
    p_class = np.bincount(classes, weights=p_word, minlength=CLASSES)
    pair = _balance(np.exp(SHARPNESS * rng.standard_normal((CLASSES, CLASSES))), p_class)
    step = np.cumsum(pair / pair.sum(1, keepdims=True), axis=1)
    return p_word, classes, spelling, p_class, step.tolist()


def _balance(law: np.ndarray, marginal: np.ndarray) -> np.ndarray:
    """Sinkhorn's iteration: scale rows and columns until both sums are `marginal`."""
    for _ in range(500):
        law = law * (marginal / law.sum(1))[:, None]
        law = law * (marginal / law.sum(0))
    return law


def _spell(classes: np.ndarray, rng: np.random.RandomState) -> list[str]:
    """A different spelling per word: longer for rare words, with a class ending past rank 40."""
    endings = [ONSETS[c % len(ONSETS)] + VOWELS[c % len(VOWELS)] for c in range(CLASSES)]
    spelling, taken = [SENTENCE_END], {SENTENCE_END}
    copy = np.random.RandomState()
    copy.set_state(rng.get_state())
    count = 20 * len(classes)  # more than are taken
    ahead = iter(copy.randint(2**32, size=count, dtype=np.uint32).tolist())

    def one_of(parts: Sequence[str], mask: int) -> str:
        """parts[rng.randint(len(parts))]: by the first draw whose last bits are small enough."""
        return next(parts[i] for draw in ahead if (i := draw & mask) < len(parts))

    for rank in range(1, len(classes)):
        syllables = 1 if rank < 100 else 2 if rank < 3_000 else 3
        while True:
            word = "".join(
                one_of(ONSETS, 31) + one_of(VOWELS, 7) + one_of(CODAS, 15) for _ in range(syllables)
            )
            if rank >= 40:
                word += endings[classes[rank]]
            if word not in taken:
                break
        taken.add(word)
        spelling.append(word)
    rng.randint(2**32, size=count - length_hint(ahead), dtype=np.uint32)  # go on behind them
    return spelling


def _lines(words: np.ndarray) -> str:
    """Lines of whole sentences, about WORDS_PER_LINE words each."""
    lines, start = [], 0
    ends = np.flatnonzero(words == SENTENCE_END) + 1
    for end in ends.tolist():
        if end - start >= WORDS_PER_LINE:
            lines.append(" ".join(words[start:end]))
            start = end
    if start < len(words):
        lines.append(" ".join(words[start:]))
    return "\n".join(lines) + "\n"
