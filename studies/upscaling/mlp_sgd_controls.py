"""What the transfer of Figure 3 (b, e) is held against, MLP with SGD: SP's rates, and noise of one
standard deviation at every width. Ours.

Workstation and paper scale: the runs of `mlp_sgd_transfer`, and the two controls beside them.
Workstation: 426 runs, 1.3 hours.

Reduced: targets 16, 64 and 256, a factor of 16. Each grid has the points around the optima that
seeds 0 and 1 had at targets 32 to 128, and a control's an octave more where its best lay at the
end; these seeds are others.
"""

from repro.core.study import OVERNIGHT, octaves
from studies.upscaling._mlp import CHOSEN, GRIDS
from studies.upscaling.mlp_sgd_transfer import sweeps

of = sweeps.keywords
STAGES = sweeps(
    scales={name: changes for name, changes in of["scales"].items() if name != OVERNIGHT},
    lr_widths=None,
    widths=of["widths"] | {"reduced": [8, 32, 128]},
    seeds=of["seeds"] | {"reduced": [200, 201, 202]},
    lr=of["lr"] | {"reduced": octaves(-3, 0)},
    levels=of["levels"] | {"reduced": [0.0, *octaves(-4, -2)]},
    lr_sp={
        "smoke": octaves(-3, -1, 2),
        "reduced": octaves(-3, 1),
        "workstation": [0.2 * rate for rate in octaves(-6, 4)],
        "paper": [0.2 * rate for rate in octaves(-6, 4)],
    },
    raw_levels={
        "smoke": [0.0, 0.25],
        "reduced": [0.0, *octaves(-5, -3)],
        "workstation": [0.0, *octaves(-10, -2)],
        "paper": [0.0, *octaves(-12, -2)],
    },
    fixed_level=of["fixed_level"] | {"reduced": 0.5},
    chosen_after_seeing=f"{CHOSEN}; {GRIDS}",
)
