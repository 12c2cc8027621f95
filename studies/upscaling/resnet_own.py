"""ResNet-18 as `resnet` has it, at the default scale each seed from a base of its own (Figure 2).

At larger scales all seeds grow from the base with the median loss, as `resnet` has it there.
"""

from dataclasses import replace

from repro.core.seeds import of_arm
from repro.core.study import studies
from studies.upscaling import resnet
from studies.upscaling._protocol import own_bases, stages

# On a workstation 1.4 hours.
SCALES = resnet.SCALES | {
    "smoke": own_bases(resnet.SMOKE),
    "reduced": replace(own_bases(resnet.REDUCED), seeds=of_arm("upscaling", "own-resnet-again", 4)),
}
STAGES = studies(
    "warm_start",
    resnet.SPEC,
    stages,
    SCALES,
    chosen_after_seeing=resnet.CHOSEN,
    departures=resnet.DEPARTURES,
)
