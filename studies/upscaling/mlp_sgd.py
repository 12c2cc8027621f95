"""The MLP with SGD (Figures 4 and 5).

Paper scale: the authors' grids; Sweep 2 in Algorithm 2's convention and in their code's.
"""

from repro.core.seeds import of_arm
from repro.core.study import octaves
from studies.upscaling._mlp import CODE_LR, SGD, grids, sweeps_by

SMOKE = octaves(-3, -1, 2)
sweeps = sweeps_by(
    SGD,
    of_arm("upscaling", "mlp-sgd", 12),
    lr=grids(SMOKE, octaves(-5, 2), CODE_LR),
    lr_upscaled=grids(SMOKE, octaves(-5, 2), CODE_LR),
    lr_scratch=grids(SMOKE, octaves(-5, 2), CODE_LR),
    # At paper scale around the printed winner, 0.1 and 5 in the code's convention.
    target={
        "lr": grids([0.25], octaves(-2, 0), CODE_LR[4:7]),
        "levels": grids([1.0], octaves(-2, 0), [1.0, 1.25, 1.5]),
        "lr_without_noise": grids([0.25], octaves(-3, -1), CODE_LR[4:7]),
    },
)
STAGES = sweeps()
