"""The MLP with SGD on the whole Forest Cover Type."""

from studies.upscaling._whole import whole
from studies.upscaling.mlp_sgd import sweeps

STAGES = whole(sweeps, "whole-sgd")
