"""ResNet-18 with SGD (Figures 8 and 9): Ma et al. (arXiv 2602.10545), Appendix F.2.

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

from dataclasses import replace

from repro.core.seeds import of_arm
from repro.core.study import octaves, studies
from studies.upscaling._protocol import Upscaling, overnight, stages
from widthwise.parametrization import KINDS

JUDGED = of_arm("upscaling", "fig2-resnet", 4)
CODE_LR = [0.005 * 2.0**j for j in range(-4, 3)]
PAPER = Upscaling(
    small=0.5,
    base=2.0,
    factor=2,
    steps=39_000,  # 50_000 images // 128 = 390 batches * 100 epochs
    batch=128,
    evaluations=100,
    # The last epoch, here and below: two of the five reduced ones would be of another time in
    # training.
    window=390,
    lr=CODE_LR[-3:],
    lr_upscaled=CODE_LR,
    lr_scratch=CODE_LR[2:],
    levels=[j / 10 for j in range(10)],
    rounds=3,
    seeds=[0, 1, 2, 3, 4],
    base_seeds=[0, 1, 2, 3, 4],
    small_seeds=[0, 1, 2],
    starts=False,
    long=3,
    jobs="run",
    noise="signal",
)
# Widths over a factor of 16. A step takes 5 ms to start, 40 ms at width 4, so a run 41 to 315 s;
# 100 runs with all rounds: 3.0 hours.
WORKSTATION = replace(
    PAPER,
    small=0.25,
    steps=7_800,  # 390 batches * 20 epochs
    evaluations=20,
    lr=CODE_LR[2:],
    levels=[j / 5 for j in range(6)],
    rounds=2,
    seeds=[20, 21, 22],
    base_seeds=[20, 21, 22],
    small_seeds=[20, 21, 22],
    jobs="line or run",
)
REDUCED = Upscaling(
    small=1 / 16,
    base=1 / 8,
    factor=2,
    steps=195,  # 5_000 images // 128 = 39 batches * 5 epochs
    batch=128,
    evaluations=5,
    settings={"data.resolution": 8, "data.augment": False, "model.base_width": 1 / 16},
    window=39,
    lr=octaves(-6, -1),
    lr_upscaled=octaves(-7, -2),
    lr_scratch=octaves(-5, -2),
    levels=[0.0, 0.5, 1.0, 2.0],
    rounds=2,
    target_rounds=2,
    seeds=JUDGED,
    base_seeds=[0, 1, 2],
    small_seeds=JUDGED,
    starts=False,
    jobs="line",
    noise="signal",
)
SMOKE = replace(
    REDUCED,
    steps=4,
    evaluations=2,
    window=0,
    lr=octaves(-5, -4),
    lr_upscaled=octaves(-5, -4),
    lr_scratch=octaves(-5, -4),
    levels=[0.0, 0.5],
    rounds=0,
    target_rounds=0,
    seeds=[0, 1],
    base_seeds=[0, 1],
    small_seeds=[0, 1],
    jobs="stage",
)
SCALES = {
    "smoke": SMOKE,
    "reduced": REDUCED,
    "overnight": overnight(REDUCED),
    "workstation": WORKSTATION,
    "paper": PAPER,
}
SPEC = {
    "data": {"dataset": "cifar100", "batch_size": PAPER.batch, "resolution": 32, "augment": True},
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
    "steps": PAPER.steps,
    "microbatches": 1,
    "evaluations": PAPER.evaluations,
    "precision": "tf32",
    "threads": 1,
    "seed": 0,
}
DEPARTURES = (
    "The last batch of an epoch, 80 of 50,000 images, is left out, as in the released code: 39,000 "
    "steps where 100 whole epochs are 39,100.",
)
CHOSEN = "2^-2 was added to Sweep 2's rates because the best was the largest, 2^-3"
STAGES = studies(
    "warm_start", SPEC, stages, SCALES, chosen_after_seeing=CHOSEN, departures=DEPARTURES
)
