"""The decoder trained with Muon, its updates scaled with a matrix' shape in either of two ways.

Muon takes the matrices between two widths, AdamW embedding and readout, at one learning rate; the
embedding's times a ratio, tuned on the narrow model. Adjustment "original" keeps the spectral norm
of an update, which is what a rate needs to be the same at every width; "match_rms_adamw" makes its
size AdamW's, so that its best rate should fall as width^-1/2 beside the other's.

Seeds: 720 and up, drawn for this study. Rates and ratios are those around what one trial of another
seed (9001) found best for the narrow model, 2^-5 and 64; widths, steps and batch are the decoder's.
On a workstation, with three of the decoder's widths and a quarter of its steps, 0.5 hours.
"""

from repro.core.study import octaves
from studies.transfer._workload import ADAMW, SEEDS, TRIED, workload
from studies.transfer.decoder import SCALES, SPEC, WIDTHS

MUON = ADAMW | {"name": "muon", "momentum": 0.95, "adjust_lr_fn": "original"}
STAGES = workload(
    SPEC | {"optimizer": MUON},
    widths=WIDTHS | {"workstation": [128, 512, 2048]},
    scales=SCALES | {"workstation": SCALES["workstation"] | {"steps": 500}},
    lr={
        "smoke": octaves(-7, -5, 2),
        "reduced": octaves(-8, -3),
        "workstation": octaves(-11, -5),
        "paper": octaves(-12, -4, 0.5),
    },
    parametrizations=("muP",),
    ratios=[16.0, 64.0, 256.0],
    decays=[0.0],
    seeds=SEEDS
    | {
        "reduced": ([720, 721, 722], [730, 731, 732]),
        "workstation": ([740, 741, 742], [750, 751, 752]),
    },
    arms={"optimizer.adjust_lr_fn": ["original", "match_rms_adamw"]},
    chosen=TRIED,
)
