"""ViT-B/16's parameters, counted, and one block of it under each strategy of Table II.1.E."""

from repro.core.study import SCALES, Scale, Study
from studies.effective_theory._strategies import STRATEGIES
from studies.effective_theory._vit import MODEL

SPEC = {
    "model": MODEL,
    "data_settings": {},
    "parametrization": "SP",
    "family": "adam",
    "draw": False,
    "threads": 1,
    "seed": 0,
}
STAGES = {
    "count": Study("parameter_table", SPEC, {}, {name: Scale() for name in SCALES}),
    "strategies": Study(
        "parameter_table",
        SPEC | {"model": MODEL | {"depth": 1}, "draw": True},
        {"parametrization": list(STRATEGIES.values())},
        {name: Scale(same_job=("parametrization",)) for name in SCALES},
    ),
}
