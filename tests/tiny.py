"""A tiny run of every architecture, in which `model.width` alone sets the width, and the sizes that
a coordinate check fits of it."""

from collections.abc import Callable, Mapping
from typing import Any

from repro.core.spec import override
from repro.data.random_data import random_data
from repro.models import SAID
from repro.tasks import TASKS
from repro.training.loop import Training
from widthwise.checks.coordinates import train_and_measure
from widthwise.checks.slopes import Measured
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
    """(task, spec, widths) of a model under a parametrization; the spec has the smallest width."""
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


def model_sizes(task: str, spec: Mapping, *, steps: int) -> Callable[[float, int], Measured]:
    """The argument `measure` of `over_widths` for a training task, trained on one random batch.

    Width and seed of the spec are replaced; all its other settings hold, also the data's shape.
    """

    def sizes(width: float, seed: int) -> Measured:
        changed = override(spec, {"model.width": width, "seed": seed})
        data = random_data(changed, "cpu")
        return training_sizes(TASKS[task].build(changed, data, "cpu"), steps)

    return sizes


def training_sizes(training: Training, steps: int) -> Measured:
    """What `train_and_measure` finds after `steps` steps on the first batch, with neither clipping
    nor a schedule."""
    batch = next(iter(training.batches.from_step(0)))
    inputs = batch[:-2] if len(batch) > 2 else batch[:1]  # an encoder-decoder has two inputs
    return train_and_measure(
        training.model,
        training.optimizer,
        [(tuple(inputs), batch)],
        lambda model, given: training.loss(model, given[1]),
        steps,
    )
