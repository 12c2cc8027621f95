"""Assumption 2 of Theorem 1 tested: the residual EW - Z of the model itself, not a draw of its own.

Z, E and W are independent; sigma_E = sigma_W = d^-1/2.
"""

from repro.core.study import SCALES, Scale, Study

SIZES = [(64, 64), (64, 512), (256, 256), (256, 2048), (1024, 1024)]

STUDY = Study(
    task="sign_sgd_step",
    spec={
        "width": 64,
        "vocab_size": 64,
        "zipf_exponent": 0.0,
        "residual": "model",
        "rows": 256,
        "columns": 256,
        "threads": 1,
        "seed": 0,
    },
    grid={
        "size": [{"width": d, "vocab_size": m} for d, m in SIZES],
        "seed": list(range(100, 108)),
    },
    scales={scale: Scale(same_job=("size", "seed")) for scale in SCALES},
)
