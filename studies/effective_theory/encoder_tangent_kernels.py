"""Neural tangent kernels of randomly initialized encoders, part by part, as the width grows.

At one width the kernels of all blocks are measured; at other widths only that of the output.
"""

from repro.core.study import Scale, Study
from studies.effective_theory._encoders import FURTHER, NETWORKS, SEEDS, SPEC


def sizes(*widths: int, blocks_at: int) -> list[dict]:
    """One size per width; at width `blocks_at` every block is measured."""
    return [{"width": n, "every_block": n == blocks_at} for n in widths]


STUDY = Study(
    task="tangent_kernels",
    spec=SPEC
    | {"draws": 200, "channels": 1, "every_block": False, "parametrization": "neural-tangent, M"},
    grid={
        "size": sizes(64, 128, 256, 512, 1024, blocks_at=256),
        "network": NETWORKS + FURTHER,
        "seed": SEEDS,
    },
    scales={
        "smoke": Scale(
            spec={"draws": 6, "points": 1024},
            grid={"size": sizes(32, 64, 128, blocks_at=64), "seed": SEEDS[:4]},
            same_job=("size", "network", "seed"),
        ),
        "reduced": Scale(
            spec={"draws": 80},
            grid={"size": sizes(64, 128, 256, blocks_at=128)},
            same_job=("size", "network"),
        ),
        "workstation": Scale(
            spec={"draws": 80},
            grid={"size": sizes(32, 64, 128, 256, 512, blocks_at=128)},
            same_job=("network",),
        ),
        "paper": Scale(same_job=("network", "seed")),
    },
)
