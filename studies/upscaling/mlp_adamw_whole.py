"""The MLP with AdamW on the whole Forest Cover Type."""

from studies.upscaling._whole import whole
from studies.upscaling.mlp_adamw import sweeps

STAGES = whole(sweeps, "whole-adamw")
