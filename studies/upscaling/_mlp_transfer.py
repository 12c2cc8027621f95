"""What the MLP's studies of transfer share (Ma et al., arXiv 2602.10545, F.5): widths, scales and
epochs, and the controls that are held against them.

Paper scale: 100 epochs. Workstation: a coarser grid, 25 epochs of 232 batches = 5_800 steps, 6 s at
1 ms a step, 23 s at width 2,048. Reduced and overnight: 160 steps (first 192) to save time.
"""

from dataclasses import replace

from studies.upscaling._mlp import DRAWN_BIASES
from studies.upscaling._transfer import OVERNIGHT_SEEDS, Transfer

# By an optimizer there are others of the grids and rates, and the widths that are not here.
PAPER = Transfer(
    steps=23_200,  # 100 epochs of 232 batches
    batch=2_000,
    evaluations=100,
    settings=DRAWN_BIASES,
    base_lr=0.0,
    window=232,
    seeds=[0, 1, 2, 3, 4],
    code_seeds=[0, 1, 2, 3, 4],
    jobs="run",
)
WORKSTATION = replace(
    PAPER,
    widths=[64, 128, 256, 512, 1024],
    steps=5_800,
    evaluations=25,
    seeds=[20, 21, 22],
    code_seeds=[],
    jobs="width",
)
REDUCED = Transfer(
    steps=160,
    batch=500,
    evaluations=8,
    settings={"model.base_width": 16},
    base_lr=0.0,
    window=20,
)
OVERNIGHT = replace(
    REDUCED,
    widths=[16, 32, 64, 128, 256],
    lr_widths=[16, 32, 64, 128],
    seeds=OVERNIGHT_SEEDS,
    jobs="width",
)
SMOKE = replace(REDUCED, widths=[16, 32], steps=12, evaluations=1, window=0, seeds=[0])
