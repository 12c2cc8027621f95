"""Theorem 1's mechanism in the decoder itself: one sign step of an untrained decoder on real loss.

Vocabularies of 32 (below the width: muP's regime), 512 and 4096 (the large-vocabulary regime) at
every width, and m = 8d; embeddings of standard deviation d^-1/2 and 1; LayerNorm after the residual
sum and before the layer. The positional encoding keeps its root mean square d^-1/2.
The step is one derivative: nothing is trained, and every scale has widths that a CPU takes.
"""

from repro.suite.spec import override
from repro.suite.study import Scale, Study
from studies.embedding_lr._decoder import PAPER, SEEDS

TRAINED_ONLY = ("steps", "evaluations", "lr", "optimizer", "precision")
BATCH = {"data.batch_size": 64, "data.sequence_length": 32, "model.head_dim": 16}
WIDTHS = [32, 64, 128, 256]


def sizes(widths: list[int], vocabularies: tuple[int, ...]) -> list[dict]:
    """Every width with each of the vocabularies, and with 8 words per unit of width."""
    pairs = [(d, m) for m in vocabularies for d in widths] + [(d, 8 * d) for d in widths]
    return [{"model.width": d, "data.vocab_size": m} for d, m in dict.fromkeys(pairs)]


SPEC = {k: v for k, v in override(PAPER, BATCH).items() if k not in TRAINED_ONLY}
SAME_JOB = ("init.embedding", "model.norm", "seed")
SMOKE = {"data.batch_size": 8}
POST, UNIT, PRE = (
    {"init.embedding": init, "model.norm": norm}
    for init, norm in (("LVP", "post"), ("SP", "post"), ("LVP", "pre"))
)


def claimed(widths: list[int]) -> list[dict]:
    """What claims are about: vocabularies of 32 and 4096 as in the sweeps, 8d in three forms."""
    small, large = ([{**s, **POST} for s in sizes(widths, (m,))[: len(widths)]] for m in (32, 4096))
    rows = small + large + [{**s, **f} for s in sizes(widths, ()) for f in (POST, UNIT, PRE)]
    return [row for i, row in enumerate(rows) if row not in rows[:i]]  # m = 4096 may be 8d


STAGES = {
    # Everything with everything, five seeds; the claims' rows get more, for noise that size.
    "every_case": Study(
        task="decoder_sign_step",
        spec=SPEC,
        grid={
            "size": sizes([64, 128, 256, 512], (32, 512, 4096)),
            "init.embedding": ["LVP", "SP"],
            "model.norm": ["post", "pre"],
            "seed": SEEDS,
        },
        scales={
            "smoke": Scale(
                SMOKE,
                {
                    "size": sizes([16, 32], (32, 512)),
                    "model.norm": ["post"],
                    "seed": [100, 101],
                },
                same_job=("size", *SAME_JOB),
            ),
            "reduced": Scale(
                grid={"size": sizes(WIDTHS, (32, 512, 4096))},
                same_job=SAME_JOB,
            ),
            "workstation": Scale(same_job=SAME_JOB),
            "paper": Scale(same_job=SAME_JOB),
        },
    ),
    "claimed": Study(
        task="decoder_sign_step",
        spec=SPEC,
        grid={"case": claimed([64, 128, 256, 512]), "seed": list(range(105, 116))},
        scales={
            "smoke": Scale(
                SMOKE,
                {
                    "case": [{**s, **POST} for s in sizes([16, 32], (32,))],
                    "seed": [102],
                },
                same_job=("case", "seed"),
            ),
            "reduced": Scale(grid={"case": claimed(WIDTHS)}, same_job=("seed",)),
            "workstation": Scale(same_job=("seed",)),
            "paper": Scale(same_job=("seed",)),
        },
    ),
}
