"""Which parametrizations are the same runs: every one, on every workload, for a few steps.

At four times the base width, in float64, on one random batch, with the model settings that the
workloads have at reduced scale. Adam's eps is far below any gradient. "SP (embedding x n)" is SP at
a rate divided by the width, with the embedding's multiplied by it (Kalra & Barkeshli).
"""

from collections.abc import Mapping

from repro.core.spec import lookup, override
from repro.core.study import Scale, Study
from repro.errors import UserError
from studies.transfer import bart, decoder, gru, mlp
from widthwise.parametrization import table, tied_multiplier

WIDER = 4
RATE = 2.0**-7
WORKLOADS = {"decoder": decoder, "mlp": mlp, "gru": gru, "bart": bart}
TIED = ("bart",)
# Those that are on record: one that is added changes no record.
COMPARED = (
    *("as-made", "full-alignment", "hybrid", "LVP", "maximal-update", "muP", "muP-multiplier"),
    *("neural-tangent", "SP", "u-muP"),
)
EMBEDDING_ONLY = "SP (embedding x n)"


def settings(workload: str) -> dict:
    """Model and sizes of data at reduced scale, `WIDER` times the base width."""
    proxy = WORKLOADS[workload].STAGES["proxy"]
    spec = override(proxy.spec, proxy.scales["reduced"].spec)
    base = proxy.scales["reduced"].grid["model.width"][0]
    model: Mapping = lookup(spec, "model") | {"width": WIDER * base, "base_width": base}
    return {"data": lookup(spec, "data") | {"dataset": "random"}, "model": model}


def names(workload: str) -> list[str]:
    """The parametrizations that are defined for a workload's model."""
    found = []
    for name in COMPARED:
        if table(name, "adam")["embedding"].init is None:
            continue  # the suite's models draw nothing themselves
        try:
            if workload in TIED:
                tied_multiplier(name, WIDER)
        except UserError:
            continue
        found.append(name)
    return found


def run(workload: str, name: str) -> dict:
    """The settings of one name on one workload."""
    alone = name == EMBEDDING_ONLY
    return {
        "workload": workload,
        "name": name,
        **settings(workload),
        "parametrization": "SP" if alone else name,
        "lr": RATE / WIDER if alone else RATE,
        "embedding_ratio": float(WIDER) if alone else 1.0,
    }


RUNS = [
    run(workload, name)
    for workload in WORKLOADS
    for name in [*names(workload), *([] if workload in TIED else [EMBEDDING_ONLY])]
]
SCALE = Scale(same_job=("run",))
STUDY = Study(
    task="equal_runs",
    spec={
        **RUNS[0],
        "optimizer": {
            "name": "adamw",
            "betas": [0.9, 0.95],
            "eps": 1e-20,
            "weight_decay": 0.0,
        },
        "steps": 5,
        "threads": 1,
        "seed": 780,
    },
    grid={"run": RUNS},
    scales=dict.fromkeys(("smoke", "reduced", "workstation", "paper"), SCALE),
)
