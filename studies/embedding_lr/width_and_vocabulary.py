"""Figure 3's sweep: eta_E at (d, m) = (2^k, 2^(k+3)), eta_H = eta_W = 0.2/d, all inits d^-1/2."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from repro.core.spec import override
from repro.core.study import Scale, Study, octaves
from studies.embedding_lr._decoder import (
    CHOSEN,
    OVERNIGHT_LR,
    OVERNIGHT_SEEDS,
    PAPER,
    REDUCED,
    ROUNDS,
    SEARCH,
    SEEDS,
    SMOKE,
    WORKSTATION,
    WORKSTATION_LR,
    WORKSTATION_SEEDS,
    size,
    without_runs,
)


def sweep(ratio: int = 8, changes: Mapping = MappingProxyType({})) -> Study:
    """The sweep at m = ratio * d. changes: settings, dotted key -> value."""
    return Study(
        task="language_model",
        spec=override(PAPER, changes),
        grid={
            "size": [size(k, ratio) for k in range(8, 13)],
            "lr.embedding": octaves(-12, -2, 0.5),
            "seed": [0, 1, 2],
        },
        scales={
            "smoke": Scale(
                {**SMOKE, **changes},
                {
                    "size": [size(k, ratio) for k in (5, 6)],
                    "lr.embedding": octaves(-8, 0, 4),
                    "seed": [0, 1],
                },
                same_job=("size", "lr.embedding", "seed"),
            ),
            "reduced": Scale(
                {**REDUCED, **changes},
                {
                    "size": [size(k, ratio) for k in (4, 5, 6, 7)],
                    "lr.embedding": octaves(-8, 0),
                    "seed": SEEDS,
                },
                same_job=("lr.embedding", "seed"),
            ),
            "overnight": Scale(
                {**REDUCED, **changes},
                {
                    "size": [size(k, ratio) for k in (4, 5, 6, 7, 8)],
                    "lr.embedding": OVERNIGHT_LR,
                    "seed": OVERNIGHT_SEEDS,
                },
                same_job=("lr.embedding", "seed"),
            ),
            "workstation": Scale(
                WORKSTATION,
                {
                    "size": [size(k, ratio) for k in range(7, 12)],
                    "lr.embedding": WORKSTATION_LR,
                    "seed": WORKSTATION_SEEDS,
                },
                same_job=("seed",),
                rounds=ROUNDS["workstation"],
            ),
            "paper": Scale(rounds=ROUNDS["paper"]),
        },
        chosen_after_seeing=CHOSEN,
        **SEARCH,
    )


WHOLE = sweep()
# At the default scale the slope is `figure3`'s, of the network as printed.
STUDY = replace(WHOLE, scales={**WHOLE.scales, "reduced": without_runs(WHOLE.scales["reduced"])})
