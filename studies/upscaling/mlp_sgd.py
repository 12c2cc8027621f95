"""The MLP with SGD (Figures 4 and 5).

Paper scale: the authors' grids; Sweep 2 in Algorithm 2's convention and in their code's.
"""

from dataclasses import replace

from repro.core.seeds import of_arm
from repro.core.study import octaves, studies
from studies.upscaling import _mlp
from studies.upscaling._mlp import CHOSEN, DEPARTURES
from studies.upscaling._protocol import overnight, stages

JUDGED = of_arm("upscaling", "mlp-sgd", 12)
REDUCED = replace(
    _mlp.REDUCED,
    lr=octaves(-5, 2),
    lr_upscaled=octaves(-5, 2),
    lr_scratch=octaves(-5, 2),
    target_lr=octaves(-2, 0),
    target_levels=octaves(-2, 0),
    target_lr_quiet=octaves(-3, -1),
    seeds=JUDGED,
    base_seeds=JUDGED[: _mlp.BASES],
    small_seeds=JUDGED[:6],
)
SMOKE = replace(
    _mlp.SMOKE,
    lr=octaves(-3, -1, 2),
    lr_upscaled=octaves(-3, -1, 2),
    lr_scratch=octaves(-3, -1, 2),
    target_lr=[0.25],
    target_levels=[1.0],
    target_lr_quiet=[0.25],
)
# At the target around the printed winner, 0.1 and 5 in the code's convention.
AROUND = {
    "target_lr": _mlp.CODE_LR[4:7],
    "target_levels": [1.0, 1.25, 1.5],
    "target_lr_quiet": _mlp.CODE_LR[4:7],
}
SCALES = {
    "smoke": SMOKE,
    "reduced": REDUCED,
    "overnight": overnight(REDUCED),
    "workstation": replace(_mlp.WORKSTATION, **AROUND),
    "paper": replace(_mlp.PAPER, **AROUND),
}
SPEC = _mlp.SPEC | {"optimizer": _mlp.SGD}
STAGES = studies(
    "warm_start",
    SPEC,
    stages,
    SCALES,
    chosen_after_seeing=CHOSEN,
    departures=DEPARTURES,
)
