"""Figure 2: token frequencies of the training text at two vocabulary sizes."""

from repro.core.study import SCALES, Scale, Study

STUDY = Study(
    task="token_frequencies",
    spec={
        "data": {"dataset": "wikitext2", "vocab_size": 8192, "tokenizer": "bpe"},
        "split": "train",
        "points": 200,
    },
    grid={"data.vocab_size": [8192, 32_768]},
    scales=dict.fromkeys(SCALES, Scale()),
)
