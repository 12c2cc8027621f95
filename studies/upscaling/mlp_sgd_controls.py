"""What the transfer of Figure 3 (b, e) is held against, MLP with SGD. Ours.

Workstation: 426 runs, 1.3 hours.
"""

from repro.core.study import octaves
from studies.upscaling._mlp_transfer import controls
from studies.upscaling.mlp_sgd_transfer import sweeps

STAGES = controls(
    sweeps,
    {"lr": octaves(-3, 0), "levels": [0.0, *octaves(-4, -2)], "fixed_level": 0.5},
    lr_sp={
        "smoke": octaves(-3, -1, 2),
        "reduced": octaves(-3, 1),
        "workstation": [0.2 * rate for rate in octaves(-6, 4)],
        "paper": [0.2 * rate for rate in octaves(-6, 4)],
    },
    raw_levels=[0.0, *octaves(-5, -3)],
)
