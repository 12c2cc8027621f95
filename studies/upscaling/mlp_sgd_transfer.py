"""Transfer of learning rate and noise, MLP with SGD (Figure 3 b, e).

Paper scale: 100 epochs, as F.5 says (the released code trains 200); noise fixed at 0.75 in the
released code's convention, which for hidden matrices is 0.375 here; its grid of 0 to 2 in steps of
1/8 is converted likewise. On the input layer 0.375 is more than the code's 0.75 / 54^1/2 = 0.10.
Base models are trained at panel e's rate, 0.1: F.5 names none. The released code has 0.6; its rate
and its noise are stages of their own. The 22 learning rates are that code's, two per octave around
0.2.

Workstation: the paper's settings on a coarser grid, 25 epochs of 232 batches = 5_800 steps, 6 s at
1 ms a step, 23 s at width 2,048; 300 runs: 0.8 hours.

Reduced: 160 steps (first 192) to save time; drawn with two seeds, and not judged. Overnight as in
`mlp_adamw_transfer`; here too the noise that is fixed is near the best one, where it was four times
as large.
"""

from functools import partial

from repro.core.study import octaves
from studies.upscaling._mlp import (
    CHOSEN,
    DEPARTURES,
    PAPER,
    REDUCED,
    SGD,
    drawn_biases,
)
from studies.upscaling._transfer import DRAWN, OVERNIGHT_SEEDS, transfer

EPOCHS = {"steps": 23_200, "evaluations": 100}  # 100 epochs of 232 batches
WHOLE = (
    PAPER | EPOCHS | {"optimizer": SGD, "lr": 0.1, "model": PAPER["model"] | {"base_width": 1024}}
)
SHORT = REDUCED | {"steps": 160, "evaluations": 8, "lr": 0.5}

sweeps = partial(
    transfer,
    WHOLE,
    scales={
        "smoke": SHORT | {"steps": 12, "evaluations": 1},
        "reduced": SHORT,
        "overnight": SHORT,
        "workstation": drawn_biases(WHOLE) | {"steps": 5_800, "evaluations": 25},
        "paper": drawn_biases(WHOLE),
    },
    windows={"reduced": 20, "overnight": 20, "workstation": 232, "paper": 232},
    widths={
        "smoke": [16, 32],
        "reduced": [16, 32],
        "overnight": [16, 32, 64, 128, 256],
        "workstation": [64, 128, 256, 512, 1024],
        "paper": [128, 256, 512, 1024],
    },
    lr_widths={"overnight": [16, 32, 64, 128]},
    seeds={
        "smoke": [0],
        "reduced": DRAWN,
        "overnight": OVERNIGHT_SEEDS,
        "workstation": [20, 21, 22],
        "paper": [0, 1, 2, 3, 4],
    },
    lr={
        "smoke": octaves(-3, -1, 2),
        "reduced": octaves(-4, 1),
        "overnight": [2.0**-5, *octaves(-4, 1, 0.5), 4.0],
        "workstation": [0.2 * rate for rate in octaves(-5, 5)],
        "paper": [0.2 * rate for rate in octaves(-5, 5.5, 0.5)],
    },
    levels={
        "smoke": [0.0, 0.5],
        "reduced": [0.0, *octaves(-6, 0)],
        "overnight": [0.0, *octaves(-6, -0.5, 0.5), 1.0],
        "workstation": [level / 8 for level in range(9)],
        "paper": [level / 16 for level in range(17)],
    },
    fixed_lr={
        "smoke": 0.25,
        "reduced": 0.25,
        "overnight": 2.0**-1.5,
        "workstation": 0.1,
        "paper": 0.1,
    },
    fixed_level={
        "smoke": 0.5,
        "reduced": 0.125,
        "overnight": 0.125,
        "workstation": 0.375,
        "paper": 0.375,
    },
    chosen_after_seeing=CHOSEN,
    departures=DEPARTURES,
)
STAGES = sweeps(
    # The code's own settings beside them: its grid of noise, of which 0.75 is fixed.
    code={"lr": 0.6, "level": 0.75, "levels": [level / 8 for level in range(17)]},
)
