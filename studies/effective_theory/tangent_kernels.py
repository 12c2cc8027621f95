"""Neural tangent kernels of randomly initialized encoders, part by part, as the width grows.

Those of every block at the largest width; at the others only the network's own.
"""

from repro.study import Scale, Study
from studies.effective_theory._encoders import NETWORKS, SEEDS, SPEC


def sizes(*widths: int) -> list[dict]:
    """A size per width; the largest looks at every block."""
    return [{"width": n, "every_block": n == widths[-1]} for n in widths]


STUDY = Study(
    task="tangent_kernels",
    spec=SPEC | {"draws": 100, "channels": 2, "every_block": False, "scaling": "neural-tangent, M"},
    grid={"size": sizes(64, 128, 256, 512, 1024), "network": NETWORKS, "seed": SEEDS},
    scales={
        "smoke": Scale(
            spec={"draws": 6, "points": 1024},
            grid={"size": sizes(16, 32, 64), "seed": SEEDS[:4]},
            together=("size", "network", "seed"),
        ),
        "reduced": Scale(
            spec={"draws": 20},
            grid={"size": sizes(32, 64, 128, 256)},
            together=("size", "network"),
        ),
        "paper": Scale(together=("network", "seed")),
    },
)
