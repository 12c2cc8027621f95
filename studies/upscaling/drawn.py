"""Upscaled against from scratch in settings that nobody chose, each drawn by its seed. The MLP with
AdamW; each setting has a base of its own.

base: at the best of its rates. upscaled: from it, at the best of its own. scratch: the target's
width over rates, long enough to be read where it has had as many operations as base and upscaled
together. Rates are constant, so that a run from scratch was every shorter one before. The noise is
drawn, not tuned: a tuned one would give the upscaled side more tries.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from repro.core.population import Choice, Population, each
from repro.core.seeds import of_arm
from repro.core.spec import override
from repro.core.study import Checkpoint, Stage, octaves, studies
from studies.upscaling import _mlp

EVALUATIONS = 20  # of the target's steps
# A base of half the target's width costs at most so much of it a step.
BASE_COSTS = 0.5
ARMS = ("base", "upscaled", "scratch")
NOISE = (0.0, 0.25, 1.0)


def widths_of(level: str) -> tuple[int, int]:
    """Of the base and of the target: `64 to 128`."""
    base, _, target = level.partition(" to ")
    return int(base), int(target)


def length_of(level: str) -> tuple[int, float]:
    """Steps of the target, and how many times as many the base has: `240, base 0.5`."""
    steps, _, times = level.partition(", base ")
    return int(steps), float(times)


def with_width(arm: str, base: int, target: int) -> dict[str, int]:
    """A run of an arm."""
    if arm == "upscaled":
        return {"model.width": target, "start.width": base}
    return {"model.width": base if arm == "base" else target}


def with_length(arm: str, steps: int, times: float) -> dict[str, int]:
    """A run of an arm, with an evaluation for each twentieth of the target's steps."""
    part = {"base": times, "upscaled": 1.0, "scratch": 1 + BASE_COSTS * times}[arm]
    return {"steps": round(steps * part), "evaluations": round(EVALUATIONS * part)}


def choices(arm: str, lengths: Sequence[str]) -> dict[str, Choice]:
    """What an arm's seeds draw besides widths: the same levels in all three."""
    noise = each("start.level", *NOISE) if arm == "upscaled" else {level: {} for level in NOISE}
    return {
        "layers": Choice(each("model.hidden_layers", 2, 3), "the paper's 3, and one less"),
        "length": Choice(
            {level: with_length(arm, *length_of(level)) for level in lengths},
            "steps of the target; the base has half, as many, or twice as many",
        ),
        "batch": Choice(each("data.batch_size", 250, 500), "rows: the other figures', and half"),
        "noise": Choice(noise, "none, and from 1/4 to 1, what sweeps on record have selected"),
    }


def of_widths(arm: str, levels: Sequence[str]) -> Choice:
    """The widths of base and target."""
    return Choice(
        {level: with_width(arm, *widths_of(level)) for level in levels},
        "a base of 32 to 128 units, by 2 or by 4, as far as a run takes seconds",
    )


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What is run at one scale, in every seed's setting.

    widths, lengths: levels. twice: as of `Population`. lr: where searches start. rounds: how often
    they grow.
    """

    seeds: Sequence[int]
    widths: Sequence[str] = ("32 to 64", "32 to 128", "64 to 128", "64 to 256", "128 to 256")
    lengths: Sequence[str] = tuple(
        f"{steps}, base {times:g}" for steps in (240, 480) for times in (0.5, 1.0, 2.0)
    )
    twice: int = 8
    lr: Sequence[float] = tuple(octaves(-7, -5))
    rounds: int = 3


REDUCED = Drawn(seeds=of_arm("upscaling", "settings", 24))
SCALES = {
    "smoke": replace(
        REDUCED,
        seeds=[0, 1, 2],
        widths=("16 to 32", "16 to 64"),
        lengths=("20, base 0.5", "20, base 1"),
        twice=1,
        rounds=0,
    ),
    "reduced": REDUCED,
    "overnight": replace(REDUCED, seeds=of_arm("upscaling", "settings-overnight", 64)),
    "paper": replace(
        REDUCED,
        seeds=[*range(24)],
        widths=("100 to 400", "250 to 1000", "500 to 1000", "500 to 2000"),
        lengths=tuple(f"{_mlp.PAPER.steps}, base {times:g}" for times in (0.5, 1.0, 2.0)),
    ),
}
START = {
    "checkpoint": Checkpoint("base", pick="lowest", over=("lr",)),
    "width": 32,
    "noise": "gaussian",
    "convention": "paper",
    "level": 0.25,
}


def stages(at: Drawn) -> dict[str, Stage]:
    """Stage name -> its runs at one scale."""
    return {
        arm: Stage(
            {"model.base_width": 16},
            {"lr": at.lr, "seed": at.seeds},
            ("lr", "seed"),  # a run takes no longer than to start a job
            at.rounds,
            population=Population(
                {"widths": of_widths(arm, at.widths), **choices(arm, at.lengths)}, at.twice
            ),
            changes={"start": START} if arm == "upscaled" else {},
            search=("lr",),
        )
        for arm in ARMS
    }


STAGES = studies("warm_start", override(_mlp.SPEC, {"optimizer": _mlp.ADAMW}), stages, SCALES)
