"""Transfer of learning rate and noise, MLP with SGD (Figure 3 b, e).

Paper scale: 100 epochs, as F.5 says (the released code trains 200); noise fixed at 0.75 in the
released code's convention, which for hidden matrices is 0.375 here; its grid of 0 to 2 in steps of
1/8 is converted likewise. On the input layer 0.375 is more than the code's 0.75 / 54^1/2 = 0.10.
Base models are trained at panel e's rate, 0.1: F.5 names none. The released code has 0.6; its rate
and its noise are stages of their own. The 22 learning rates are that code's, two per octave around
0.2.

Workstation: 300 runs, 0.8 hours.

Reduced: none, for no test is told there. Overnight as in `mlp_adamw_transfer`; here too the noise
that is fixed is near the best one, where it was four times as large.
"""

from repro.core.study import octaves
from studies.upscaling._mlp import SGD
from studies.upscaling._mlp_transfer import sweeps_by

sweeps = sweeps_by(
    SGD,
    base={"reduced": 0.5, "paper": 0.1},
    base_width=1024,
    widths={"reduced": [16, 32], "paper": [128, 256, 512, 1024]},
    judged=[],
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
)
STAGES = sweeps(
    # The code's own settings beside them: its grid of noise, of which 0.75 is fixed.
    code={"lr": 0.6, "level": 0.75, "levels": [level / 8 for level in range(17)]},
)
