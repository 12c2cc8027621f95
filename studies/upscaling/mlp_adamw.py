"""The MLP with AdamW (Figures 2, 6 and 7).

Paper scale: the authors' grids; Sweep 2 in Algorithm 2's convention and in their code's.
"""

from functools import partial

from repro.core.seeds import of_arm
from repro.core.study import octaves
from studies.upscaling._mlp import (
    ADAMW,
    BASES,
    CHOSEN,
    CODE_LEVELS,
    CODE_LR,
    DEPARTURES,
    LEVELS,
    PAPER,
    SCALES,
    SEEDS,
    WIDTHS,
    WINDOWS,
)
from studies.upscaling._protocol import protocol

JUDGED = of_arm("upscaling", "mlp-adamw", 12)
sweeps = partial(
    protocol,
    PAPER | {"optimizer": ADAMW},
    widths=WIDTHS,
    scales=SCALES,
    windows=WINDOWS,
    lr={
        "smoke": octaves(-7, -5, 2),
        "reduced": octaves(-10, -3),
        "workstation": CODE_LR,
        "paper": CODE_LR,
    },
    lr_upscaled={
        "smoke": octaves(-7, -5, 2),
        "reduced": octaves(-9, -3),
        "workstation": CODE_LR,
        "paper": CODE_LR,
    },
    lr_scratch={
        "smoke": octaves(-7, -5, 2),
        "reduced": octaves(-8, -2),
        "workstation": CODE_LR,
        "paper": CODE_LR,
    },
    levels={
        "smoke": [0.0, 1.0],
        "reduced": [0.0, *octaves(-4, 3)],
        "workstation": LEVELS,
        "paper": LEVELS,
    },
    code_levels={
        "smoke": [0.0, 4.0],
        "reduced": [0.0, *octaves(-2, 5)],
        "workstation": CODE_LEVELS,
        "paper": CODE_LEVELS,
    },
    # At paper scale around the printed winner, 0.013 and 4 in the code's convention.
    target={
        "lr": {
            "smoke": [2.0**-6],
            "reduced": octaves(-6, -4),
            "workstation": CODE_LR[1:4],
            "paper": CODE_LR[1:4],
        },
        "levels": {
            "smoke": [1.0],
            "reduced": octaves(-2, 0),
            "workstation": [0.75, 1.0, 1.25],
            "paper": [0.75, 1.0, 1.25],
        },
        "lr_without_noise": {
            "smoke": [2.0**-6],
            "reduced": octaves(-9, -7),
            "workstation": CODE_LR[1:4],
            "paper": CODE_LR[1:4],
        },
    },
    seeds=SEEDS | {"reduced": JUDGED},
    base_seeds=SEEDS | {"reduced": JUDGED[:BASES]},
    whole=True,
    chosen_after_seeing=CHOSEN,
    departures=DEPARTURES,
)
STAGES = sweeps()
