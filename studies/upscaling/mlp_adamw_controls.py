"""What the transfer of Figure 3 (c, f) is held against, MLP with AdamW: SP's rates, and noise of
one standard deviation at every width. Ours.

Workstation and paper scale: the runs of `mlp_adamw_transfer`, and the two controls beside them.
Workstation: 441 runs, 1.3 hours.

Reduced: targets 16, 64 and 256, a factor of 16. Each grid has the points around the optima that
seeds 0 and 1 had at targets 32 to 128, and a control's an octave more where its best lay at the
end; these seeds are others.
"""

from repro.core.study import OVERNIGHT, octaves
from studies.upscaling._mlp import CHOSEN, GRIDS
from studies.upscaling.mlp_adamw_transfer import sweeps

of = sweeps.keywords
STAGES = sweeps(
    scales={name: changes for name, changes in of["scales"].items() if name != OVERNIGHT},
    lr_widths=None,
    noise_seeds=None,
    widths=of["widths"] | {"reduced": [8, 32, 128]},
    seeds=of["seeds"] | {"reduced": [200, 201, 202]},
    lr=of["lr"] | {"reduced": octaves(-6, -3)},
    levels=of["levels"] | {"reduced": [0.0, *octaves(-3, -1)]},
    lr_sp={
        "smoke": octaves(-6, -4, 2),
        "reduced": octaves(-7, -3),
        "workstation": [0.0005 * rate for rate in octaves(-6, 4)],
        "paper": [0.0005 * rate for rate in octaves(-6, 4)],
    },
    raw_levels={
        "smoke": [0.0, 0.25],
        "reduced": [0.0, *octaves(-4, -1)],
        "workstation": [0.0, *octaves(-10, -2)],
        "paper": [0.0, *octaves(-12, -2)],
    },
    fixed_level=of["fixed_level"] | {"reduced": 1.0},
    chosen_after_seeing=f"{CHOSEN}; {GRIDS}",
)
