"""ResNet-18 with SGD, tuned at the target too: what the transferred rate costs. Ours, on Figure 8.

The protocol of `resnet` with three rates around the transferred one at the target, at the noise
that was transferred, on seeds of their own; sweeps and base are the same runs. At paper scale the
rates are around the printed one.

Workstation: 118 runs with all rounds, 4.1 hours, of which all but 18 are those of `resnet`.
"""

from dataclasses import replace

from repro.core.seeds import of_arm
from repro.core.study import octaves, studies
from studies.upscaling import resnet
from studies.upscaling._protocol import Upscaling, overnight, stages


def around(at: Upscaling, rates: list[float]) -> Upscaling:
    """A scale of `resnet` with a sweep at the target, with noise and without."""
    return replace(at, target_lr=rates, target_lr_quiet=rates, starts=True)


SMOKE = around(resnet.SMOKE, [2.0**-5])
JUDGED = of_arm("upscaling", "target-resnet", 4)
REDUCED = replace(
    around(resnet.REDUCED, octaves(-4, -2)),
    seeds=JUDGED,
    small_seeds=JUDGED,
)
SCALES = {
    "smoke": SMOKE,
    "reduced": REDUCED,
    "overnight": overnight(REDUCED),
    "workstation": around(resnet.WORKSTATION, resnet.CODE_LR[2:5]),
    "paper": around(resnet.PAPER, resnet.CODE_LR[2:5]),
}
STAGES = studies(
    "warm_start",
    resnet.SPEC,
    stages,
    SCALES,
    chosen_after_seeing=f"{resnet.CHOSEN}; rates at the target around those that seeds 0 to 2, not "
    "among those judged, transfer",
    departures=resnet.DEPARTURES,
)
