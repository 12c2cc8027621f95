"""The MLP with AdamW (Figures 2, 6 and 7).

Paper scale: the authors' grids; Sweep 2 in Algorithm 2's convention and in their code's.
"""

from repro.core.seeds import of_arm
from repro.core.study import octaves
from studies.upscaling._mlp import ADAMW, CODE_LR, grids, sweeps_by

SMOKE = octaves(-7, -5, 2)
sweeps = sweeps_by(
    ADAMW,
    of_arm("upscaling", "fig2-mlp", 6),
    lr=grids(SMOKE, octaves(-10, -3), CODE_LR),
    lr_upscaled=grids(SMOKE, octaves(-9, -3), CODE_LR),
    lr_scratch=grids(SMOKE, octaves(-8, -2), CODE_LR),
    # At paper scale around the printed winner, 0.013 and 4 in the code's convention.
    target={
        "lr": grids([2.0**-6], octaves(-6, -4), CODE_LR[1:4]),
        "levels": grids([1.0], octaves(-2, 0), [0.75, 1.0, 1.25]),
        "lr_without_noise": grids([2.0**-6], octaves(-9, -7), CODE_LR[1:4]),
    },
)
STAGES = sweeps()
