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

from dataclasses import replace

from repro.core.study import octaves, studies
from studies.upscaling import _mlp, _mlp_transfer
from studies.upscaling._mlp import CHOSEN, DEPARTURES
from studies.upscaling._transfer import stages

PAPER = replace(
    _mlp_transfer.PAPER,
    widths=[128, 256, 512, 1024],
    settings=_mlp.DRAWN_BIASES | {"model.base_width": 1024},
    base_lr=0.1,
    lr=[0.2 * rate for rate in octaves(-5, 5.5, 0.5)],
    levels=[level / 16 for level in range(17)],
    fixed_lr=0.1,
    fixed_level=0.375,
)
WORKSTATION = replace(
    _mlp_transfer.WORKSTATION,
    settings=PAPER.settings,
    base_lr=0.1,
    lr=[0.2 * rate for rate in octaves(-5, 5)],
    levels=[level / 8 for level in range(9)],
    fixed_lr=0.1,
    fixed_level=0.375,
)
REDUCED = replace(
    _mlp_transfer.REDUCED,
    widths=[16, 32],
    base_lr=0.5,
    lr=octaves(-4, 1),
    levels=[0.0, *octaves(-6, 0)],
    fixed_lr=0.25,
    fixed_level=0.125,
)
OVERNIGHT = replace(
    _mlp_transfer.OVERNIGHT,
    base_lr=0.5,
    lr=[2.0**-5, *octaves(-4, 1, 0.5), 4.0],
    levels=[0.0, *octaves(-6, -0.5, 0.5), 1.0],
    fixed_lr=2.0**-1.5,
    fixed_level=0.125,
)
SMOKE = replace(
    _mlp_transfer.SMOKE,
    base_lr=0.5,
    lr=octaves(-3, -1, 2),
    levels=[0.0, 0.5],
    fixed_lr=0.25,
    fixed_level=0.5,
)
# The code's own settings beside them: its grid of noise, of which 0.75 is fixed.
CODE = {"code_lr": 0.6, "code_level": 0.75, "code_levels": [level / 8 for level in range(17)]}
SCALES = {
    "smoke": replace(SMOKE, **CODE),
    "reduced": replace(REDUCED, **CODE),
    "overnight": replace(OVERNIGHT, **CODE),
    "workstation": replace(WORKSTATION, **CODE),
    "paper": replace(PAPER, **CODE),
}
SPEC = _mlp.SPEC | {"optimizer": _mlp.SGD}
STAGES = studies(
    "warm_start", SPEC, stages, SCALES, chosen_after_seeing=CHOSEN, departures=DEPARTURES
)
