"""Figure 1 at the default scale: the network as the paper prints it, one vocabulary at every width.

Widths, octaves and numbers of seeds are `figure3`'s, for the same reasons, and so is eta_H = eta_W
= 0.2/d: of 0.1, 0.2 and 0.4 it was the best of a trial at every width, at 256 no better than 0.1.
`unit` has embeddings of standard deviation 1; it is drawn, and nothing is judged of it.
"""

from dataclasses import replace

from repro.core.seeds import of_arm
from repro.core.spec import override
from repro.core.study import Scale, Study, octaves
from studies.embedding_lr import width
from studies.embedding_lr._decoder import (
    CHOSEN_AS_PRINTED,
    LVP_EMBEDDING,
    PAPER,
    REDUCED,
    SMOKE,
    SP_EMBEDDING,
    without_runs,
)

AS_PRINTED = {"model.norm": "none"}
WHOLE = replace(width.STUDY, spec=override(PAPER, AS_PRINTED))
NONE = {name: without_runs(scale) for name, scale in WHOLE.scales.items()}
ALIKE = {"lr_output": [{}], "init_embedding": [{}], "init.output": ["LVP"]}
KAIMING, UNIT = ({**width.rate(0.2), **init} for init in (LVP_EMBEDDING, SP_EMBEDDING))


def stage(
    widths: list[int], tiny: int, low: int, high: int, number: int, settings: dict = KAIMING
) -> Study:
    """The sweep at some widths over the octaves from low to high. tiny: its width at smoke."""
    grid = {
        **ALIKE,
        "model.width": widths,
        "lr_hidden": [settings],
        "lr.embedding": octaves(low, high),
        "seed": of_arm("embedding_lr", "fig1", number),
    }
    smoke = {**grid, "model.width": [tiny], "lr.embedding": octaves(-8, 0, 4), "seed": [0, 1]}
    scales = {
        "smoke": Scale(
            {**SMOKE, **AS_PRINTED},
            smoke,
            same_job=("lr.embedding", "seed"),
        ),
        "reduced": Scale({**REDUCED, **AS_PRINTED}, grid, same_job=("lr.embedding", "seed")),
    }
    return replace(WHOLE, scales=NONE | scales, chosen_after_seeing=CHOSEN_AS_PRINTED)


STAGES = {
    "narrow": stage([16], 16, -7, -1, 24),
    "middle": stage([64], 32, -7, -2, 6),
    "wide": stage([256], 64, -8, -3, 6),
    "unit": stage([16, 64, 256], 16, -6, -2, 2, UNIT),
}
