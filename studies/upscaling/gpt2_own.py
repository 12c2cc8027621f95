"""GPT-2 as `gpt2` has it, at the default scale each seed from a base of its own (Figure 2).

At larger scales all seeds grow from the base with the median loss, as `gpt2` has it there and as in
the released code.
"""

from dataclasses import replace

from repro.core.seeds import of_arm
from repro.core.study import studies
from studies.upscaling import gpt2
from studies.upscaling._protocol import own_bases, stages

SCALES = gpt2.SCALES | {
    "smoke": own_bases(gpt2.SMOKE),
    "reduced": replace(own_bases(gpt2.REDUCED), seeds=of_arm("upscaling", "own-gpt2-again", 5)),
}
STAGES = studies(
    "warm_start",
    gpt2.SPEC,
    stages,
    SCALES,
    chosen_after_seeing=gpt2.CHOSEN,
    departures=gpt2.DEPARTURES,
)
