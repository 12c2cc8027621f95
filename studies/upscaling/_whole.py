"""The MLP's protocol in three passes over the rows, for the whole Forest Cover Type. Ours.

The reduced record on real rows is of 15,120, and 480 steps of the whole would be half a pass, in
which nothing is read twice. Overnight, with `covtype=FOLDER` or `data=real`, rows and steps change
and nothing else: batch, widths and grids are `_mlp`'s reduced ones, and a study takes half an hour
of a core. Reduced are three passes over the generated rows. No sweep in the code's convention, and
no seeds of the small system.
"""

from collections.abc import Callable
from dataclasses import replace

from repro.core.seeds import of_arm
from repro.core.study import OVERNIGHT, Study
from studies.upscaling._mlp import BASES, EPOCH

PASSES = 3
BATCHES = 929  # 464_809 rows // 500
SEEDS = 6
LEFT_OUT = ("small_upscaled", "small_without_noise", "small_most_noise")
CHOSEN = "three passes and six seeds are what an hour of two cores allows"


def whole(sweeps: Callable[..., dict[str, Study]], arm: str) -> dict[str, Study]:
    """Stage name -> Study. sweeps: the protocol with a study's settings. arm: of its seeds."""
    short, long = (
        _passes(sweeps, arm, {**EPOCH, "reduced": n}) for n in (EPOCH["reduced"], BATCHES)
    )
    scales = ("smoke", "reduced", "paper")
    return {
        name: replace(
            study,
            scales={scale: study.scales[scale] for scale in scales}
            | {OVERNIGHT: long[name].scales["reduced"]},
        )
        for name, study in short.items()
        if name not in LEFT_OUT
    }


def _passes(sweeps: Callable[..., dict[str, Study]], arm: str, batches: dict) -> dict[str, Study]:
    """The protocol in PASSES passes. batches: scale -> how many are one."""
    of = sweeps.keywords
    judged = of_arm("upscaling", arm, SEEDS)
    few = {
        scale: of["scales"][scale] | {"steps": PASSES * number, "evaluations": 2 * PASSES}
        for scale, number in batches.items()
    }
    return sweeps(
        scales=of["scales"] | few,
        windows=batches,  # a pass, as `_mlp`'s windows are of whole epochs
        seeds=of["seeds"] | {"reduced": judged},
        base_seeds=of["base_seeds"] | {"reduced": judged[:BASES]},
        code_levels=None,
        night=False,
        chosen_after_seeing=f"{of['chosen_after_seeing']}; {CHOSEN}",
        departures=(
            *of["departures"],
            f"Ours: {PASSES} epochs of the paper's 500; a final loss is a mean over the last one.",
        ),
    )
