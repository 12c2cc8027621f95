"""The best rate of upscaled models against the target's width, in settings that nobody chose."""

import numpy as np

from repro.core.study import OVERNIGHT
from repro.verdicts import settings
from repro.verdicts.answers import TOLERANCE, within
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.power import AS_CLAIMED, Laws

STUDY = "upscaling/drawn_rates"
CHOICES = ("layers", "length", "batch", "noise")
WIDTH, LR = "model.width", "lr"
WITHIN = 0.25
QUARTER = "a quarter of the way to -1, that of SP's rate, as of Figure 3"
SLOPES = {AS_CLAIMED: 0.0, "SP": -1.0}


def reduce(runs: Runs) -> Data:
    upscaled = {name: table for name, table in runs.items() if "/upscaled" in name}
    return settings.gathered(upscaled, CHOICES, (WIDTH, LR, "seed", "train_loss"))


def slope(rows: Data) -> float:
    """Of one seed."""
    return settings.slope(rows, WIDTH, LR)


ASKED = settings.Asked(
    figure="rate_settings",
    statement="rate",
    of=slope,
    effect="slope of log2 of the upscaled model's best rate against log2 of the target's width",
    there=lambda slope: abs(slope) <= WITHIN,
    says="the upscaled model's best rate hardly moves with its width, by a power within 1/4",
    choices=CHOICES,
)


def measure(data: Data, scale: str) -> Measured:
    return ASKED.measure(data)


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Every setting's rates moved, so that its best ones go with the width as a law has it."""
    octaves = np.log2(recorded[WIDTH])
    by = 2.0 ** (ASKED.moves(recorded, SLOPES[law], rng) * (octaves - octaves.mean()))
    return settings.renumbered(recorded.assign(**{LR: recorded[LR] * by}), rng)


def draw(data: Data, scale: str) -> Drawn:
    laws = {"paper 0": 0.0, "SP -1": -1.0}
    return ASKED.draw(data, "slope of log best rate against log width", laws, "paper 0")


FIGURE = Figure(
    title="Figure 3's rates of upscaled models in settings that nobody chose",
    outcome=(
        "In a share {rate_settings.share} of drawn settings the best rate of upscaled models "
        "hardly moves with width, on average as width^{rate_settings.mean}"
    ),
    caption=(
        "A row a setting, drawn by the commit that registered the test, sorted by the slope. "
        "Squares: the levels of its choices (length: steps of the target, and the base's over "
        "these; batch: rows a step; noise: as in Algorithm 2). Dot: the slope of the best rate of "
        "the MLP with AdamW, upscaled from a base of 64 units to 128 and 256, against width; "
        "ticks: each seed, where there are two; green where it is within 1/4 of 0. Above: how the "
        "slopes lie (Ma et al., Figure 3; Section 4)."
    ),
    studies=(STUDY,),
    answers=ASKED.answers({"reduced": within(0, WITHIN, TOLERANCE, QUARTER)}, share_at=OVERNIGHT),
    laws=dict.fromkeys(ASKED.laws, Laws(AS_CLAIMED, ("SP",))),
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
