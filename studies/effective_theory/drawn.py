"""Footnote 44 in settings that nobody chose, each drawn by its seed: is it the positions' rate?

standard: the strategy, at the best of its rates. raised: the same with the positional embedding's
rate n times higher, at the best of its own rates, so that neither has more tries than the other.
Without weight decay, which does nothing in runs so short (`vit`). Rates grow until the best is an
inner one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from repro.core.population import Choice, Population, each
from repro.core.seeds import of_arm
from repro.core.spec import override
from repro.core.study import Stage, octaves, studies
from studies.effective_theory import vit
from studies.effective_theory._vit import MODEL
from studies.effective_theory.vit import METRIC, SPEC

IMAGES = 3_000
POSITIONS = "model.constants.positions"
ARMS = ("standard", "raised")


def length(epochs: int, batch: int) -> dict[str, int]:
    """So many epochs, with the paper's share of warm-up, 20 of 300, and an evaluation for each."""
    steps = epochs * (IMAGES // batch)
    return {
        "data.batch_size": batch,
        "steps": steps,
        "schedule.warmup": round(steps / 15),
        "evaluations": epochs,
    }


POPULATION = Population(
    {
        "patch": Choice(
            each("model.patch", 4, 8), "pixels: 64 or 16 places in an image; the paper has 196"
        ),
        "blocks": Choice(each("model.depth", 1, 2, 4), "around the other figures' 3, in octaves"),
        "heads": Choice(each("model.heads", 2, 4), "of 16 or 8 numbers; the paper's have 64"),
        "positions": Choice(
            each(POSITIONS, 0.02, 0.14, 1.0),
            "the paper's, order one, which footnote 39 allows, and between",
        ),
        "length": Choice(
            {f"{e} of {b}": length(e, b) for e in (2, 4) for b in (32, 64, 128)},
            "epochs of so many images a step, around the other figures' 4 of 64",
        ),
    }
)


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What is run at one scale: of every seed's setting, the rates at which both searches start,
    and how often they grow."""

    settings: dict
    seeds: Sequence[int]
    population: Population | None = None
    lr: Sequence[float] = tuple(octaves(-8, -6))
    rounds: int = 3


REDUCED = Drawn(
    settings=dict(vit.REDUCED.settings) | {"model.width": 32} | length(4, 64),
    seeds=of_arm("effective_theory", "positions-settings", 48),
    population=POPULATION,
)
# Around ViT-B/16, at the paper's own length and images a step.
PUBLISHED = Population(
    {
        "patch": Choice(each("model.patch", 16, 32), "the paper's, and half as many to a side"),
        "blocks": Choice(each("model.depth", 6, 12), "the paper's, and half as many"),
        "heads": Choice(each("model.heads", 6, 12), "the paper's, and half as many"),
        "positions": POPULATION.choices["positions"],
    }
)
SCALES = {
    "smoke": replace(
        REDUCED,
        settings=dict(vit.SMOKE.settings)
        | {"model.width": 16, "steps": 4, "schedule.warmup": 2, "evaluations": 2},
        seeds=[0, 1, 2],
        population=Population({"positions": POPULATION.choices["positions"]}, twice=1),
        rounds=0,
    ),
    "reduced": REDUCED,
    "overnight": replace(
        REDUCED,
        settings=REDUCED.settings | {"model.width": 64},
        seeds=of_arm("effective_theory", "positions-settings-overnight", 56),
    ),
    "paper": Drawn(
        settings={
            "model.width": MODEL["width"],
            "steps": vit.PAPER.steps,
            "schedule.warmup": vit.PAPER.warmup,
            "evaluations": vit.PAPER.evaluations,
        },
        seeds=[*range(24)],
        population=PUBLISHED,
        lr=tuple(octaves(-11, -9)),
    ),
}


def stages(at: Drawn) -> dict[str, Stage]:
    """Stage name -> its runs at one scale."""
    width = at.settings["model.width"]
    factors = {"standard": {}, "raised": {"positions": float(width)}}
    return {
        arm: Stage(
            {**at.settings, "factors": factors[arm]},
            {"lr": at.lr, "seed": at.seeds},
            ("lr",),
            at.rounds,
            population=at.population,
            search=("lr",),
            metric=METRIC,
        )
        for arm in ARMS
    }


STAGES = studies(
    "image_classification",
    override(
        SPEC,
        {
            "model": MODEL | {"constants": {"positions": 0.02}},
            "optimizer": SPEC["optimizer"] | {"weight_decay": 0.0},
        },
    ),
    stages,
    SCALES,
)
