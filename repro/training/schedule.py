"""Learning-rate schedules: step -> factor on a group's peak learning rate. No torch."""

import math
from collections.abc import Callable, Mapping


def make_schedule(settings: Mapping, steps: int) -> Callable[[int], float]:
    """Step (0 to steps - 1) -> factor on every group's learning rate.

    settings: {"name": "constant" | "linear" | "cosine", "warmup", "final"}. Linear warm-up: the
    factor is 1 in the last of `warmup` steps. Then a decay that would reach `final` at step
    `steps`, one after the last.
    Raises KeyError on another name.
    """
    warmup, final = settings["warmup"], settings["final"]
    decay = {
        "constant": lambda share: 1.0,
        "linear": lambda share: 1 - (1 - final) * share,
        "cosine": lambda share: final + (1 - final) * (1 + math.cos(math.pi * share)) / 2,
    }[settings["name"]]

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        return decay((step - warmup) / max(1, steps - warmup))

    return factor
