"""What the transfer of Figure 3 (c, f) is held against, MLP with AdamW. Ours.

Workstation: 441 runs, 1.3 hours.
"""

from repro.core.study import octaves
from studies.upscaling._mlp_transfer import controls
from studies.upscaling.mlp_adamw_transfer import sweeps

STAGES = controls(
    sweeps,
    {"lr": octaves(-6, -3), "levels": [0.0, *octaves(-3, -1)], "fixed_level": 1.0},
    lr_sp={
        "smoke": octaves(-6, -4, 2),
        "reduced": octaves(-7, -3),
        "workstation": [0.0005 * rate for rate in octaves(-6, 4)],
        "paper": [0.0005 * rate for rate in octaves(-6, 4)],
    },
    raw_levels=[0.0, *octaves(-4, -1)],
)
