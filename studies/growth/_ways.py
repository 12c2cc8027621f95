"""Ways to grow a trained model, against training the wide one from scratch, over task `warm_start`.

Ours: of Mallik et al. (arXiv 2605.13405) the abstract alone was read, so that sizes, data, grids
and the factor of "shrink" are not theirs, and their noise besides the shrinking is left out.

tune: learning rates of the narrowest base, for each of its steps.
base: all bases, at the best of these; of a few seeds the one with the median loss is grown.
rates_<way>: every base grown to the target, over learning rates and the way's own setting, for the
    ways that have one: the noise of `noisy` and `zeros`, the factor of `shrink`. Of a seed that
    judges nothing.
<way>: the same at the best of these.
rates_scratch, scratch: the target from scratch. Rates are constant, so that it goes on past the
    steps of the grown models, and its curve is read at equal steps and at equal operations.

ways: copies (equal copies), noisy (copies with noise), zeros (with noise: new units of zeros that
get none stay at zero), shrink.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from repro.core.study import Best, Checkpoint, Stage, octaves, only_one, whole

SHRINK = "shrink"
WAYS = {
    "copies": {"by": "copies", "level": 0.0},
    "noisy": {"by": "copies", "level": "start.level"},
    "zeros": {"by": "zeros", "level": "start.level"},
    SHRINK: {"by": SHRINK, "level": 0.0, "shrink": "start.shrink"},
}
FACTORS = (2, 4, 8)
LONGER = 1.5  # from scratch; the base's operations are less than half of the wide model's
TUNING, BASES = [90], [90, 91, 92]  # on them nothing is judged
# Of a way's own setting; at 1 nothing is shrunk.
TRIED = {"start.level": octaves(-4, 0), "start.shrink": [0.5, 0.75, 1.0]}
CHOSEN = "levels and rates reach beyond where pilots, on no seed that is judged, had their best"


@dataclass(frozen=True, kw_only=True)
class Growth:
    """What is run at one scale to grow one network.

    target: the width grown to, in units. settings: other changes to the network's, dotted key ->
        value.
    steps: the smaller budget and, where it is tried, the larger, by shrinking and the factor 2
        alone; whole multiples of the window.
    window: steps over which a final loss is a mean, and between evaluations.
    rates: learning rates. seeds: of what is judged.
    """

    target: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    steps: Sequence[int]
    window: int
    rates: Sequence[float]
    seeds: Sequence[int]

    def at_widths(self, widths: Sequence[float]) -> "Growth":
        """Of a target of this width, grown from bases narrower by the same factors."""
        narrowest = whole(only_one(widths) / FACTORS[-1], "its narrowest base")
        return replace(self, target=narrowest * FACTORS[-1])


def ways(network: str, spec: Mapping, names: Sequence[str], at: Growth) -> dict[str, Stage]:
    """Stage name, which begins with the network's -> its runs at one scale.

    spec: of `warm_start`, from scratch. names: of WAYS.
    """

    def stage(changes: Mapping, grid: Mapping[str, Sequence], width: int = at.target) -> Stage:
        settings = {**at.settings, "model.width": width}
        return Stage(
            settings,
            grid,
            same_job=tuple(grid),
            window=at.window,
            changes={**spec, **changes},
        )

    longer = [_budget(at, round(LONGER * number)) for number in at.steps]
    stages = {
        "tune": stage(
            {},
            {"lr": at.rates, "budget": [_budget(at, number) for number in at.steps]},
            at.target // FACTORS[-1],
        ),
        "base": stage(
            {"lr": Best(f"{network}_tune", "lr"), "evaluations": 1},
            {"model.width": _widths(at), "steps": at.steps, "seed": BASES},
        ),
    }
    for name in names:
        own = {key: TRIED[key] for key in WAYS[name].values() if key in TRIED}
        best = {key: Best(f"{network}_rates_{name}", key, over=("seed",)) for key in ("lr", *own)}
        cells = {"cell": _cells(at, name)}
        stages[f"rates_{name}"] = stage(
            {"start": _start(network, name, dict.fromkeys(own, 0.0))},
            {"lr": at.rates, **own, **cells, "seed": TUNING},
        )
        stages[name] = stage(
            {"start": _start(network, name, best), "lr": best["lr"]}, {**cells, "seed": at.seeds}
        )
    stages["rates_scratch"] = stage({}, {"lr": at.rates, "budget": longer, "seed": TUNING})
    stages["scratch"] = stage(
        {"lr": Best(f"{network}_rates_scratch", "lr", over=("seed",))},
        {"budget": longer, "seed": at.seeds},
    )
    return {f"{network}_{name}": found for name, found in stages.items()}


def _budget(at: Growth, steps: int) -> dict[str, int]:
    return {"steps": steps, "evaluations": steps // at.window}


def _widths(at: Growth) -> list[int]:
    return [at.target // factor for factor in FACTORS]


def _cells(at: Growth, way: str) -> list[dict[str, int]]:
    """The bases that a way grows: their widths, each with its budget."""
    low, *larger = at.steps
    widths = _widths(at)
    pairs = [(width, low) for width in widths]
    pairs += [(widths[0], number) for number in larger if way == SHRINK]
    return [{"start.width": width, **_budget(at, number)} for width, number in pairs]


def _start(network: str, way: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """A start from the base of the run's width and steps. own: values of the way's own settings."""
    base = Checkpoint(
        f"{network}_base",
        "median",
        over=("seed",),
        join={"model.width": "start.width", "steps": "steps"},
    )
    its = {key: own.get(value, value) for key, value in WAYS[way].items()}
    return {"checkpoint": base, "width": 0, "noise": "gaussian", "convention": "paper", **its}
