"""What a training run is known by: numbers that train it, not the name of a parametrization."""

from collections.abc import Mapping

from repro import models
from repro.parametrization import FAMILY, KINDS, Power, Role, table

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
    name, family = spec["parametrization"], FAMILY[optimizer["name"]]
    ratio = model["width"] / model["base_width"]
    rows = table(name, family)
    rates = spec["lr"] if isinstance(spec["lr"], Mapping) else dict.fromkeys(KINDS, spec["lr"])
    coupled = optimizer["name"] != "adamw"
    decayed = optimizer.get("decayed", KINDS)

    def constants(kind: str) -> dict:
        rule = rows[kind]
        init = table(spec.get("init", {}).get(kind, name), "adam")[kind].init
        decay = rule.coupled_weight_decay if coupled else rule.weight_decay
        found = {"init": _times(1.0, init, kind, ratio)}
        if kind in rates:
            found["lr"] = _times(rates[kind], rule.lr, kind, ratio)
        strength = optimizer["weight_decay"] if kind in decayed else 0.0
        found["weight_decay"] = _times(strength, decay, kind, ratio)
        if "eps" in optimizer:
            found["eps"] = _times(optimizer["eps"], rule.eps, kind, ratio)
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
        "multipliers": models.multipliers(model, name),
    }


def _times(constant: object, power: Power, kind: str, ratio: float) -> object:
    """A constant times its factor at a width relative to the base's.

    Beside them, where they are not known here: the constant, if it is not a number yet, and powers
    of fan_in and fan_out, which are every parameter's own.
    """
    role = Role(
        kind,
        width_in=ratio if kind in READS else 1.0,
        width_out=ratio if kind in WRITES else 1.0,
    )
    factor = Power(power.n_in, power.n_out)(role)
    unknown: dict[str, object] = {}
    if isinstance(constant, int | float):
        factor *= constant
    else:
        unknown["constant"] = constant
    if power.fan_in or power.fan_out:
        unknown |= {"fan_in": power.fan_in, "fan_out": power.fan_out}
    return {"factor": factor, **unknown} if unknown else factor
