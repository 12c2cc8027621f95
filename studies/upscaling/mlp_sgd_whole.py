"""The MLP with SGD on the whole Forest Cover Type."""

from repro.core.study import studies
from studies.upscaling import mlp_sgd
from studies.upscaling._whole import CHOSEN, DEPARTURES, stages, whole

SCALES = whole(mlp_sgd.SCALES, "whole-sgd")
STAGES = studies(
    "warm_start", mlp_sgd.SPEC, stages, SCALES, chosen_after_seeing=CHOSEN, departures=DEPARTURES
)
