"""The best rate after four steps, under muP and SP over widths."""

from repro.core.seeds import of_arm
from repro.core.study import Scale, Study
from studies.rate_transfer._networks import SPEC

ONE_JOB = ("parametrization", "width", "seed")

STUDY = Study(
    task="best_rate",
    spec=SPEC | {"steps": 4, "draws": 8},
    grid={
        "parametrization": ["muP", "SP"],
        "width": [2**k for k in range(6, 12)],
        "seed": list(range(2300, 2312)),
    },
    scales={
        "smoke": Scale(
            {"draws": 1}, {"width": [16, 32], "seed": [2160, 2161, 2162]}, same_job=ONE_JOB
        ),
        "reduced": Scale(
            {"draws": 4},
            {
                "width": [2**k for k in range(5, 10)],
                "seed": of_arm("rate_transfer", "several-steps", 8),
            },
            same_job=ONE_JOB,
        ),
        "paper": Scale(same_job=("seed",)),
    },
)
