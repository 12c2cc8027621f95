"""Figures 3 and 4: BART-large, both strategies over the learning rate, weight decay fixed (II.2.E).

standard and neural_tangent: the sweeps, whose grids differ by a factor n^3/2. The selected run has
the smallest validation loss at any of its evaluations, as the captions report; Figure 4 shows it.
standard_best and neural_tangent_best (ours, not at paper scale): the same run with other seeds.

Paper scale: our grid, from two octaves below the printed 1e-3 to one above; it grows if the best
run is at its edge. Reduced: the grids contain the optima of eight seeds on record (2^-7 and, of
neural-tangent, 2^-8), the half of each that is judged, and an octave above; they grow likewise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from repro.core.seeds import of_arm
from repro.core.study import Best, Stage, octaves, studies
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

METRIC = "lowest_valid_loss"


@dataclass(frozen=True, kw_only=True)
class Swept:
    """What is run of BART-large at one scale.

    network: its sizes, and how long it is trained.
    rates: learning rates of the matrices. own_rates: strategy -> its own, in place of them.
    rounds: how many times a sweep may grow.
    seeds: of the sweeps. best_seeds: of the runs at their best.
    jobs: what one job trains: a whole "stage"; the "seeds" of a point; a "run".
    """

    network: Network
    rates: Sequence[float]
    own_rates: Mapping[str, Sequence[float]] = field(default_factory=dict)
    rounds: int = 2
    seeds: Sequence[int]
    best_seeds: Sequence[int] = ()
    jobs: Literal["stage", "seeds", "run"] = "stage"

    def at_widths(self, widths: Sequence[float]) -> "Swept":
        """At this width, over the same rates."""
        return replace(self, network=self.network.at_widths(widths))


PAPER = Swept(
    network=Network(
        width=1_024,
        depth=12,
        heads=16,
        steps=HORIZON,
        evaluations=200,
        horizon=HORIZON,
    ),
    rates=[1e-3 * 2.0**k for k in range(-2, 2)],
    rounds=3,
    seeds=[0, 1, 2],  # the paper: one
    jobs="run",
)
WORKSTATION = Swept(
    # * 2^15 = 262 million tokens; a step is 28 ms of products and 32 ms of memory, a run 8 minutes;
    # 54 runs with all rounds: 7.3 hours.
    network=Network(
        width=512,
        depth=6,
        heads=8,
        steps=8_000,
        evaluations=40,
        horizon=8_000,
        settings=_bart.WORKSTATION,
    ),
    # The reduced 2^-7 at width 48 is 2^-10.4 at 512, where the standard rate goes as 1/width.
    rates=octaves(-12, -9),
    seeds=[20, 21, 22],
    best_seeds=[30, 31, 32],
    jobs="seeds",
)
REDUCED = Swept(
    network=Network(
        width=48,
        depth=1,
        heads=4,
        steps=200,
        evaluations=8,
        horizon=200,
        settings=SMALL,
    ),
    rates=octaves(-10, -6),  # of strategies that are none of the two
    own_rates={"standard": octaves(-8, -6), "neural-tangent": octaves(-9, -7)},
    seeds=of_arm("effective_theory", "fig3-half-again", 10),
    best_seeds=of_arm("effective_theory", "fig4-again", 24),
)
SMOKE = Swept(
    network=Network(
        width=16,
        depth=1,
        heads=2,
        steps=4,
        evaluations=2,
        horizon=4,
        settings=TINY,
    ),
    rates=[2.0**-8, 2.0**-7],
    rounds=0,
    seeds=[0],
)
SCALES = {"smoke": SMOKE, "reduced": REDUCED, "workstation": WORKSTATION, "paper": PAPER}


def stages(at: Swept) -> dict[str, Stage]:
    """Stage name -> its runs at one scale."""
    sweeps = {stage_name(each): _sweep(at, each) for each in STRATEGIES}
    return sweeps | {f"{stage_name(each)}_best": _at_best(at, each) for each in STRATEGIES}


def _sweep(at: Swept, strategy: str) -> Stage:
    """The sweep of one strategy."""
    factor = shift(strategy, at.network.width)
    rates = at.own_rates.get(strategy, at.rates)
    return Stage(
        at.network.changes | at.network.under(strategy),
        {"lr": [factor * lr for lr in rates], "seed": at.seeds},
        {"stage": ("lr", "seed"), "seeds": ("seed",), "run": ()}[at.jobs],
        at.rounds,
        search=("lr",),
        metric=METRIC,
    )


def _at_best(at: Swept, strategy: str) -> Stage:
    """Runs at a sweep's best learning rate."""
    return Stage(
        at.network.changes | at.network.under(strategy),
        {"seed": at.best_seeds},
        () if at.jobs == "run" else ("seed",),
        changes={"lr": Best(stage_name(strategy), "lr", METRIC, over=("seed",))},
        unseen=True,
    )


def stage_name(strategy: str) -> str:
    """`neural_tangent`."""
    return strategy.replace("-", "_")


STAGES = studies(
    "span_denoising",
    SPEC,
    stages,
    SCALES,
    chosen_after_seeing=(
        "the grids contain the optima of trial runs, 2^-7 or 2^-8 for both strategies"
    ),
)
