"""A generated language with Zipf-Mandelbrot word frequencies that a small model can learn.

Words belong to latent classes, and a class depends on the previous word's class. The joint
distribution of class pairs has the words' frequencies as marginals, so word frequencies are exactly
Zipf-Mandelbrot, and consecutive words share information. Words are syllables with an ending that
shows their class.

Of six prototypes this one can be learnt in a few hundred steps: with word-specific successors or
more classes a small model learnt nothing.
"""

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


def zipf_mandelbrot_text(words: int, seed: int) -> str:
    """Text of `words` words; `seed` picks the sample, the language is always the same.

    RandomState, not Generator: its streams never change, and the text has a fixed digest.
    """
    rng = np.random.RandomState(LANGUAGE_SEED)
    p_word = (np.arange(1, VOCABULARY + 1) + SHIFT) ** -EXPONENT
    p_word /= p_word.sum()
    classes = rng.randint(CLASSES, size=VOCABULARY)
    spelling = np.array(_spell(classes, rng), dtype=object)
    p_class = np.bincount(classes, weights=p_word, minlength=CLASSES)
    pair = _balance(np.exp(SHARPNESS * rng.standard_normal((CLASSES, CLASSES))), p_class)
    step = np.cumsum(pair / pair.sum(1, keepdims=True), axis=1)

    sample = np.random.RandomState([LANGUAGE_SEED, seed + 1])
    current = int(np.searchsorted(np.cumsum(p_class), sample.random_sample()))
    uniform = sample.random_sample(words)
    chain = np.empty(words, dtype=np.int64)
    for i in range(words):
        current = min(int(np.searchsorted(step[current], uniform[i])), CLASSES - 1)
        chain[i] = current
    tokens = np.empty(words, dtype=np.int64)
    uniform = sample.random_sample(words)
    for c in range(CLASSES):
        members = np.flatnonzero(classes == c)
        cumulative = np.cumsum(p_word[members])
        drawn = np.searchsorted(cumulative, uniform[chain == c] * cumulative[-1])
        tokens[chain == c] = members[np.minimum(drawn, len(members) - 1)]
    return _lines(spelling[tokens])


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
    for rank in range(1, len(classes)):
        syllables = 1 if rank < 100 else 2 if rank < 3_000 else 3
        while True:
            word = "".join(
                ONSETS[rng.randint(len(ONSETS))]
                + VOWELS[rng.randint(len(VOWELS))]
                + CODAS[rng.randint(len(CODAS))]
                for _ in range(syllables)
            )
            if rank >= 40:
                word += endings[classes[rank]]
            if word not in taken:
                break
        taken.add(word)
        spelling.append(word)
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
