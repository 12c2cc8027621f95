"""Workload: an MLP on a table, whose readout starts at zero.

So full alignment would be muP here, but for Adam's eps, and LVP u-muP but for the embedding's init.
Paper scale: Forest Cover Type once through, 464,809 rows // 256 = 1,815 steps.
"""

from repro.core.study import octaves
from studies.transfer._workload import ADAMW, MORE, workload

SPEC = {
    "data": {"dataset": "covtype_long", "batch_size": 256},
    "model": {
        "name": "mlp",
        "inputs": 54,
        "classes": 7,
        "hidden_layers": 3,
        "width": 256,
        "base_width": 256,
    },
    "steps": 1_815,
    "precision": "float32",
}
STAGES = workload(
    SPEC | {"optimizer": ADAMW | {"betas": [0.9, 0.99]}},
    widths={
        "smoke": [64, 128],
        "reduced": [64, 128, 256],
        "workstation": [128, 256, 512, 1024, 2048],
        "paper": [256, 512, 1024, 2048],
    },
    scales={
        "smoke": {"steps": 10},
        "reduced": {"steps": 300},
        "workstation": {},
        "paper": {},
    },
    lr={
        "smoke": octaves(-8, -6, 2),
        "reduced": octaves(-10, -4),
        "workstation": octaves(-12, -4),
        "paper": octaves(-13, -4, 0.5),
    },
    parametrizations=("SP", "muP", "u-muP"),
    ratios=[0.25, 1.0, 4.0, 16.0],
    # As the decoder's. At reduced scale the narrow one's best rate was 2^-6.2.
    night={
        "widths": [64, 128, 256, 512],
        "lr": [2.0**-10.5, *octaves(-9.5, -4, 0.5), 2.0**-3],
    },
    chosen=MORE,
)
