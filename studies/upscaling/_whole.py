"""The MLP's protocol on the whole Forest Cover Type, three passes over its rows. Ours.

The reduced record on real rows is of 15,120, and 480 steps of the whole would be half a pass, in
which nothing is read twice. Here rows and steps change and nothing else: batch, widths and grids
are `_mlp`'s reduced ones. Overnight only, with `covtype=FOLDER` or `data=real`: a study takes 0.8
hours of a core. No sweep in the code's convention, and no seeds of the small system.
"""

from collections.abc import Callable
from dataclasses import replace

from repro.core.seeds import of_arm
from repro.core.study import OVERNIGHT, Study
from studies.upscaling._mlp import BASES

BATCHES, PASSES = 929, 3  # 464_809 rows // 500 = 929 batches * 3 passes = 2_787 steps
SEEDS = 6
LEFT_OUT = ("small_upscaled", "small_without_noise", "small_most_noise")
CHOSEN = "three passes and six seeds are what an hour of two cores allows"


def whole(sweeps: Callable[..., dict[str, Study]], arm: str) -> dict[str, Study]:
    """Stage name -> Study. sweeps: the protocol with a study's settings. arm: of its seeds."""
    of = sweeps.keywords
    judged = of_arm("upscaling", arm, SEEDS)
    found = sweeps(
        scales=of["scales"]
        | {
            "reduced": of["scales"]["reduced"]
            | {"steps": PASSES * BATCHES, "evaluations": 2 * PASSES}
        },
        windows={"reduced": BATCHES},  # a pass, for the same reason as there
        seeds=of["seeds"] | {"reduced": judged},
        base_seeds=of["base_seeds"] | {"reduced": judged[:BASES]},
        code_levels=None,
        night=False,
        chosen_after_seeing=f"{of['chosen_after_seeing']}; {CHOSEN}",
    )
    return {name: _overnight(study) for name, study in found.items() if name not in LEFT_OUT}


def _overnight(study: Study) -> Study:
    at = study.scales
    idle = {
        name: replace(at[name], grid={axis: [] for axis in at[name].grid}, rounds=0)
        for name in ("reduced", "paper")
    }
    return replace(study, scales={"smoke": at["smoke"], OVERNIGHT: at["reduced"], **idle})
