"""The best rate of upscaled models against the target's width in settings that nobody chose.

base: at the best of its rates. upscaled: from it, two and four times as wide, each width over rates
of its own. What else varies is as in `drawn`. The paper asks for about 100 units, and a base of 64
is the widest of which a setting takes less than a minute.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from repro.core.population import Population
from repro.core.seeds import of_arm
from repro.core.spec import override
from repro.core.study import Stage, octaves, studies
from studies.upscaling import _mlp, drawn
from studies.upscaling.drawn import START, choices


@dataclass(frozen=True, kw_only=True)
class Rates:
    """What is run at one scale, in every seed's setting.

    base: its width. lengths: levels. twice: as of `Population`. lr: where searches start. rounds:
    how often they grow.
    """

    seeds: Sequence[int]
    base: int = 64
    lengths: Sequence[str] = drawn.REDUCED.lengths
    twice: int = 8
    lr: Sequence[float] = tuple(octaves(-8, -4))
    rounds: int = 3


REDUCED = Rates(seeds=of_arm("upscaling", "rate-settings", 28))
SCALES = {
    "smoke": Rates(
        seeds=[0, 1, 2], base=16, lengths=drawn.SCALES["smoke"].lengths, twice=1, rounds=0
    ),
    "reduced": REDUCED,
    "overnight": replace(REDUCED, seeds=of_arm("upscaling", "rate-settings-overnight", 56)),
    "paper": replace(REDUCED, seeds=[*range(24)], base=500, lengths=drawn.SCALES["paper"].lengths),
}


def stages(at: Rates) -> dict[str, Stage]:
    """Stage name -> its runs at one scale."""

    def stage(arm: str, settings: dict, grid: dict, changes: dict) -> Stage:
        return Stage(
            {"model.base_width": 16, **settings},
            {**grid, "lr": at.lr, "seed": at.seeds},
            ("lr", "seed", *grid),
            at.rounds,
            population=Population(choices(arm, at.lengths), at.twice),
            changes=changes,
            search=("lr",),
            neighbourhood=((-1,), (1,), (-2,), (2,)),
        )

    targets = {"model.width": [2 * at.base, 4 * at.base]}
    return {
        "base": stage("base", {"model.width": at.base}, {}, {}),
        "upscaled": stage("upscaled", {"start.width": at.base}, targets, {"start": START}),
    }


STAGES = studies("warm_start", override(_mlp.SPEC, {"optimizer": _mlp.ADAMW}), stages, SCALES)
