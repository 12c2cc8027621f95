"""Workload: a decoder with an untied readout, whose heads grow in number with the width.

Pre-LN, fixed positions of size 1; logits of attention times head_dim^-1/2, the same at every width.
Paper scale: 256 sequences of 256 tokens, 10,000 steps = 655 million tokens.
"""

from dataclasses import replace

from repro.core.study import octaves, studies
from studies.transfer import _workload
from studies.transfer._workload import MORE, RUN, SHORT_TEXT, TEXT, overnight, stages

SMALL = SHORT_TEXT | {"model.head_dim": 16, "precision": "float32"}
PAPER = replace(_workload.PAPER, widths=[256, 512, 1024, 2048])
WORKSTATION = replace(_workload.WORKSTATION, widths=[128, 256, 512, 1024, 2048])
REDUCED = replace(_workload.REDUCED, widths=[32, 64, 128], settings=SMALL)
# A factor of 8 in width, half octaves wherever 1/n or n^-1/2 would put the best rate. At reduced
# scale the narrow one's was 2^-5.1 at a ratio of 256, to which the search had gone from 64.
OVERNIGHT = overnight(
    REDUCED,
    widths=[32, 64, 128, 256],
    lr=[2.0**-10, *octaves(-9, -4, 0.5), 2.0**-3],
    ratios=[16.0, 64.0, 256.0, 1024.0],
)
SMOKE = replace(_workload.SMOKE, widths=[32, 64], settings=SMALL)
SCALES = {
    "smoke": SMOKE,
    "reduced": REDUCED,
    "overnight": OVERNIGHT,
    "workstation": WORKSTATION,
    "paper": PAPER,
}
SPEC = {
    "data": TEXT,
    "model": {
        "name": "decoder",
        "width": 256,
        "depth": 2,
        "head_dim": 64,
        "expansion": 4,
        "norm": "pre",
        "positional_rms": {"factor": 1.0, "power": 0.0},
        "base_width": 256,
    },
    "steps": PAPER.steps,
    "precision": "bfloat16",
}
STAGES = studies("transfer", RUN | SPEC, stages, SCALES, chosen_after_seeing=MORE)
