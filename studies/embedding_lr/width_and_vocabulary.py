"""Figure 3's sweep: eta_E at (d, m) = (2^k, 2^(k+3)), eta_H = eta_W = 0.2/d, all inits d^-1/2."""

from repro.suite.study import Scale, Study, octaves
from studies.embedding_lr._decoder import CHOSEN, PAPER, REDUCED, SMOKE, size

STUDY = Study(
    task="language_model",
    spec=PAPER,
    grid={
        "size": [size(k) for k in range(8, 13)],
        "lr.embedding": octaves(-12, -2, 0.5),
        "seed": [0, 1, 2],
    },
    scales={
        "smoke": Scale(
            SMOKE,
            {
                "size": [size(k) for k in (5, 6)],
                "lr.embedding": octaves(-8, 0, 4),
                "seed": [0, 1],
            },
            same_job=("size", "lr.embedding", "seed"),
        ),
        "reduced": Scale(
            REDUCED,
            {"size": [size(k) for k in (5, 6, 7)], "lr.embedding": octaves(-8, -1)},
            same_job=("lr.embedding", "seed"),
        ),
        "paper": Scale(),
    },
    chosen_after_seeing=CHOSEN,
)
