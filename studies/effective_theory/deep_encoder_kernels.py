"""Forward kernels of encoders of 24 attention-MLP pairs, block by block: do they grow with depth?

Heads and tokens as in `encoder_kernels`; the recursions of so deep a network take 3 s.
"""

from repro.core.study import Scale, Study
from studies.effective_theory._encoders import NETWORKS, SPEC

DEEP = [{"model": network["model"] | {"depth": 24}} for network in NETWORKS]
SEEDS = list(range(300, 308))

STUDY = Study(
    task="transformer_kernels",
    spec=SPEC | {"width": 128, "draws": 8, "points": 1024},
    grid={"network": DEEP, "seed": SEEDS},
    scales={
        "smoke": Scale(
            spec={"width": 64, "draws": 2, "points": 256},
            grid={"seed": SEEDS[:4]},
            same_job=("network", "seed"),
        ),
        "reduced": Scale(same_job=("network", "seed")),
        "workstation": Scale(spec={"width": 256, "draws": 16}, same_job=("network",)),
        "paper": Scale(spec={"width": 512, "draws": 32}, same_job=("network",)),
    },
)
