"""Workload: a recurrent language model, a GRU of torch's own layers with an untied readout.

In TF32, because torch's autocast has no GRU in bfloat16.
Paper scale: two layers, 256 sequences of 256 tokens, 10,000 steps = 655 million tokens.
On a workstation the same data as the decoder's for 1,000 steps, three widths: 1.6 hours.

Reduced: length, batch and rates are the decoder's; one trial of another seed (9001) was seen, whose
narrow model was best at 2^-5 and ratio 4 and whose wide one under SP at 2^-6.
"""

from dataclasses import replace

from repro.core.study import studies
from studies.transfer import _workload
from studies.transfer._workload import ONE_SEEN, RUN, SHORT_TEXT, TEXT, no_night, stages

SMALL = SHORT_TEXT | {"model.depth": 1, "precision": "float32"}
PAPER = replace(_workload.PAPER, widths=[256, 512, 1024, 2048])
REDUCED = replace(_workload.REDUCED, widths=[32, 64, 128], settings=SMALL)
SCALES = {
    "smoke": replace(_workload.SMOKE, widths=[32, 64], settings=SMALL),
    "reduced": REDUCED,
    "overnight": no_night(REDUCED),
    "workstation": replace(_workload.WORKSTATION, widths=[64, 256, 1024], steps=1_000),
    "paper": PAPER,
}
SPEC = {
    "data": TEXT,
    "model": {
        "name": "gru",
        "width": 256,
        "depth": 2,
        "base_width": 256,
    },
    "steps": PAPER.steps,
    "precision": "tf32",
}
STAGES = studies("transfer", RUN | SPEC, stages, SCALES, chosen_after_seeing=ONE_SEEN)
