"""Theorem 1's mechanism in the decoder itself: one sign step of an untrained decoder on real loss.

Vocabularies of 32 (below the width: muP's regime), 512 and 4096 (the large-vocabulary regime) at
every width, and m = 8d; embeddings of standard deviation d^-1/2 and 1; LayerNorm after the residual
sum and before the layer. The positional encoding keeps its root mean square d^-1/2.
The step is one derivative: nothing is trained, and every scale has widths that a CPU takes.

every_case: everything with everything. claimed: more seeds of what claims are about.
Reduced: a seed's ratio scatters four times as far at a width of 32 as at 256, where it costs more
than ten times as much. So what is judged has a stage a width, each with seeds of its own number and
its own arm; all else is drawn, with three seeds. The small vocabulary, whose exponent is recorded
at 0.35 where 0 is claimed, has more seeds at the large widths.
"""

from repro.core.seeds import of_arm
from repro.core.spec import override
from repro.core.study import Scale, Study
from studies.embedding_lr._decoder import PAPER, SEEDS

TRAINED_ONLY = ("steps", "evaluations", "lr", "optimizer", "precision")
BATCH = {"data.batch_size": 64, "data.sequence_length": 32, "model.head_dim": 16}
WIDTHS = [32, 64, 128, 256]
SMALL_VOCABULARY, LARGE_VOCABULARY = 32, 4096


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


def below(widths: list[int]) -> list[dict]:
    """The vocabulary below the width, as in the sweeps."""
    return [{**size, **POST} for size in sizes(widths, (SMALL_VOCABULARY,))[: len(widths)]]


def above(widths: list[int]) -> list[dict]:
    """A vocabulary of 4096 as in the sweeps, 8d in three forms."""
    large = [{**s, **POST} for s in sizes(widths, (LARGE_VOCABULARY,))[: len(widths)]]
    rows = large + [{**s, **f} for s in sizes(widths, ()) for f in (POST, UNIT, PRE)]
    return [row for i, row in enumerate(rows) if row not in rows[:i]]  # m = 4096 may be 8d


def others(widths: list[int]) -> list[dict]:
    """Everything with everything, but for what claims are about."""
    forms = [{"init.embedding": i, "model.norm": n} for i in ("LVP", "SP") for n in ("post", "pre")]
    every = [{**s, **f} for s in sizes(widths, (SMALL_VOCABULARY, 512, 4096)) for f in forms]
    claimed = below(widths) + above(widths)
    return [case for case in every if case not in claimed]


def at_default(cases: list[dict], seeds: list[int]) -> Study:
    """These cases, at the default scale alone."""
    return Study(
        task="decoder_sign_step",
        spec=SPEC,
        grid={"case": cases, "seed": []},
        scales={
            "smoke": Scale(SMOKE),
            "reduced": Scale(grid={"seed": seeds}, same_job=("seed",)),
            "workstation": Scale(),
            "paper": Scale(),
        },
    )


# Width -> seeds of a large vocabulary, of a small one.
NUMBERS = dict(zip(WIDTHS, zip((160, 60, 24, 16), (160, 60, 32, 32), strict=True), strict=True))
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
                grid={"size": sizes(WIDTHS, (32, 512, 4096)), "seed": []}, same_job=SAME_JOB
            ),
            "workstation": Scale(same_job=SAME_JOB),
            "paper": Scale(same_job=SAME_JOB),
        },
    ),
    "claimed": Study(
        task="decoder_sign_step",
        spec=SPEC,
        grid={
            "case": below([64, 128, 256, 512]) + above([64, 128, 256, 512]),
            "seed": list(range(105, 116)),
        },
        scales={
            "smoke": Scale(
                SMOKE,
                {
                    "case": [{**s, **POST} for s in sizes([16, 32], (SMALL_VOCABULARY,))],
                    "seed": [102],
                },
                same_job=("case", "seed"),
            ),
            "reduced": Scale(grid={"seed": []}, same_job=("seed",)),
            "workstation": Scale(same_job=("seed",)),
            "paper": Scale(same_job=("seed",)),
        },
    ),
    "others": at_default(others(WIDTHS), SEEDS[:3]),
    **{
        f"{name}_{d}": at_default(
            cases([d]), of_arm("embedding_lr", f"mechanism-{name}-{d}", number)
        )
        for d, numbers in NUMBERS.items()
        for name, cases, number in zip(("large", "small"), (above, below), numbers, strict=True)
    },
}
