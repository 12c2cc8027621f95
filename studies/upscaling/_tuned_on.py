"""The MLP with AdamW tuned on small models of other widths than `mlp_adamw`'s. Ours: the paper
tunes at one width and says that it should be above 100 units.

Everything but the small system is that of `mlp_adamw`, its seeds too, so that what the target ends
at is compared seed by seed: Sweep 1, the base at its rate, Sweep 2, and upscaled. `mlp_adamw` is
one of the widths.
"""

from collections.abc import Mapping

from repro.core.study import Study, octaves
from studies.upscaling.mlp_adamw import sweeps

STAGES = ("tune", "base", "tune_upscaled", "upscaled")
WIDENED = 4  # times: the small system's, as in F.1


def tuned_on(small: Mapping[str, int]) -> dict[str, Study]:
    """Stage name -> Study. small: scale -> width of the small model; it has these scales."""
    of = sweeps.keywords
    widths = {
        scale: of["widths"][scale] | {"small": n, "small_wide": WIDENED * n}
        for scale, n in small.items()
    }
    scales = {scale: of["scales"][scale] for scale in small}
    # A run at 512 takes 60 times as long as one at 64, so that Sweep 2 begins near the optimum of
    # `mlp_adamw`'s and grows where it has another.
    found = sweeps(
        widths=widths,
        scales=scales,
        lr_upscaled=of["lr_upscaled"] | {"reduced": octaves(-7, -4)},
        levels=of["levels"] | {"reduced": [0.0, *octaves(-3, 0)]},
        night=False,
    )
    return {name: found[name] for name in STAGES}
