"""Table of II.2.E: parameters of BART-large and R2C2, counted, and built under both strategies.

strategies: one block of each stack at several widths, to measure powers of the width.
"""

from repro.core.study import SCALES, Scale, Study
from studies.effective_theory import _bart, bart, r2c2
from studies.effective_theory._bart import PAPER_STD

FROM_DATA = {"vocab_size": 50_265, "padding": 1, "sequence_length": 512}
SPEC = {
    "model": _bart.SPEC["model"],
    "data_settings": FROM_DATA,
    "parametrization": "SP",
    "family": "adam",
    "draw": False,
    "threads": 1,
    "seed": 0,
}
MODELS = [
    {"model.width": n.width, "model.depth": n.depth, "model.heads": n.heads}
    for n in (bart.PAPER.network, r2c2.PAPER.network)
]
STAGES = {
    "count": Study(
        "parameter_table",
        SPEC,
        {"model": MODELS},
        {name: Scale(same_job=("model",)) for name in SCALES},
    ),
    "strategies": Study(
        "parameter_table",
        SPEC
        | {
            "model": _bart.SPEC["model"] | {"depth": 1},
            "data_settings": FROM_DATA | {"vocab_size": 512, "sequence_length": 126},
            "draw": True,
        },
        {
            "strategy": [
                {"parametrization": "SP", "model.embedding_std": PAPER_STD},
                {"parametrization": "neural-tangent", "model.embedding_std": 1.0},
            ],
            "model.width": [64, 128, 256, 512],
        },
        {name: Scale(same_job=("strategy", "model.width")) for name in SCALES},
    ),
}
