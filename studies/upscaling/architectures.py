"""Appendix C.4: a base and its widening trained side by side in float64, three architectures.

Sizes and learning rates (in `_dynamics`) keep rounding errors small over 200 steps.
"""

from repro.core.study import Scale, Study
from studies.upscaling import _dynamics

STUDY = Study(
    task="dynamic_equivalence",
    spec=_dynamics.spec("mlp", "SGD"),
    grid={
        "factor": [2, 3, 4],
        "setting": [
            _dynamics.setting(model, optimizer)
            for model in _dynamics.MODELS
            for optimizer in _dynamics.OPTIMIZERS
        ],
    },
    scales={
        "smoke": Scale(
            spec={"steps_before": 5, "steps": 20},
            grid={"factor": [2]},
            same_job=("factor", "setting"),
        ),
        "reduced": Scale(same_job=("setting",)),
        "workstation": Scale(same_job=("setting",)),
        "paper": Scale(same_job=("setting",)),
    },
)
