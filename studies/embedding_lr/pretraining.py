"""Figures 4 and 5: the decoder of Table 3 by the ratio of the embedding's rate to all others.

long: the baseline's ratio 1 and sqrt(d), 1.75T tokens (Figures 4a and 5). ratios: those around
sqrt(d), 65B tokens (Figure 4b). tuning: ratio 1 alone, on seeds that judge nothing; below GPU
scales every width takes its best rate, for all ratios, so that the baseline is the tuned one.

Reduced: two widths, whose vocabulary is 16 times as large, as Table 3's. One length for both
figures, and 8 sqrt(d) beside the two ratios. Overnight 4b adds further ratios, with fewer seeds,
the first of theirs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from repro.core.seeds import of_arm
from repro.core.study import Best, Stage, octaves, studies
from studies.embedding_lr._llm import (
    BASELINE,
    CHOSEN,
    PAPER,
    SMALL,
    TINY,
    WORKSTATION,
    WORKSTATION_SEEDS,
    size,
    sqrt_d,
)

PAIR = (BASELINE, sqrt_d(1.0))


@dataclass(frozen=True, kw_only=True)
class Runs:
    """A stage's own. seeds: none: no runs. ratios: of the rates. settings: dotted key -> value."""

    seeds: Sequence[int]
    ratios: Sequence[Mapping[str, float]]
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Pretraining:
    """What is run at one scale.

    settings: of all runs. sizes: settings of each width. long, ratios: as above. rates, tuning: of
    which every width takes the best, and seeds of that; none: the rate of the settings. same_job:
    axes along which runs share a job.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    sizes: Sequence[Mapping[str, int]]
    long: Runs
    ratios: Runs
    rates: Sequence[Sequence[float]] = ()
    tuning: Sequence[int] = ()
    same_job: tuple[str, ...] = ()


def text(stride: int, limit: int | None = None) -> dict[str, Any]:
    """The text whose words are counted, in windows moved by a stride. limit: its words."""
    return {"data.text.stride": stride} | ({} if limit is None else {"data.text.limit": limit})


NO_TEXT = {"data.text": None}
DESIGN = Pretraining(
    sizes=[{"model.width": 2_048}],
    long=Runs(seeds=[0], ratios=PAIR),
    ratios=Runs(
        seeds=[0],
        ratios=[BASELINE, *(sqrt_d(2.0**k) for k in range(-2, 3))],
        settings=NO_TEXT | {"steps": 15_497, "evaluations": 50},  # * 2^22 tokens = 65B tokens
    ),
)
ALIKE = SMALL | text(32, 1_000) | {"steps": 400, "evaluations": 10}
REDUCED = Pretraining(
    settings=ALIKE,
    sizes=[size(32), size(64)],
    rates=[octaves(-7, -5.5, 0.5), octaves(-7.5, -6, 0.5)],
    tuning=of_arm("embedding_lr", "fig4-rate-again", 2),
    long=Runs(
        seeds=of_arm("embedding_lr", "fig4-pretraining-again", 10), ratios=[*PAIR, sqrt_d(8.0)]
    ),
    ratios=Runs(seeds=[], ratios=[sqrt_d(2.0**k) for k in (-1, 1, 2, 4, 5)], settings=NO_TEXT),
    same_job=("seed",),
)
# Not run yet. By pilots on one core: 8, 19 and 65 s a long run at the three widths, so 12 seeds of
# three ratios take 3,300 s, and tuning and further ratios 1,700 s.
OVERNIGHT = replace(
    REDUCED,
    sizes=[size(64), size(128), size(256)],
    rates=[octaves(high - 1.5, high, 0.5) for high in (-6, -6.5, -7)],
    tuning=of_arm("embedding_lr", "fig4-rate-overnight", 2),
    long=replace(REDUCED.long, seeds=of_arm("embedding_lr", "fig4-overnight", 12)),
    ratios=replace(REDUCED.ratios, seeds=of_arm("embedding_lr", "fig4-overnight", 4)),
)
SMOKE = Pretraining(
    settings=TINY,
    sizes=[{"model.width": 16}],
    long=Runs(seeds=[0, 1], ratios=PAIR, settings=text(32, 50)),
    ratios=Runs(seeds=[0, 1], ratios=[*PAIR, sqrt_d(2.0)], settings=NO_TEXT),
    same_job=("ratio", "seed"),
)
# Figure 4a: 2_000 steps * 2^17 tokens = 262 million tokens, a quarter of the text; a step is 165 ms
# of products and 174 ms of memory, so a run takes 11 minutes, and all six 1.1 hours. Figure 4b: 131
# million tokens, 5.2 minutes; 9 ratios * 3 seeds: 2.3 hours; both 3.4.
ON_A_GPU = Pretraining(
    settings=WORKSTATION,
    sizes=[{"model.width": 512}],
    long=Runs(
        seeds=WORKSTATION_SEEDS,
        ratios=PAIR,
        settings=text(512) | {"steps": 2_000, "evaluations": 20},
    ),
    ratios=Runs(
        seeds=WORKSTATION_SEEDS,
        ratios=[BASELINE, *(sqrt_d(2.0**k) for k in range(-2, 6))],
        settings=NO_TEXT | {"steps": 1_000, "evaluations": 10},
    ),
)
SCALES = {
    "smoke": SMOKE,
    "reduced": REDUCED,
    "overnight": OVERNIGHT,
    "workstation": ON_A_GPU,
    "paper": DESIGN,
}


def stages(at: Pretraining) -> dict[str, Stage]:
    """Stage name -> its runs at one scale."""
    rate = {"lr": Best("tuning", "lr", over=("lr", "seed"))} if at.tuning else {}
    rated = zip(at.sizes, at.rates, strict=bool(at.tuning))
    tuning = {"size": [{**d, "lr": lr} for d, rates in rated for lr in rates], "seed": at.tuning}

    def stage(own: Runs) -> Stage:
        grid = {"size": at.sizes, "ratio": own.ratios, "seed": own.seeds}
        return Stage({**at.settings, **own.settings, **rate}, grid, at.same_job)

    return {
        "tuning": Stage({**at.settings, **NO_TEXT}, tuning, ("seed",)),
        "long": stage(at.long),
        "ratios": stage(at.ratios),
    }


STAGES = studies("pretraining", PAPER, stages, SCALES, chosen_after_seeing=CHOSEN)
