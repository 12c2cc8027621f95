"""Figure 3 at the default scale: the network as the paper prints it, with seeds where they tell.

A seed's best rate scatters three times as far at d = 16 as at 256, where a run costs thirty times
as much. So widths have their own number of seeds, and their own octaves: around where a record had
the best (2^-3.6, 2^-4.2 and 2^-5.1), and so far that the constant of d = 16 can be carried to 256
by d^0, d^-1/2 and d^-1; of the octaves between the best and the last the widest has one less. The
first seeds of all widths are the same, which pairs what is compared at equal seeds. `tuning` has
seeds of its own, on which that constant is chosen.
"""

from dataclasses import replace

from repro.core.seeds import of_arm
from repro.core.study import Scale, Study, octaves
from studies.embedding_lr._decoder import CHOSEN_AS_PRINTED, SMOKE, size, without_runs
from studies.embedding_lr.width_and_vocabulary import sweep

PAPER = "embedding_lr"
WHOLE = sweep(changes={"model.norm": "none"})
NONE = {name: without_runs(scale) for name, scale in WHOLE.scales.items()}


def width(k: int, rates: list[float], arm: str, number: int, tiny: int) -> Study:
    """The sweep at d = 2^k. tiny: k at smoke scale."""
    reduced = WHOLE.scales["reduced"]
    grid = {"size": [size(k)], "lr.embedding": rates}
    smoke = {"size": [size(tiny)], "lr.embedding": octaves(-8, 0, 4), "seed": [0, 1]}
    scales = {
        "smoke": Scale(
            {**SMOKE, "model.norm": "none"}, smoke, same_job=("size", "lr.embedding", "seed")
        ),
        "reduced": replace(reduced, grid={**grid, "seed": of_arm(PAPER, arm, number)}),
    }
    return replace(WHOLE, scales=NONE | scales, chosen_after_seeing=CHOSEN_AS_PRINTED)


STAGES = {
    "narrow": width(4, octaves(-7, -1), "fig3-rates", 6, 4),
    "middle": width(6, octaves(-6, -2), "fig3-rates", 5, 5),
    "wide": width(8, [2.0**-8, *octaves(-6, -3)], "fig3-rates", 5, 6),
    "tuning": width(4, octaves(-7, -1), "fig3-constant", 8, 4),
}
