"""Table of II.2.E: parameters of BART-large and R2C2, counted, and built under both strategies.

strategies: one block of each stack at several widths, to measure powers of the width.
"""

from repro.core.study import SCALES, Scale, Study
from studies.effective_theory._bart import DEPTH, HEADS, PAPER, PAPER_STD, WIDTH

FROM_DATA = {"vocab_size": 50_265, "padding": 1, "sequence_length": 512}
SPEC = {
    "model": PAPER["model"],
    "data_settings": FROM_DATA,
    "parametrization": "SP",
    "family": "adam",
    "draw": False,
    "threads": 1,
    "seed": 0,
}
MODELS = {
    name: {
        f"model.{key}": sizes[name]["paper"]
        for key, sizes in (("width", WIDTH), ("depth", DEPTH), ("heads", HEADS))
    }
    for name in WIDTH
}
STAGES = {
    "count": Study(
        "parameter_table",
        SPEC,
        {"model": list(MODELS.values())},
        {name: Scale(same_job=("model",)) for name in SCALES},
    ),
    "strategies": Study(
        "parameter_table",
        SPEC
        | {
            "model": PAPER["model"] | {"depth": 1},
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
