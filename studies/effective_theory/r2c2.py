"""Figure 5: R2C2, untuned (II.2.E): both strategies at one rate, stopped early in the schedule.

Paper scale: lr 7e-4 and weight decay 0.01; for neural-tangent times n^3/2 and n^-3/2; 15,000 of
200,000 steps. Reduced: the same shares of warm-up and schedule; lr is 0.7 times the rate that the
reduced BART's standard sweep selected (2^-7), as 7e-4 is 0.7 times 1e-3.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from repro.core.seeds import of_arm
from repro.core.study import Stage, studies
from studies.effective_theory import _bart
from studies.effective_theory._bart import (
    HORIZON,
    SMALL,
    SPEC,
    STRATEGIES,
    TINY,
    Network,
    shift,
)


@dataclass(frozen=True, kw_only=True)
class Untuned:
    """What is run of R2C2 at one scale.

    network: its sizes, and how long it is trained. rate: learning rate of the matrices. seeds: of
    each strategy. same_job: axes along which runs share a job.
    """

    network: Network
    rate: float
    seeds: Sequence[int]
    same_job: tuple[str, ...] = ("seed",)


PAPER = Untuned(
    network=Network(
        width=2_048,
        depth=22,
        heads=32,
        std_of=1_024,
        steps=15_000,
        evaluations=75,
        horizon=HORIZON,
        settings={"microbatches": 64},
    ),
    rate=7e-4,
    seeds=[0, 1, 2],  # the paper: one
    same_job=(),
)
WORKSTATION = Untuned(
    # 1_500 of 20_000 steps, the paper's share; * 2^15 = 49 million tokens, 6.5 minutes a run;
    # six: 0.7 hours.
    network=Network(
        width=1_024,
        depth=10,
        heads=16,
        std_of=512,
        steps=1_500,
        evaluations=15,
        horizon=20_000,
        settings=_bart.WORKSTATION | {"microbatches": 4},
    ),
    rate=7e-4,
    seeds=[20, 21, 22],
)
REDUCED = Untuned(
    network=Network(
        width=96,
        depth=2,
        heads=8,
        std_of=48,
        steps=240,  # 240 / 3_200 = 15_000 / 200_000
        evaluations=12,
        horizon=3_200,
        settings=SMALL,
    ),
    rate=0.7 * 2.0**-7,
    seeds=of_arm("effective_theory", "fig5", 12),
)
SMOKE = Untuned(
    network=Network(
        width=16,
        depth=1,
        heads=2,
        steps=4,
        evaluations=2,
        horizon=160,
        settings=TINY,
    ),
    rate=0.7 * 2.0**-7,
    seeds=[0],
    same_job=("strategy", "seed"),
)
SCALES = {"smoke": SMOKE, "reduced": REDUCED, "workstation": WORKSTATION, "paper": PAPER}


def strategies(at: Untuned) -> list[dict]:
    """What each strategy changes."""
    network = at.network
    return [
        network.under(each) | {"lr": shift(each, network.width) * at.rate} for each in STRATEGIES
    ]


def stages(at: Untuned) -> dict[str, Stage]:
    """The one stage at one scale."""
    settings = at.network.changes | at.network.under("standard")
    grid = {"strategy": strategies(at), "seed": at.seeds}
    return {"": Stage(settings, grid, at.same_job)}


STUDY = studies("span_denoising", SPEC, stages, SCALES)[""]
