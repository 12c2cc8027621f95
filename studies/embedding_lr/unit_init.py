"""Figure 3's sweep with embeddings of standard deviation 1 at every width, in two forms.

The paper's formula (Section 3.1, "Interpolation") says eta_E / eta_W = Theta(sigma_E / sigma_W
sqrt(d)). With sigma_E = 1, sigma_W = d^-1/2 and eta_W = 0.2/d that is a constant eta_E, where
d^-1/2 makes it fall as d^-1/2.

embedding_alone: the positional encoding keeps its root mean square d^-1/2, so that the embedding's
init is all that changes.
with_positions: the positional encoding is as large as the embedding, as in Figure 3's sweep: two
things change.
Their optima lie higher, and so do their grids. Nothing is judged of the latter: it is a control,
run at paper scale alone. Neither is run at reduced scale, where the former told no test, nor
overnight: by the noise on record its tests would not have had a power of 0.9.
"""

from repro.core.spec import override
from repro.core.study import Scale, Study, octaves
from studies.embedding_lr._decoder import (
    CHOSEN,
    PAPER,
    ROUNDS,
    SEARCH,
    SMOKE,
    SP_EMBEDDING,
    WORKSTATION,
    WORKSTATION_SEEDS,
    size,
)


def sweep(changes: dict, judged: bool) -> Study:
    """The sweep with these changes to the paper's settings. judged: whether a claim is about it."""
    return Study(
        task="language_model",
        spec=override(PAPER, changes),
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
            "reduced": Scale(grid={"seed": []}),
            "overnight": Scale(grid={"seed": []}),
            "workstation": Scale(
                WORKSTATION,
                {
                    "size": [size(k) for k in range(7, 12)],
                    "lr.embedding": octaves(-8, -1),
                    "seed": WORKSTATION_SEEDS if judged else [],
                },
                same_job=("seed",),
                rounds=ROUNDS["workstation"],
            ),
            "paper": Scale(rounds=ROUNDS["paper"]),
        },
        chosen_after_seeing=CHOSEN,
        **SEARCH,
    )


STAGES = {
    "embedding_alone": sweep({"init.embedding": "SP"}, judged=True),
    "with_positions": sweep(SP_EMBEDDING, judged=False),
}
