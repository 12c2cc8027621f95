"""The MLP with SGD (Figures 4 and 5).

Paper scale: the authors' grids; Sweep 2 in Algorithm 2's convention and in their code's.
"""

from functools import partial

from repro.core.seeds import of_arm
from repro.core.study import octaves
from studies.upscaling._mlp import (
    BASES,
    CHOSEN,
    CODE_LEVELS,
    CODE_LR,
    DEPARTURES,
    LEVELS,
    PAPER,
    SCALES,
    SEEDS,
    SGD,
    WIDTHS,
    WINDOWS,
)
from studies.upscaling._protocol import protocol

JUDGED = of_arm("upscaling", "mlp-sgd", 12)
sweeps = partial(
    protocol,
    PAPER | {"optimizer": SGD},
    widths=WIDTHS,
    scales=SCALES,
    windows=WINDOWS,
    lr={
        "smoke": octaves(-3, -1, 2),
        "reduced": octaves(-5, 2),
        "workstation": CODE_LR,
        "paper": CODE_LR,
    },
    lr_upscaled={
        "smoke": octaves(-3, -1, 2),
        "reduced": octaves(-5, 2),
        "workstation": CODE_LR,
        "paper": CODE_LR,
    },
    lr_scratch={
        "smoke": octaves(-3, -1, 2),
        "reduced": octaves(-5, 2),
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
    # At paper scale around the printed winner, 0.1 and 5 in the code's convention.
    target={
        "lr": {
            "smoke": [0.25],
            "reduced": octaves(-2, 0),
            "workstation": CODE_LR[4:7],
            "paper": CODE_LR[4:7],
        },
        "levels": {
            "smoke": [1.0],
            "reduced": octaves(-2, 0),
            "workstation": [1.0, 1.25, 1.5],
            "paper": [1.0, 1.25, 1.5],
        },
        "lr_without_noise": {
            "smoke": [0.25],
            "reduced": octaves(-3, -1),
            "workstation": CODE_LR[4:7],
            "paper": CODE_LR[4:7],
        },
    },
    seeds=SEEDS | {"reduced": JUDGED},
    base_seeds=SEEDS | {"reduced": JUDGED[:BASES]},
    whole=True,
    chosen_after_seeing=CHOSEN,
    departures=DEPARTURES,
)
STAGES = sweeps()
