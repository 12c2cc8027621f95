"""The MLP's protocol in three passes over the rows, for the whole Forest Cover Type. Ours.

The reduced record on real rows is of 15,120, and 480 steps of the whole would be half a pass, in
which nothing is read twice. Overnight, with `covtype=FOLDER` or `data=real`, rows and steps change
and nothing else: batch, widths and grids are `_mlp`'s reduced ones, and a study takes half an hour
of a core. Reduced are three passes over the generated rows. No sweep in the code's convention, and
no seeds of the small system.
"""

from collections.abc import Mapping
from dataclasses import replace

from repro.core.seeds import of_arm
from repro.core.study import Stage
from studies.upscaling import _mlp, _protocol
from studies.upscaling._protocol import Upscaling

PASSES = 3
BATCHES = 929  # 464_809 rows // 500
LEFT_OUT = ("small_upscaled", "small_without_noise", "small_most_noise")
CHOSEN = f"{_mlp.CHOSEN}; three passes and six seeds are what an hour of two cores allows"
DEPARTURES = (
    *_mlp.DEPARTURES,
    f"Ours: {PASSES} epochs of the paper's 500; a final loss is a mean over the last one.",
)


def passes(at: Upscaling, batches: int) -> Upscaling:
    """PASSES over the rows, each of so many batches, without the code's convention. The window is a
    pass, as `_mlp`'s windows are of whole epochs."""
    return replace(
        at, steps=PASSES * batches, evaluations=2 * PASSES, window=batches, code_levels=()
    )


def whole(scales: Mapping[str, Upscaling], arm: str) -> dict[str, Upscaling]:
    """Scale -> what runs there. scales: of the protocol by an optimizer. arm: of the seeds."""
    judged = of_arm("upscaling", arm, 6)
    reduced = replace(scales["reduced"], seeds=judged, base_seeds=judged[: _mlp.BASES])
    return {
        "smoke": replace(scales["smoke"], code_levels=()),
        "reduced": passes(reduced, 24),
        "overnight": passes(reduced, BATCHES),
        "paper": passes(scales["paper"], 232),
    }


def stages(at: Upscaling) -> dict[str, Stage]:
    """Stage name -> its runs at one scale."""
    return {name: s for name, s in _protocol.stages(at).items() if name not in LEFT_OUT}
