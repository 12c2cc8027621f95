"""Control of Figure 3: the same sweep with embeddings of standard deviation 1 at every width.

With the paper's init d^-1/2 an update of size eta_E is sqrt(d) times larger relative to the
embedding, at any vocabulary. This control removes that effect. Its optima and grid lie higher.
"""

from repro.suite.spec import override
from repro.suite.study import Scale, Study, octaves
from studies.embedding_lr._decoder import CHOSEN, PAPER, REDUCED, SMOKE, SP_EMBEDDING, size

STUDY = Study(
    task="language_model",
    spec=override(PAPER, SP_EMBEDDING),
    grid={
        "size": [size(k) for k in range(8, 13)],
        "lr.embedding": octaves(-10, 0, 0.5),
        "seed": [0, 1, 2],
    },
    scales={
        "smoke": Scale(
            SMOKE,
            {
                "size": [size(k) for k in (5, 6)],
                "lr.embedding": octaves(-6, 2, 4),
                "seed": [0, 1],
            },
            same_job=("size", "lr.embedding", "seed"),
        ),
        "reduced": Scale(
            REDUCED,
            {
                "size": [size(k) for k in (5, 6, 7)],
                "lr.embedding": octaves(-6, 1),
                "seed": [0, 1],
            },
            same_job=("lr.embedding", "seed"),
        ),
        "paper": Scale(),
    },
    chosen_after_seeing=CHOSEN,
)
