"""E.3 and E.4 measured: deep linear MLPs of growing width, upscaled in three ways.

Noise on the trained matrices only; on every weight; on every weight, with the learning rate of the
paper's rule for equal dynamics. Each seed stands for a batch of independent networks.
"""

from repro.core.study import Scale, Study
from repro.theory.upscaling_limit import NAMES, equal_dynamics_lr
from studies.upscaling._deep_linear import LR, SIGMA, SPEC

HIDDEN, OUTPUT, INPUT = 0.4, 0.5, 0.3


def networks() -> list[dict]:
    """Layers, noise and learning rate after upscaling."""
    result = []
    for layers, names in NAMES.items():
        hidden = dict.fromkeys(names, 0.0) | dict.fromkeys(names[1:-1], HIDDEN)
        every = hidden | {names[0]: OUTPUT, names[-1]: INPUT}
        rule = equal_dynamics_lr(layers, sigma=SIGMA, lr=LR, noise=every)
        result += [
            {"layers": layers, "noise": noise, "lr_up": lr_up}
            for noise, lr_up in ((hidden, LR), (every, LR), (every, rule))
        ]
    return result


STUDY = Study(
    task="deep_linear",
    spec=SPEC,
    grid={
        "width": [2**k for k in range(6, 13)],
        "network": networks(),
        "seed": list(range(8)),
    },
    scales={
        "smoke": Scale(
            grid={"width": [32, 64, 128], "seed": list(range(4))},
            same_job=("width", "network", "seed"),
        ),
        "reduced": Scale(
            # 3,000 networks a width, to know a mean to about 0.2 % of its limit. Ten seeds,
            # because eight gave `infinite_width.limit` a power of 78 %; with eight the mean was
            # within its bound.
            spec={"draws": 300},
            grid={"width": [32, 64, 128, 256, 384], "seed": list(range(200, 210))},
            same_job=("network", "seed"),
        ),
        "workstation": Scale(
            spec={"draws": 300},
            grid={"width": [2**k for k in range(6, 11)], "seed": list(range(220, 228))},
            same_job=("network", "seed"),
        ),
        "paper": Scale(same_job=("network",)),
    },
    chosen_after_seeing="two of the ten seeds at reduced scale were added, for power, when the "
    "results of eight were known",
)
