"""What a training run is known by: numbers that train it, not the name of a parametrization."""

from collections.abc import Mapping
from functools import cache

from repro import models
from widthwise.optimizers import known
from widthwise.parametrization import KINDS, Power, Role, table

# Which widths are wider than the base's, by kind of role (`Role`).
READS = ("hidden", "output")
WRITES = ("embedding", "hidden", "vector")


def trained(spec: Mapping) -> dict:
    """The spec of a training task as it enters a run's id.

    In place of `parametrization`, `init`, `lr` and the optimizer's weight decay, eps and `decayed`
    it has what they come to at the run's width: kind of role -> factor on the init, learning rate,
    weight decay and eps, and the multipliers. So runs under two parametrizations that are the same
    at their width, as all are at the base width, have one id and are trained once, and a table that
    is changed gives other ids.
    A constant that is taken from upstream stays beside its factor.
    """
    model, optimizer = spec["model"], spec["optimizer"]
    name = spec["parametrization"]
    of_optimizer = _known(optimizer["name"])
    family = of_optimizer.family if of_optimizer.matrices is None else optimizer["name"]
    ratio = model["width"] / model["base_width"]
    own = _factors(name, family, ratio)
    decay = "weight_decay" if of_optimizer.decoupled else "coupled_weight_decay"
    decayed = optimizer.get("decayed", KINDS)
    rates = spec["lr"] if isinstance(spec["lr"], Mapping) else dict.fromkeys(KINDS, spec["lr"])

    def constants(kind: str) -> dict:
        inits = _factors(spec.get("init", {}).get(kind, name), "adam", ratio)
        found = {"init": _times(1.0, inits[kind]["init"])}
        if kind in rates:
            found["lr"] = _times(rates[kind], own[kind]["lr"])
        strength = optimizer["weight_decay"] if kind in decayed else 0.0
        found["weight_decay"] = _times(strength, own[kind][decay])
        if "eps" in optimizer:
            found["eps"] = _times(optimizer["eps"], own[kind]["eps"])
        return found

    rest = {key: value for key, value in spec.items() if key not in ("parametrization", "init")}
    # A schedule that ends at a rate, not at a share of it, needs the constant itself as well.
    if "final_lr" not in spec.get("schedule", {}):
        del rest["lr"]
    rest["optimizer"] = {
        key: value
        for key, value in optimizer.items()
        if key not in ("weight_decay", "eps", "decayed")
    }
    return rest | {
        "roles": {kind: constants(kind) for kind in KINDS},
        "multipliers": _multipliers(name, model["name"], model["width"], model["base_width"]),
    }


_known = cache(known.find)  # of a name: once for all runs


@cache
def _multipliers(name: str, model: str, width: float, base_width: float) -> dict[str, float]:
    """`models.multipliers`, once for all runs of a width."""
    settings = {"name": model, "width": width, "base_width": base_width}
    return models.multipliers(settings, name)


@cache
def _factors(name: str, family: str, ratio: float) -> dict[str, dict[str, tuple[float, dict]]]:
    """Kind of role -> column of its rule (init, lr, ...) -> (its factor where the width is `ratio`
    times the base's, the rule's powers of fan_in and fan_out, each parameter's own)."""

    def factor(power: Power, kind: str) -> tuple[float, dict[str, float]]:
        role = Role(
            kind,
            width_in=ratio if kind in READS else 1.0,
            width_out=ratio if kind in WRITES else 1.0,
        )
        fans = {"fan_in": power.fan_in, "fan_out": power.fan_out}
        return Power(power.n_in, power.n_out)(role), fans if any(fans.values()) else {}

    return {
        kind: {column: factor(power, kind) for column, power in vars(rule).items()}
        for kind, rule in table(name, family).items()
    }


def _times(constant: object, factor: tuple[float, dict]) -> object:
    """A constant times a factor of `_factors`; beside them the constant, if it is not a number yet,
    and the powers of fan_in and fan_out."""
    value, fans = factor
    unknown: dict[str, object] = {}
    if isinstance(constant, int | float):
        value *= constant
    else:
        unknown["constant"] = constant
    return {"factor": value, **unknown, **fans} if unknown or fans else value
