"""Forward kernels of randomly initialized encoders against the recursions, as the width grows.

Each seed stands for a batch of independent initializations.
"""

from repro.core.study import Scale, Study
from studies.effective_theory._encoders import FURTHER, NETWORKS, SEEDS, SPEC

STUDY = Study(
    task="transformer_kernels",
    spec=SPEC,
    grid={"width": [8 * 2**k for k in range(7)], "network": NETWORKS + FURTHER, "seed": SEEDS},
    scales={
        "smoke": Scale(
            spec={"draws": 1000, "points": 1024},
            grid={"width": [8, 16, 32], "seed": SEEDS[:4]},
            same_job=("width", "network", "seed"),
        ),
        "reduced": Scale(
            spec={"draws": 4000},
            grid={"width": [8, 16, 32, 64]},
            same_job=("width", "network"),
        ),
        "workstation": Scale(
            spec={"draws": 4000}, grid={"width": [8, 16, 32, 64, 128]}, same_job=("network",)
        ),
        "paper": Scale(same_job=("network", "seed")),
    },
)
