"""ResNet-18 with SGD, tuned at the target too: what the transferred rate costs. Ours, on Figure 8.

The protocol of `resnet` with three rates around the transferred one at the target, at the noise
that was transferred, on seeds of their own; sweeps and base are the same runs. At paper scale the
rates are around the printed one.

Workstation: 118 runs with all rounds, 4.1 hours, of which all but 18 are those of `resnet`.
"""

from repro.core.seeds import of_arm
from repro.core.study import octaves
from studies.upscaling.resnet import CHOSEN, CODE_LR, curves

of = curves.keywords
RATES = {
    "smoke": [2.0**-5],
    "reduced": octaves(-4, -2),
    "workstation": CODE_LR[2:5],
    "paper": CODE_LR[2:5],
}
STAGES = curves(
    target={"lr": RATES, "lr_without_noise": RATES},
    seeds=of["seeds"] | {"reduced": of_arm("upscaling", "target-resnet", 4)},
    chosen_after_seeing=f"{CHOSEN}; rates at the target around those that seeds 0 to 2, not among "
    "those judged, transfer",
)
