"""Section 2: the hidden layers' rate and the output's, each swept beside the other.

At the default scale alone: at paper scale Figure 1's sweep has both, `width`. Figure 1's network as
printed, one vocabulary; the embedding's rate is what Figure 1 has as the best at these widths, to a
quarter of an octave, where both other rates are 0.2/d.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from repro.core.seeds import of_arm
from repro.core.study import Stage, studies
from studies.embedding_lr._decoder import CHOSEN_AS_PRINTED, PAPER, REDUCED, SMOKE
from studies.embedding_lr.figure3 import AS_PRINTED

# Times 1/d, in octaves around the printed 0.2. From 0.8 on the hidden layers' diverge.
HIDDEN = [0.2 * 2.0**k for k in range(-4, 2)]
OUTPUT = [0.2 * 2.0**k for k in range(-4, 4)]


@dataclass(frozen=True, kw_only=True)
class Rates:
    """What is run at one scale.

    settings: dotted key -> value. sizes: settings of each width. hidden, output: rates of these
    layers, times 1/d. seeds: of each; none: no runs.
    """

    settings: Mapping
    sizes: Sequence[Mapping]
    hidden: Sequence[float] = ()
    output: Sequence[float] = ()
    seeds: Sequence[int] = ()


def size(d: int, octave: float) -> dict[str, float]:
    """A width, with log2 of the embedding's rate."""
    return {"model.width": d, "lr.embedding": 2.0**octave}


NONE = Rates(settings={}, sizes=[])
SCALES = {
    "smoke": Rates(
        settings=SMOKE | AS_PRINTED,
        sizes=[size(16, -3.5), size(32, -4)],
        hidden=[0.1, 0.4],
        output=[0.1, 0.4],
        seeds=[0, 1],
    ),
    "reduced": Rates(
        settings=REDUCED | AS_PRINTED,
        sizes=[size(16, -3.5), size(64, -4.25)],
        hidden=HIDDEN,
        output=OUTPUT,
        seeds=of_arm("embedding_lr", "hidden-and-output", 3),
    ),
    "workstation": NONE,
    "paper": NONE,
}


def stages(at: Rates) -> dict[str, Stage]:
    """The one stage at one scale."""
    grid = {"size": at.sizes, "lr.hidden": at.hidden, "lr.output": at.output, "seed": at.seeds}
    return {"": Stage(at.settings, grid, ("lr.hidden", "lr.output", "seed"))}


STUDY = studies("language_model", PAPER, stages, SCALES, chosen_after_seeing=CHOSEN_AS_PRINTED)[""]
