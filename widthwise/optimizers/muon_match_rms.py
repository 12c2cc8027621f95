"""Muon with updates as large as AdamW's (Liu et al., arXiv 2502.16982).

The adjustment is 0.2 times the root of max(outputs, inputs): the spectral norm of an update grows
as the root of the width, which the rate takes back where a table scales hidden rates at all.
"""

from dataclasses import replace

from widthwise.optimizers import muon

SETTINGS = {"momentum": 0.95, "adjust_lr_fn": "match_rms_adamw"}
UPDATE = replace(muon.UPDATE, matrices=SETTINGS, matrix_lr=-1 / 2)
