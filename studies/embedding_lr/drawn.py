"""Figure 3's sweep in settings that nobody chose, each drawn by its seed.

What varies is what the paper leaves open, or what a user would choose; `_decoder` names prototypes
that were rejected, and here none is. A sweep begins with five octaves around the best rates on
record and grows by two where its best is no inner one: with LayerNorm before a block best rates are
sixteen times as high.
"""

from dataclasses import replace

from repro.core.population import Choice, Population, each
from repro.core.seeds import of_arm
from repro.core.study import Stage, octaves, studies
from studies.embedding_lr import _decoder, width_and_vocabulary
from studies.embedding_lr._decoder import Sweep, swept

POPULATION = Population(
    {
        "norm": Choice(
            each("model.norm", "none", "post", "pre"), "equation 1 has none; decoders have either"
        ),
        "blocks": Choice(each("model.depth", 1, 2, 4), "the paper's 2, and an octave to each side"),
        "positions": Choice(
            each("model.positional_rms.factor", 0.5, 1.0, 2.0),
            "their size over the embedding's, which the paper does not print",
        ),
        "steps": Choice(each("steps", 70, 140, 280), "longer training lowers the best rate"),
        "batch": Choice(
            each("data.batch_size", 4, 8, 16), "sequences a step, around the other figures' 8"
        ),
        "eta": Choice(
            {lr: {"lr.hidden": lr, "lr.output": lr} for lr in (0.1, 0.2, 0.4)},
            "d times the rate of hidden and output layers: the paper's 0.2, and octaves beside it",
        ),
        "beta2": Choice(
            {beta: {"optimizer.betas": [0.9, beta]} for beta in (0.95, 0.999)},
            "language models have the one, torch the other",
        ),
    }
)
TINY = Population({"norm": POPULATION.choices["norm"]}, twice=1)
# At the paper's own steps and batch.
PUBLISHED = Population(
    {
        name: POPULATION.choices[name]
        for name in POPULATION.choices
        if name not in ("steps", "batch")
    }
)
REDUCED = replace(
    width_and_vocabulary.REDUCED,
    widths=[16, 32, 64],
    lr=octaves(-6, -2),
    seeds=of_arm("embedding_lr", "settings-again", 28),
    rounds=4,
    population=POPULATION,
    same_job=("size", "lr.embedding"),
)
SCALES = {
    "smoke": replace(
        width_and_vocabulary.SMOKE,
        widths=[16, 32],
        seeds=[0, 1, 2],
        population=TINY,
    ),
    "reduced": REDUCED,
    "overnight": replace(
        REDUCED,
        widths=[16, 32, 64, 128],
        seeds=of_arm("embedding_lr", "settings-overnight", 56),
    ),
    "paper": replace(width_and_vocabulary.PAPER, seeds=[*range(24)], population=PUBLISHED),
}


def stages(at: Sweep) -> dict[str, Stage]:
    """The one stage at one scale."""
    return {"": swept(at)}


STUDY = studies("language_model", _decoder.PAPER, stages, SCALES)[""]
