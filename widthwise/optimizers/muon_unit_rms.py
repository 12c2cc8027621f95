"""Muon whose adjustment is the root of outputs / inputs (`unit_rms_norm` in NVIDIA's
emerging_optimizers): inputs of unit root mean square are changed by as much.
torch has no such adjustment."""

from dataclasses import replace

from widthwise.optimizers import muon

SETTINGS = {"momentum": 0.95, "adjust_lr_fn": "unit_rms"}
UPDATE = replace(muon.UPDATE, matrices=SETTINGS)
