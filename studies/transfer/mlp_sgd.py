"""Workload: the MLP with SGD and momentum, because parametrizations rank per optimizer.

Full alignment, LVP and u-muP are rates of Adam-like optimizers, so SP and muP alone.

Seeds: 860 and up, drawn for this study. Steps, batch and widths are the MLP's; rates and ratios are
around what one trial of another seed (9001) found best for the narrow model, 2^-2 and 4. That trial
showed also that width 256 is best at 2^-2 under both.
On a workstation, over three widths, 0.1 hours.
"""

from repro.core.study import octaves
from studies.transfer._workload import SEEN_LAW, SGD, SIX, workload
from studies.transfer.mlp import RATIOS, SCALES, SPEC

STAGES = workload(
    SPEC | {"optimizer": SGD},
    widths={
        "smoke": [64, 128],
        "reduced": [64, 128, 256],
        "workstation": [128, 512, 2048],
        "paper": [256, 512, 1024, 2048],
    },
    scales=SCALES,
    lr={
        "smoke": octaves(-4, -2, 2),
        "reduced": octaves(-6, 0),
        "workstation": octaves(-7, 0),
        "paper": octaves(-9, 0, 0.5),
    },
    parametrizations=("SP", "muP"),
    ratios=RATIOS,
    decays=[0.0],
    seeds=SIX
    | {
        "reduced": ([*range(860, 866)], [*range(870, 876)]),
        "workstation": ([880, 881, 882], [890, 891, 892]),
    },
    chosen=SEEN_LAW,
)
