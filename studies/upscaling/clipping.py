"""Widened training with gradients clipped by the plain global norm, or by a width-aware one.

The limits are so small that every step is clipped.
"""

from repro.core.study import Scale, Study
from studies.upscaling import _dynamics

NORMS = {"mlp": 0.01, "gpt2": 0.01}
SETTINGS = (("mlp", "SGD"), ("mlp", "AdamW"), ("gpt2", "AdamW"))

STUDY = Study(
    task="dynamic_equivalence",
    spec=_dynamics.spec("mlp", "SGD"),
    grid={
        "factor": [2, 3, 4],
        "setting": [
            {
                **_dynamics.setting(model, optimizer),
                "clip": {"norm": NORMS[model], "width_aware": aware},
            }
            for model, optimizer in SETTINGS
            for aware in (False, True)
        ],
    },
    scales={
        "smoke": Scale(
            spec={"steps_before": 5, "steps": 20},
            grid={"factor": [2]},
            same_job=("factor", "setting"),
        ),
        "reduced": Scale(same_job=("factor", "setting")),
        "workstation": Scale(same_job=("factor", "setting")),
        "paper": Scale(same_job=("factor", "setting")),
    },
)
