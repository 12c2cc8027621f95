"""Figure 1's sweep: eta_E, eta_H, eta_W, sigma_E, sigma_W per width at one vocabulary.

The paper sweeps all five but states no grid. Our grid at paper scale: every combination. On a
workstation eta_H = eta_W at three values with sigma_E = d^-1/2, and sigma_E = 1 at the middle one;
sigma_W fixed at d^-1/2. Reduced: none, its runs are `figure1`'s. Positions are as large as the
embedding.
sigma_E: d^-1/2 (LVP) or 1 (SP); sigma_W: d^-1/2 (LVP) or 1/d (muP). eta_H, eta_W: lr/d.
"""

from repro.core.study import Scale, Study, octaves
from studies.embedding_lr._decoder import (
    CHOSEN,
    LVP_EMBEDDING,
    PAPER,
    REDUCED,
    SEARCH,
    SMOKE,
    SP_EMBEDDING,
    WORKSTATION,
    WORKSTATION_LR,
    WORKSTATION_SEEDS,
)


def rate(lr: float) -> dict[str, float]:
    """eta_H = eta_W = lr / d."""
    return {"lr.hidden": lr, "lr.output": lr}


STUDY = Study(
    task="language_model",
    spec=PAPER,
    grid={
        "model.width": [256, 512, 1024, 2048, 4096],
        "lr_hidden": [{"lr.hidden": lr} for lr in (0.1, 0.2, 0.4)],
        "lr_output": [{"lr.output": lr} for lr in (0.1, 0.2, 0.4)],
        "init_embedding": [LVP_EMBEDDING, SP_EMBEDDING],
        "init.output": ["LVP", "muP"],
        "lr.embedding": octaves(-12, -2),
        "seed": [0, 1],
    },
    scales={
        "smoke": Scale(
            SMOKE,
            {
                "model.width": [32, 64],
                "lr_hidden": [rate(0.2)],
                "lr_output": [{}],
                "init.output": ["LVP"],
                "lr.embedding": octaves(-8, 0, 4),
            },
            same_job=("model.width", "init_embedding", "lr.embedding", "seed"),
        ),
        "reduced": Scale(REDUCED, {"seed": []}),
        # The runs of one rate at the five widths take 196 s; with all rounds 16 * 3 * 4 of them,
        # 10.4 hours.
        "workstation": Scale(
            WORKSTATION | {"data.vocab_size": 8_192},
            {
                "model.width": [128, 256, 512, 1024, 2048],
                "lr_hidden": [
                    *(rate(lr) | LVP_EMBEDDING for lr in (0.1, 0.2, 0.4)),
                    rate(0.2) | SP_EMBEDDING,
                ],
                "lr_output": [{}],
                "init_embedding": [{}],
                "init.output": ["LVP"],
                "lr.embedding": WORKSTATION_LR,
                "seed": WORKSTATION_SEEDS,
            },
            same_job=("seed",),
            rounds=2,
        ),
        "paper": Scale(rounds=1),
    },
    chosen_after_seeing=CHOSEN,
    **SEARCH,
)
