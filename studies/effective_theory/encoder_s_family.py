"""Neural tangent kernels of the output at initialization, part by part, for s = 1/2 and s = 1.

As `encoder_tangent_kernels`, of which this is another scale of the head; smaller widths will do.
"""

from repro.core.study import Scale, Study
from studies.effective_theory._encoders import NETWORKS, SPEC

SEEDS = list(range(300, 308))
SAME_JOB = ("parametrization", "width", "network", "seed")

STUDY = Study(
    task="tangent_kernels",
    spec=SPEC | {"draws": 50, "channels": 1, "every_block": False, "parametrization": "hybrid, M"},
    grid={
        "parametrization": ["hybrid, M", "maximal-update, M"],
        "width": [64, 128, 256, 512],
        "network": NETWORKS,
        "seed": SEEDS,
    },
    scales={
        "smoke": Scale(
            spec={"draws": 2, "points": 1024},
            grid={"width": [16, 32], "seed": SEEDS[:2]},
            same_job=SAME_JOB,
        ),
        "reduced": Scale(
            spec={"draws": 24, "points": 1024}, grid={"width": [32, 64, 128]}, same_job=SAME_JOB
        ),
        "workstation": Scale(
            spec={"draws": 24}, grid={"width": [32, 64, 128, 256, 512]}, same_job=SAME_JOB[:-1]
        ),
        "paper": Scale(same_job=SAME_JOB[:-1]),
    },
)
