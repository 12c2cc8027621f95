"""Figures 4a and 5: the decoder of Table 3 at the baseline's ratio and at sqrt(d), 1.75T tokens."""

from repro.core.seeds import of_arm
from repro.core.study import Scale, Study
from studies.embedding_lr._llm import (
    BASELINE,
    CHOSEN,
    PAPER,
    SMALL,
    TINY,
    WORKSTATION,
    WORKSTATION_SEEDS,
    sqrt_d,
)

TEXT = {"data.text.stride": 32}

STUDY = Study(
    task="pretraining",
    spec=PAPER,
    grid={"ratio": [BASELINE, sqrt_d(1.0)], "seed": [0]},
    scales={
        "smoke": Scale(
            TINY | TEXT | {"data.text.limit": 50}, {"seed": [0, 1]}, same_job=("ratio", "seed")
        ),
        "reduced": Scale(
            SMALL | TEXT | {"data.text.limit": 1_000, "steps": 400, "evaluations": 10},
            {"seed": of_arm("embedding_lr", "fig4", 2)},
            same_job=("seed",),
        ),
        # 2_000 steps * 2^17 tokens = 262 million tokens, a quarter of the text; a step is 165 ms of
        # products and 174 ms of memory, so a run takes 11 minutes, and all six 1.1 hours
        "workstation": Scale(
            WORKSTATION | {"data.text.stride": 512, "steps": 2_000, "evaluations": 20},
            {"seed": WORKSTATION_SEEDS},
        ),
        "paper": Scale(),
    },
    chosen_after_seeing=CHOSEN,
)
