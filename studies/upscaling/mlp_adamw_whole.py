"""The MLP with AdamW on the whole Forest Cover Type."""

from repro.core.study import studies
from studies.upscaling import mlp_adamw
from studies.upscaling._whole import CHOSEN, DEPARTURES, stages, whole

SCALES = whole(mlp_adamw.SCALES, "whole-adamw")
STAGES = studies(
    "warm_start", mlp_adamw.SPEC, stages, SCALES, chosen_after_seeing=CHOSEN, departures=DEPARTURES
)
