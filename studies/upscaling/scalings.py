"""Tables 1 to 3: scalings with two widths, and what widening multiplies, read off built layers."""

from repro.core.study import SCALES, Scale, Study

STUDY = Study(
    task="width_scalings",
    spec={
        "parametrization": "muP-multiplier",
        "width_in": 64,
        "width_out": 64,
        "factor": [2, 3],
        "draws": 64,
        "threads": 1,
        "seed": 0,
    },
    grid={
        "width_in": [16, 256],
        "width_out": [16, 256],
        "factor": [[2, 3], [3, 2]],
        "seed": [200, 201, 202, 203],
    },
    scales={scale: Scale(same_job=("width_in", "width_out", "factor", "seed")) for scale in SCALES},
)
