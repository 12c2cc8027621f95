"""Workload: GPT-2, whose readout is its embedding transposed and whose head dimension grows.

Under every parametrization a logit of attention is a mean over the head dimension: that is the
model's (`repro/models/gpt2.py`), and not what is compared.
Paper scale: 256 sequences of 256 tokens, 10,000 steps, 12 layers.
"""

from studies.transfer._workload import LR, SHORT_TEXT, TEXT, TIED, WORKSTATION, workload

SMALL = SHORT_TEXT | {
    "model.depth": 1,
    "model.heads": 4,
    "model.attention_constant": 8**0.5,  # the usual scale at the proxy's head dimension
    "microbatches": 1,
    "precision": "float32",
}
STAGES = workload(
    {
        "data": TEXT,
        "model": {
            "name": "gpt2",
            "width": 192,
            "depth": 12,
            "heads": 12,
            "base_width": 192,
            "attention_constant": 4.0,  # the usual scale at the proxy's head dimension, 16
            "embedding_std": 0.02,
        },
        "steps": 10_000,
        "microbatches": 2,  # 93 GB at width 1,536 in one
        "precision": "bfloat16",
    },
    widths={
        "smoke": [32, 64],
        "reduced": [32, 64, 128],
        "workstation": [96, 192, 384, 768, 1536],
        "paper": [192, 384, 768, 1536],
    },
    scales={
        "smoke": SMALL | {"steps": 10},
        "reduced": SMALL | {"steps": 150},
        "workstation": WORKSTATION
        | {
            "model.depth": 6,
            "model.attention_constant": 8**0.5,  # head dimension 8
            "microbatches": 1,
        },
        "paper": {},
    },
    lr=LR,
    parametrizations=TIED,
    ratios=[1.0, 4.0, 16.0],
    night={},
)
