"""The best rate of the first step, over widths and parametrizations."""

from repro.core.seeds import of_arm
from repro.core.study import Scale, Study
from studies.rate_transfer._networks import SPEC

ONE_JOB = ("parametrization", "width", "seed")

STUDY = Study(
    task="best_rate",
    spec=SPEC,
    grid={
        "parametrization": ["muP", "SP", "NTP"],
        "width": [2**k for k in range(6, 14)],
        "seed": list(range(2200, 2224)),
    },
    scales={
        "smoke": Scale(
            {"draws": 4}, {"width": [16, 32, 64], "seed": [2100, 2101, 2102]}, same_job=ONE_JOB
        ),
        "reduced": Scale(
            {"draws": 32},
            {
                "width": [2**k for k in range(5, 11)],
                "seed": of_arm("rate_transfer", "first-step", 24),
            },
            same_job=ONE_JOB,
        ),
        "overnight": Scale(
            {"draws": 40},
            {
                "width": [2**k for k in range(6, 13)],
                "seed": of_arm("rate_transfer", "first-step-night", 24),
            },
            same_job=("seed",),
        ),
        "paper": Scale(same_job=("seed",)),
    },
)
