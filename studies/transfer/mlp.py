"""Workload: an MLP on a table, whose readout starts at zero.

So full alignment would be muP here, but for Adam's eps, and LVP u-muP but for the embedding's init.
Paper scale: Forest Cover Type once through, 464,809 rows // 256 = 1,815 steps.
"""

from dataclasses import replace

from repro.core.study import octaves, studies
from studies.transfer import _workload
from studies.transfer._workload import ADAMW, MORE, RUN, overnight, stages

# Of the table each scale has the same parametrizations, and ratios from a quarter.
OWN = {"parametrizations": ("SP", "muP", "u-muP"), "ratios": [0.25, 1.0, 4.0, 16.0]}
PAPER = replace(
    _workload.PAPER,
    **OWN,
    widths=[256, 512, 1024, 2048],
    steps=1_815,
    lr=octaves(-13, -4, 0.5),
)
WORKSTATION = replace(
    _workload.WORKSTATION,
    **OWN,
    widths=[128, 256, 512, 1024, 2048],
    steps=PAPER.steps,
    settings={},
    lr=octaves(-12, -4),
)
REDUCED = replace(_workload.REDUCED, **OWN, widths=[64, 128, 256], steps=300, lr=octaves(-10, -4))
# As the decoder's. At reduced scale the narrow one's best rate was 2^-6.2.
OVERNIGHT = overnight(
    REDUCED,
    widths=[64, 128, 256, 512],
    lr=[2.0**-10.5, *octaves(-9.5, -4, 0.5), 2.0**-3],
)
SMOKE = replace(
    _workload.SMOKE,
    parametrizations=OWN["parametrizations"],
    widths=[64, 128],
    lr=octaves(-8, -6, 2),
    ratios=[0.25, 1.0],
)
SCALES = {
    "smoke": SMOKE,
    "reduced": REDUCED,
    "overnight": OVERNIGHT,
    "workstation": WORKSTATION,
    "paper": PAPER,
}
SPEC = {
    "data": {"dataset": "covtype_long", "batch_size": 256},
    "model": {
        "name": "mlp",
        "inputs": 54,
        "classes": 7,
        "hidden_layers": 3,
        "width": 256,
        "base_width": 256,
    },
    "optimizer": ADAMW | {"betas": [0.9, 0.99]},
    "steps": PAPER.steps,
    "precision": "float32",
}
STAGES = studies("transfer", RUN | SPEC, stages, SCALES, chosen_after_seeing=MORE)
