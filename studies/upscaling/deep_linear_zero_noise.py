"""E.3 and E.4 without noise: narrow and wide networks with every matrix trained in float64.

The wide ones are compared with narrow ones trained further: widening alone must change nothing.
"""

from repro.core.study import SCALES, Scale, Study
from repro.theory.upscaling_limit import NAMES
from studies.upscaling._deep_linear import SPEC

ALONE = Scale(same_job=("network", "factor"))
STUDY = Study(
    task="deep_linear",
    spec=SPEC | {"updates": "matrices"},
    grid={
        "width": [32],
        "network": [
            {"layers": k, "noise": dict.fromkeys(names, 0.0)} for k, names in NAMES.items()
        ],
        "factor": [2, 3],
        "seed": [0],
    },
    scales=dict.fromkeys(SCALES, ALONE),
)
