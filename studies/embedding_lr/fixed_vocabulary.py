"""Control of Figure 3: the same sweep with one vocabulary for every width."""

from repro.suite.study import Scale, Study, octaves
from studies.embedding_lr._decoder import CHOSEN, PAPER, REDUCED, SMOKE

STUDY = Study(
    task="language_model",
    spec=PAPER,
    grid={
        "model.width": [256, 512, 1024, 2048, 4096],
        "lr.embedding": octaves(-12, -2, 0.5),
        "seed": [0, 1, 2],
    },
    scales={
        "smoke": Scale(
            SMOKE,
            {
                "model.width": [32, 64],
                "lr.embedding": octaves(-8, 0, 4),
                "seed": [0, 1],
            },
            same_job=("model.width", "lr.embedding", "seed"),
        ),
        "reduced": Scale(
            REDUCED,
            {
                "model.width": [32, 64, 128],
                "lr.embedding": octaves(-8, -1),
                "seed": [0, 1],
            },
            same_job=("lr.embedding", "seed"),
        ),
        "paper": Scale(),
    },
    chosen_after_seeing=CHOSEN,
)
