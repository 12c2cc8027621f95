"""A tiny run of every architecture, in which `model.width` alone sets the width. No torch."""

from collections.abc import Mapping
from typing import Any

from repro.errors import UserError, did_you_mean
from repro.models import SAID
from widthwise.parametrization import KINDS, table

ADAMW = {
    "name": "adamw",
    "betas": [0.9, 0.95],
    "eps": 1e-12,  # far below any gradient here, at every width
    "weight_decay": 0.0,
    "clip": None,
}
RUN = {
    "optimizer": ADAMW,
    "steps": 1,
    "evaluations": 1,
    "microbatches": 1,
    "precision": "float32",
    "threads": 1,
    "seed": 0,
}
# Name -> what its file says of a tiny run: task, widths, learning rate, the model's settings, and
# the other settings of the task's spec.
MODELS = {name: said["TINY"] for name, said in SAID.items() if said.get("TINY")}


def tiny_run(model: str, parametrization: str) -> tuple[str, dict, list[float]]:
    """(task, spec, widths) of a model under a parametrization; the spec has the smallest width.

    Raises UserError on an unknown model.
    """
    if model not in MODELS:
        raise UserError(f"unknown model {model!r}: {did_you_mean(model, MODELS)}")
    said: Mapping[str, Any] = MODELS[model]
    task, widths, lr = said["task"], said["widths"], said["lr"]
    spec: dict[str, Any] = {**RUN, **{k: v for k, v in said.items() if k not in ("task", "widths")}}
    spec["model"] = {"name": model, **said["model"], "width": widths[0]}
    spec["data"] = {"dataset": "random", **said["data"]}
    spec["optimizer"] = {**ADAMW, **said.get("optimizer", {})}
    spec["parametrization"] = parametrization
    if task == "language_model":  # has lr and init per kind of role, and positions as the embedding
        init = table(parametrization, "adam")["embedding"].init
        power = init.exponent if init else 0.0
        spec |= {"lr": dict.fromkeys(KINDS, lr), "init": {}}
        spec["model"]["positional_rms"] = {"factor": 1.0, "power": power}
    return task, spec, widths
