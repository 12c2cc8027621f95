"""ResNet-18 with SGD (Figures 2, 8 and 9): Ma et al. (arXiv 2602.10545), Appendix F.2.

Paper scale: as printed in F.2; the grids are the released code's. F.2 names no learning-rate
schedule, label smoothing, warm-up or dropout, so there is none. Where F.2 is silent we follow that
code: the last incomplete batch of an epoch is dropped, every tensor decays (also BatchNorm's and
the readout), TF32 on a GPU. Our choice: the learning rates of the wide model from scratch.
Noise: one constant per tensor, tuned on the small model (Appendix D).

Reduced: generated images of 10 classes (the readout keeps its 100, so CIFAR-100 fits too), widths
from 1/16 (4, 8, 16 and 32 channels), at which muP equals the standard parametrization. Trial runs
fixed the settings by two rules, without looking at the claims: 10 to 12 minutes of one core in all,
and optima inside the grids. At 16 x 16 pixels, or with crops and mirroring (which the images have
already), widths 1/16 and 1/8 stay near chance for that time. Sweep 2's best rate was first the
largest of 2^-7 to 2^-3, so 2^-2 was added. What is judged runs on seeds of its own; those
of the sweeps and the base, 0 to 2, were judged before.
"""

from functools import partial

from repro.core.seeds import of_arm
from repro.core.study import octaves
from studies.upscaling._protocol import protocol
from widthwise.parametrization import KINDS

# 50_000 images // 128 = 390 batches * 100 epochs = 39_000 steps
PAPER = {
    "data": {"dataset": "cifar100", "batch_size": 128, "resolution": 32, "augment": True},
    "model": {"name": "resnet", "classes": 100, "width": 2.0, "base_width": 1.0},
    "parametrization": "muP-multiplier",
    "start": None,
    "optimizer": {
        "name": "sgd",
        "momentum": 0.9,
        "nesterov": False,
        "weight_decay": 1e-4,
        "decayed": list(KINDS),
        "clip": None,
    },
    "lr": 0.01,
    "steps": 39_000,
    "microbatches": 1,
    "evaluations": 100,
    "precision": "tf32",
    "threads": 1,
    "seed": 0,
}
# 5_000 images // 128 = 39 batches * 5 epochs = 195 steps
REDUCED = {
    "data.resolution": 8,
    "data.augment": False,
    "model.base_width": 1 / 16,
    "steps": 195,
    "evaluations": 5,
}
SMOKE = REDUCED | {"steps": 4, "evaluations": 2}
# 390 batches * 20 epochs = 7_800 steps; widths over a factor of 16. A step takes 5 ms to start, 40
# ms at width 4, so a run 41 to 315 s; 100 runs with all rounds: 3.0 hours.
WORKSTATION = {"steps": 7_800, "evaluations": 20}
SMALL = {"small": 1 / 16, "small_wide": 1 / 8, "base": 1 / 8, "wide": 1 / 4}
CODE_LR = [0.005 * 2.0**j for j in range(-4, 3)]

# The last epoch: two of five would be of another time in training.
WINDOWS = {"reduced": 39, "workstation": 390, "paper": 390}
DEPARTURES = (
    "The last batch of an epoch, 80 of 50,000 images, is left out, as in the released code: 39,000 "
    "steps where 100 whole epochs are 39,100.",
)
CHOSEN = "2^-2 was added to Sweep 2's rates because the best was the largest, 2^-3"

curves = partial(
    protocol,
    PAPER,
    widths={
        "smoke": SMALL,
        "reduced": SMALL,
        "workstation": {"small": 0.25, "small_wide": 0.5, "base": 2.0, "wide": 4.0},
        "paper": {"small": 0.5, "small_wide": 1.0, "base": 2.0, "wide": 4.0},
    },
    scales={"smoke": SMOKE, "reduced": REDUCED, "workstation": WORKSTATION, "paper": {}},
    windows=WINDOWS,
    lr={
        "smoke": octaves(-5, -4),
        "reduced": octaves(-6, -1),
        "workstation": CODE_LR[2:],
        "paper": CODE_LR[-3:],
    },
    lr_upscaled={
        "smoke": octaves(-5, -4),
        "reduced": octaves(-7, -2),
        "workstation": CODE_LR,
        "paper": CODE_LR,
    },
    lr_scratch={
        "smoke": octaves(-5, -4),
        "reduced": octaves(-5, -2),
        "workstation": CODE_LR[2:],
        "paper": CODE_LR[2:],
    },
    levels={
        "smoke": [0.0, 0.5],
        "reduced": [0.0, 0.5, 1.0, 2.0],
        "workstation": [j / 5 for j in range(6)],
        "paper": [j / 10 for j in range(10)],
    },
    seeds={
        "smoke": [0, 1],
        "reduced": of_arm("upscaling", "fig2-resnet", 4),
        "workstation": [20, 21, 22],
        "paper": [0, 1, 2, 3, 4],
    },
    base_seeds={
        "smoke": [0, 1],
        "reduced": [0, 1, 2],
        "workstation": [20, 21, 22],
        "paper": [0, 1, 2, 3, 4],
    },
    noise="signal",
    chosen_after_seeing=CHOSEN,
    departures=DEPARTURES,
)
STAGES = curves()
