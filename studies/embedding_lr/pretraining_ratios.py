"""Figure 4b: ratios of the embedding's learning rate around sqrt(d), 65B tokens.

Reduced: ratios up to 128 sqrt(d), until they get worse.
"""

from repro.core.seeds import of_arm
from repro.core.spec import override
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

STUDY = Study(
    task="pretraining",
    # 15_497 steps * 2^22 tokens = 65B tokens
    spec=override(PAPER, {"data.text": None, "steps": 15_497, "evaluations": 50}),
    grid={"ratio": [BASELINE, *(sqrt_d(2.0**k) for k in range(-2, 3))], "seed": [0]},
    scales={
        "smoke": Scale(
            TINY,
            {"ratio": [BASELINE, sqrt_d(1.0), sqrt_d(2.0)], "seed": [0, 1]},
            same_job=("ratio", "seed"),
        ),
        "reduced": Scale(
            SMALL | {"steps": 150, "evaluations": 5},
            {
                "ratio": [BASELINE, *(sqrt_d(2.0**k) for k in range(-2, 8))],
                "seed": of_arm("embedding_lr", "fig4-ratios", 2),
            },
            same_job=("seed",),
        ),
        # 1_000 steps * 2^17 tokens = 131 million tokens, 5.2 minutes; 9 ratios * 3 seeds: 2.3
        # hours
        "workstation": Scale(
            WORKSTATION | {"steps": 1_000, "evaluations": 10},
            {
                "ratio": [BASELINE, *(sqrt_d(2.0**k) for k in range(-2, 6))],
                "seed": WORKSTATION_SEEDS,
            },
        ),
        "paper": Scale(),
    },
    chosen_after_seeing=CHOSEN,
)
