"""Workload: a recurrent language model, a GRU of torch's own layers with an untied readout.

In TF32, because torch's autocast has no GRU in bfloat16.
Paper scale: two layers, 256 sequences of 256 tokens, 10,000 steps = 655 million tokens.
On a workstation the same data as the decoder's for 1,000 steps, three widths: 1.6 hours.

Reduced: length, batch and rates are the decoder's; one trial of another seed (9001) was seen, whose
narrow model was best at 2^-5 and ratio 4 and whose wide one under SP at 2^-6.
"""

from studies.transfer._workload import LR, SHORT_TEXT, TEXT, WORKSTATION, workload

SMALL = SHORT_TEXT | {"model.depth": 1, "precision": "float32"}
STAGES = workload(
    {
        "data": TEXT,
        "model": {
            "name": "gru",
            "width": 256,
            "depth": 2,
            "base_width": 256,
        },
        "steps": 10_000,
        "precision": "tf32",
    },
    widths={
        "smoke": [32, 64],
        "reduced": [32, 64, 128],
        "workstation": [64, 256, 1024],
        "paper": [256, 512, 1024, 2048],
    },
    scales={
        "smoke": SMALL | {"steps": 10},
        "reduced": SMALL | {"steps": 150},
        "workstation": WORKSTATION | {"steps": 1_000},
        "paper": {},
    },
    lr=LR,
)
