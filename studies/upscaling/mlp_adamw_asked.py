"""The MLP with AdamW tuned on as many units as the paper asks for, about 100 (Figure 2).

Its small system is below the base, as there, and each seed grows from its own base. `mlp_adamw`
is tuned on 16 units; at workstation and paper scale the two are the same. Overnight the target has
512 units.
"""

from dataclasses import replace

from repro.core.seeds import of_arm
from repro.core.study import octaves, studies
from studies.upscaling import mlp_adamw
from studies.upscaling._mlp import CHOSEN, DEPARTURES
from studies.upscaling._protocol import stages

JUDGED = of_arm("upscaling", "asked-mlp-again", 6)
REDUCED = replace(
    mlp_adamw.REDUCED,
    small=64,
    base=128,
    factor=2,
    lr=octaves(-7, -3),
    lr_upscaled=octaves(-7, -4),
    levels=[0.0, *octaves(-3, 1)],
    code_levels=(),
    seeds=JUDGED,
    base_seeds=(),
    small_seeds=JUDGED,
)
SMOKE = replace(mlp_adamw.SMOKE, code_levels=(), base_seeds=())
SCALES = mlp_adamw.SCALES | {
    "smoke": SMOKE,
    "reduced": REDUCED,
    "overnight": replace(REDUCED, base=256, seeds=of_arm("upscaling", "asked-mlp-night", 8)),
}
STAGES = studies(
    "warm_start",
    mlp_adamw.SPEC,
    stages,
    SCALES,
    chosen_after_seeing=CHOSEN,
    departures=DEPARTURES,
)
