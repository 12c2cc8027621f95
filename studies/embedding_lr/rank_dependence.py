"""Theorem 1 measured: one SignSGD step for several (d, m) and token frequencies i^-a."""

from repro.core.study import Scale, Study

SIZES = [
    (64, 256),
    (256, 256),
    (64, 1024),
    (256, 1024),
    (1024, 1024),
    (256, 4096),
    (1024, 4096),
]

STUDY = Study(
    task="sign_sgd_step",
    spec={
        "width": 64,
        "vocab_size": 256,
        "zipf_exponent": 0.0,
        "residual": "independent",
        "rows": 256,
        "columns": 1024,
        "threads": 1,
        "seed": 0,
    },
    grid={
        "size": [{"width": d, "vocab_size": m} for d, m in SIZES],
        "zipf_exponent": [0.0, 0.5, 1.0],
        "seed": list(range(12)),
    },
    scales={
        "smoke": Scale(
            grid={"size": [{"width": d, "vocab_size": m} for d, m in SIZES if d * m < 2**18]},
            same_job=("size", "zipf_exponent", "seed"),
        ),
        "reduced": Scale(same_job=("zipf_exponent", "seed")),
        "workstation": Scale(same_job=("zipf_exponent", "seed")),
        "paper": Scale(same_job=("zipf_exponent", "seed")),
    },
)
