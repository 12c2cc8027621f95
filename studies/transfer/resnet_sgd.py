"""Workload: ResNet-18 on images, with SGD and momentum.

The readout starts at zero and BatchNorm follows every convolution. Full alignment, LVP and u-muP
are rates of Adam-like optimizers, so SP and muP alone.
Paper scale: CIFAR-100 once through, 50,000 images // 64 = 781 steps, without augmentation.

Reduced: 24,960 generated images of 10 classes at 8 x 8 pixels, 390 steps. Seeds: 900 and up, drawn
for this study. With half of the images in batches of 128, on other seeds, the narrow model did not
learn; batch, steps, widths and rates are around what trials of two seeds (9001, 9002) found, whose
narrow model was best at 2^-4 and 2^-3 and, of one, wide ones at 2^-5. Their losses at one rate
differ by 0.1 to 0.2 nats, hence six seeds.
On a workstation, over three widths, 0.5 hours.
"""

from repro.core.study import octaves
from studies.transfer._workload import SEEDS, SEEN_LAW, SGD, workload

SMALL = {"data.resolution": 8}
STAGES = workload(
    {
        "data": {
            "dataset": "cifar100_long",
            "batch_size": 64,
            "resolution": 32,
            "augment": False,
        },
        "model": {"name": "resnet", "classes": 100, "width": 0.5, "base_width": 0.5},
        "optimizer": SGD,
        "steps": 781,
        "precision": "tf32",
    },
    widths={
        "smoke": [1 / 16, 1 / 8],
        "reduced": [1 / 8, 1 / 4],
        "workstation": [1 / 4, 1, 4],
        "paper": [1 / 2, 1, 2, 4],
    },
    scales={
        "smoke": SMALL | {"data.batch_size": 16, "steps": 10, "precision": "float32"},
        "reduced": SMALL | {"steps": 390, "precision": "float32"},
        "workstation": {},
        "paper": {},
    },
    lr={
        "smoke": octaves(-6, -4, 2),
        "reduced": octaves(-7, -2),
        "workstation": octaves(-8, -2),
        "paper": octaves(-9, 0, 0.5),
    },
    parametrizations=("SP", "muP"),
    ratios=[0.25, 1.0, 4.0],
    decays=[0.0],
    seeds=SEEDS
    | {
        "reduced": ([*range(900, 906)], [*range(910, 916)]),
        "workstation": ([920, 921, 922], [930, 931, 932]),
    },
    chosen=SEEN_LAW,
)
