"""Tables 1 and 2: init variances and learning rates, measured on built models of several widths."""

from repro.core.study import SCALES, Scale, Study

STUDY = Study(
    task="parametrization_exponents",
    spec={
        "parametrization": "SP",
        "width": 128,
        "vocab_size": 1024,
        "model": {
            "name": "decoder",
            "depth": 1,
            "head_dim": 64,
            "expansion": 4,
            "norm": "post",
            "positional_rms": {"factor": 1.0, "power": 0.0},
            "base_width": 1,
        },
        "lr": 1.0,
        "threads": 1,
        "seed": 0,
    },
    grid={
        "parametrization": ["SP", "muP", "LVP"],
        "width": [128, 256, 512, 1024],
        "seed": [0, 1, 2],
    },
    scales={scale: Scale(same_job=("parametrization", "width", "seed")) for scale in SCALES},
)
