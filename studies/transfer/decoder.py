"""Workload: a decoder with an untied readout, whose heads grow in number with the width.

Pre-LN, fixed positions of size 1; logits of attention times head_dim^-1/2, the same at every width.
Paper scale: 256 sequences of 256 tokens, 10,000 steps = 655 million tokens.
"""

from repro.core.study import octaves
from studies.transfer._workload import LR, MORE, SHORT_TEXT, TEXT, WORKSTATION, workload

SMALL = SHORT_TEXT | {"model.head_dim": 16, "precision": "float32"}
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
    "steps": 10_000,
    "precision": "bfloat16",
}
WIDTHS = {
    "smoke": [32, 64],
    "reduced": [32, 64, 128],
    "workstation": [128, 256, 512, 1024, 2048],
    "paper": [256, 512, 1024, 2048],
}
SCALES = {
    "smoke": SMALL | {"steps": 10},
    "reduced": SMALL | {"steps": 150},
    "workstation": WORKSTATION,
    "paper": {},
}
# A factor of 8 in width, half octaves wherever 1/n or n^-1/2 would put the best rate. At reduced
# scale the narrow one's was 2^-5.1 at a ratio of 256, to which the search had gone from 64.
NIGHT = {
    "widths": [32, 64, 128, 256],
    "lr": [2.0**-10, *octaves(-9, -4, 0.5), 2.0**-3],
    "ratios": [16.0, 64.0, 256.0, 1024.0],
}
STAGES = workload(SPEC, widths=WIDTHS, scales=SCALES, lr=LR, night=NIGHT, chosen=MORE)
