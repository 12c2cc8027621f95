"""Transfer of learning rate and noise, MLP with AdamW (Figure 3 c, f).

Paper scale: noise fixed at 1 in the released code's convention, which for hidden matrices is 1/2
here; its grid of 2^-9 to 2 is converted likewise. On the input layer 1/2 is more than the code's
1 / 54^1/2 = 0.14. Base models are trained at panel f's rate, 0.0005: F.5 names none. The released
code has 0.002; its rate and its noise are stages of their own. The 22 learning rates are that
code's, two per octave around 0.0005.

Workstation: 315 runs, 0.8 hours.

Reduced: what is judged are the rates of two target widths a factor of 8 apart on five seeds; noise
is not swept. Overnight: over a factor of 8 in width for the rates and of 16 for the noise, whose
rival's slope is half as large, and half octaves wherever the paper's law, SP's rate as 1/n or noise
of one standard deviation could put an optimum. In both the noise that is fixed is near the best
one: with 1, four times as much, the narrow models' rates scattered by an octave.
"""

from dataclasses import replace

from repro.core.seeds import of_arm
from repro.core.study import octaves, studies
from studies.upscaling import _mlp, _mlp_transfer
from studies.upscaling._mlp import CHOSEN, DEPARTURES
from studies.upscaling._transfer import stages

PAPER = replace(
    _mlp_transfer.PAPER,
    widths=[128, 180, 256, 390, 512, 768],
    settings=_mlp.DRAWN_BIASES | {"model.base_width": 512},
    base_lr=0.0005,
    lr=[0.0005 * rate for rate in octaves(-5, 5.5, 0.5)],
    levels=[0.0, *octaves(-10, 0)],
    fixed_lr=0.0005,
    fixed_level=0.5,
)
WORKSTATION = replace(
    _mlp_transfer.WORKSTATION,
    settings=PAPER.settings,
    base_lr=0.0005,
    lr=[0.0005 * rate for rate in octaves(-5, 5)],
    levels=[0.0, *octaves(-8, 0)],
    fixed_lr=0.0005,
    fixed_level=0.5,
)
REDUCED = replace(
    _mlp_transfer.REDUCED,
    widths=[16, 128],
    base_lr=2.0**-5,
    lr=octaves(-8, -3),
    levels=[0.0, *octaves(-5, 1)],
    fixed_lr=2.0**-5,
    fixed_level=0.25,
    seeds=of_arm("upscaling", "fig3-octaves-mlp", 5),
    noise_seeds=[],
)
OVERNIGHT = replace(
    _mlp_transfer.OVERNIGHT,
    base_lr=2.0**-5,
    lr=[2.0**-8.5, *octaves(-7.5, -2.5, 0.5), 2.0**-1.5],
    levels=[0.0, 2.0**-5, *octaves(-4, 0, 0.5), 2.0],
    fixed_lr=2.0**-5,
    fixed_level=0.25,
)
SMOKE = replace(
    _mlp_transfer.SMOKE,
    base_lr=2.0**-5,
    lr=octaves(-6, -4, 2),
    levels=[0.0, 1.0],
    fixed_lr=2.0**-5,
    fixed_level=1.0,
)
# The code's own settings beside them: its grid of noise, of which 1 is fixed.
CODE = {"code_lr": 0.002, "code_level": 1.0, "code_levels": [0.0, *octaves(-9, 1)]}
SCALES = {
    "smoke": replace(SMOKE, **CODE),
    "reduced": replace(REDUCED, **CODE),
    "overnight": replace(OVERNIGHT, **CODE),
    "workstation": replace(WORKSTATION, **CODE),
    "paper": replace(PAPER, **CODE),
}
SPEC = _mlp.SPEC | {"optimizer": _mlp.ADAMW}
STAGES = studies(
    "warm_start", SPEC, stages, SCALES, chosen_after_seeing=CHOSEN, departures=DEPARTURES
)
