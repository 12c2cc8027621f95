"""Muon whose adjustment is the root of outputs / inputs: an update of unit root mean square for inputs
of unit root mean square (`unit_rms_norm` in NVIDIA's emerging_optimizers)."""

from dataclasses import replace

from widthwise.optimizers import muon

SETTINGS = {"momentum": 0.95, "adjust_lr_fn": "unit_rms"}
UPDATE = replace(muon.UPDATE, matrices=SETTINGS)
