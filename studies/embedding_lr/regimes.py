"""Theorem 1's two regimes: the embedding's feature change against width for three vocabularies.

m = 16: the width is far above 1.6 m, which is muP's regime. m = 8d: Figure 3's large-vocabulary
regime. m = 32768: the vocabulary of the paper's Figure 1, fixed but far larger than any width.
"""

from repro.core.study import Scale, Study

WIDTHS = [256, 512, 1024, 2048, 4096]
SIZES = [(d, m) for m in (16, 32_768) for d in WIDTHS] + [(d, 8 * d) for d in WIDTHS[:-1]]
SMOKE = [(d, m) for d, m in SIZES if d <= 1024]

STUDY = Study(
    task="sign_sgd_step",
    spec={
        "width": 256,
        "vocab_size": 16,
        "zipf_exponent": 1.0,
        "residual": "independent",
        "rows": 64,
        "columns": 16,
        "threads": 1,
        "seed": 0,
    },
    grid={
        "size": [{"width": d, "vocab_size": m} for d, m in SIZES],
        "seed": [0, 1, 2, 3],
    },
    scales={
        "smoke": Scale(
            grid={
                "size": [{"width": d, "vocab_size": m} for d, m in SMOKE],
                "seed": [0, 1],
            },
            same_job=("size", "seed"),
        ),
        "reduced": Scale(same_job=("size",)),
        "workstation": Scale(same_job=("size",)),
        "paper": Scale(same_job=("size",)),
    },
)
