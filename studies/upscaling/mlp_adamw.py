"""The MLP with AdamW (Figures 6 and 7, and overnight Figure 2).

Paper scale: the authors' grids; Sweep 2 in Algorithm 2's convention and in their code's.
"""

from dataclasses import replace

from repro.core.seeds import of_arm
from repro.core.study import octaves, studies
from studies.upscaling import _mlp
from studies.upscaling._mlp import CHOSEN, DEPARTURES
from studies.upscaling._protocol import overnight, stages

JUDGED = of_arm("upscaling", "fig2-mlp", 6)
REDUCED = replace(
    _mlp.REDUCED,
    lr=octaves(-10, -3),
    lr_upscaled=octaves(-9, -3),
    lr_scratch=octaves(-8, -2),
    target_lr=octaves(-6, -4),
    target_levels=octaves(-2, 0),
    target_lr_quiet=octaves(-9, -7),
    seeds=JUDGED,
    base_seeds=JUDGED[: _mlp.BASES],
    small_seeds=JUDGED,
)
SMOKE = replace(
    _mlp.SMOKE,
    lr=octaves(-7, -5, 2),
    lr_upscaled=octaves(-7, -5, 2),
    lr_scratch=octaves(-7, -5, 2),
    target_lr=[2.0**-6],
    target_levels=[1.0],
    target_lr_quiet=[2.0**-6],
)
# At the target around the printed winner, 0.013 and 4 in the code's convention.
AROUND = {
    "target_lr": _mlp.CODE_LR[1:4],
    "target_levels": [0.75, 1.0, 1.25],
    "target_lr_quiet": _mlp.CODE_LR[1:4],
}
SCALES = {
    "smoke": SMOKE,
    "reduced": REDUCED,
    "overnight": overnight(REDUCED),
    "workstation": replace(_mlp.WORKSTATION, **AROUND),
    "paper": replace(_mlp.PAPER, **AROUND),
}
SPEC = _mlp.SPEC | {"optimizer": _mlp.ADAMW}
STAGES = studies(
    "warm_start",
    SPEC,
    stages,
    SCALES,
    chosen_after_seeing=CHOSEN,
    departures=DEPARTURES,
)
