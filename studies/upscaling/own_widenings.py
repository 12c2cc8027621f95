"""Appendix C.4 for what the paper's three models leave out, widened by `widthwise.widen`.

summing: a perceptron whose readout sums over the width. heads: a Transformer's block whose heads
grow in number. stages: a ResNet whose stages grow by different factors. Learning rates are those of
`_dynamics`' MLP (summing), GPT-2 (heads) and ResNet (stages), where they were found by trial.
"""

from repro.core.study import Scale, Study
from studies.upscaling._dynamics import OPTIMIZERS, setting

LIKE = {"summing": "mlp", "heads": "gpt2", "stages": "resnet"}


def chosen(kind: str, optimizer: str) -> dict:
    """The spec entries of one kind under one optimizer."""
    of = setting(LIKE[kind], optimizer)
    return {"kind": kind, "optimizer": of["optimizer"], "lr": of["lr"]}


STUDY = Study(
    task="own_equivalence",
    spec={
        **chosen("summing", "SGD"),
        "factor": 2,
        "steps_before": 50,
        "steps": 200,
        "threads": 1,
        "seed": 0,
    },
    grid={
        "factor": [2, 3, 4],
        "setting": [chosen(kind, optimizer) for kind in LIKE for optimizer in OPTIMIZERS],
    },
    scales={
        "smoke": Scale(
            spec={"steps_before": 5, "steps": 20},
            grid={"factor": [2]},
            same_job=("factor", "setting"),
        ),
        "reduced": Scale(same_job=("setting",)),
        "workstation": Scale(same_job=("setting",)),
        "paper": Scale(same_job=("setting",)),
    },
)
