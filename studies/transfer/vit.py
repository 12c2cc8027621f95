"""Workload: a vision transformer on images, whose heads are as many at every width.

Under every parametrization a logit of attention has the factor that it has there.
Paper scale: CIFAR-100 once through, 50,000 images // 64 = 781 steps, as deep as ViT-B. The images
are as they are, without augmentation: none is seen twice.
Workstation: the same with six blocks, three widths; with all rounds 2.6 hours.

Reduced: 12,800 generated images of 10 classes. Length, batch and widths are a prototype's, as
elsewhere; the rates and the ratios were set after one trial of another seed (9001), whose narrow
model was best at 2^-6 and ratio 1 and whose wide one under SP at 2^-8.
"""

from repro.core.study import octaves
from studies.transfer._workload import TRIED, workload

SMALL = {
    "data.batch_size": 32,
    "model.depth": 2,
    "model.heads": 4,
    "model.patch": 8,
}
STAGES = workload(
    {
        "data": {
            "dataset": "cifar100_long",
            "batch_size": 64,
            "resolution": 32,
            "augment": False,
        },
        "model": {
            "name": "vit",
            "width": 96,
            "depth": 12,
            "heads": 12,
            "expansion": 4,
            "patch": 4,
            "resolution": 32,
            "classes": 100,
            "base_width": 96,
        },
        "steps": 781,
        "precision": "float32",
    },
    widths={
        "smoke": [32, 64],
        "reduced": [32, 64],
        "workstation": [48, 192, 768],
        "paper": [96, 192, 384, 768],
    },
    scales={
        "smoke": SMALL | {"steps": 10},
        "reduced": SMALL | {"steps": 400},
        "workstation": {"model.depth": 6},
        "paper": {},
    },
    lr={
        "smoke": octaves(-8, -6, 2),
        "reduced": octaves(-9, -5),
        "workstation": octaves(-12, -6),
        "paper": octaves(-13, -6, 0.5),
    },
    ratios=[0.25, 1.0, 4.0],
    night={},
    chosen=TRIED,
)
