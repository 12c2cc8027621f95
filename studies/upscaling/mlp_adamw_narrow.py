"""The MLP with AdamW tuned on a quarter of `mlp_adamw_asked`'s units. Ours: the paper tunes on one
width and says that it should have about 100 units.

tune, tune_upscaled: Sweeps 1 and 2 on the narrow system.
tune_wide, base: Sweep 1 and the base of `mlp_adamw_asked`; upscaled: from that base with the narrow
    system's rate and noise. Against upscaled there nothing differs but Sweep 2.
base_narrow: the base at the rate of the narrow Sweep 1; upscaled_base: upscaled from that. Against
    upscaled nothing differs but Sweep 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from repro.core.study import Best, Stage, octaves, studies
from studies.upscaling import _protocol, mlp_adamw, mlp_adamw_asked
from studies.upscaling._mlp import CHOSEN, DEPARTURES
from studies.upscaling._protocol import Upscaling

QUARTER = 4


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """What is run at one scale. wide, narrow: protocols that differ in the small system alone."""

    wide: Upscaling
    narrow: Upscaling


def quarter(wide: Upscaling, grid: Mapping) -> Tuned:
    """A protocol, and the same on a quarter of the units. grid: of its sweeps."""
    return Tuned(wide=wide, narrow=replace(wide, small=wide.small // QUARTER, **grid))


# Sweep 2 begins near the optimum of a pilot's and grows where it has another.
NEAR = {"lr": octaves(-8, -3), "lr_upscaled": octaves(-7, -4), "levels": [0.0, *octaves(-3, 1)]}
SCALES = {
    "smoke": quarter(mlp_adamw_asked.SMOKE, {}),
    "reduced": quarter(mlp_adamw_asked.REDUCED, NEAR),
    "paper": quarter(mlp_adamw_asked.SCALES["paper"], {}),
}


def stages(at: Tuned) -> dict[str, Stage]:
    """Stage name -> its runs at one scale."""
    wide, narrow = _protocol.stages(at.wide), _protocol.stages(at.narrow)
    shared = replace(wide["base"], changes={"lr": Best("tune_wide", "lr", at.wide.metric)})
    return {
        "tune": narrow["tune"],
        "tune_upscaled": narrow["tune_upscaled"],
        "tune_wide": wide["tune"],
        "base": shared,
        "base_narrow": narrow["base"],
        "upscaled": narrow["upscaled"],
        "upscaled_base": _from(narrow["upscaled"], "base_narrow"),
    }


def _from(stage: Stage, base: str) -> Stage:
    """The same from another stage's base."""
    start, key = stage.changes["start"], "start.checkpoint"
    other = {"checkpoint": replace(start["checkpoint"], stage=base)}
    own = {key: replace(stage.spec[key], stage=base)} if key in stage.spec else {}
    changes = {**stage.changes, "start": start | other}
    return replace(stage, changes=changes, spec={**stage.spec, **own})


STAGES = studies(
    "warm_start",
    mlp_adamw.SPEC,
    stages,
    SCALES,
    chosen_after_seeing=CHOSEN,
    departures=DEPARTURES,
)
