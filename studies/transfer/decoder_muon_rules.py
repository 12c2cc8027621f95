"""Embedding and readout of a decoder beside Muon, their rates by four rules of the width.

Muon takes the matrices between two widths, with the spectral norm of its updates kept; AdamW takes
embedding and readout. Under muP the embedding's rate is the same at every width and the readout's
goes as 1/n. A public recipe has both as n^-1/2 (nanochat, `(model_dim / 768) ** -0.5`); Hayou & Liu
(arXiv 2506.15025) have the embedding's alone so. Nothing else differs: initial values are muP's.

narrow: the narrowest model, at which all rules are one, over learning rates.
wide: wider models under every rule, over the same rates; other seeds.

The embedding's rate is 64 times the others', the best of a narrow model before. Rates are
constant. Batch, data and steps are the decoder's; widths from 16, for a factor of 8: at 256 a step
of Muon takes a quarter of a second.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from repro.core.seeds import of_arm
from repro.core.study import Stage, octaves, studies, whole
from studies.transfer import decoder
from studies.transfer._workload import ADAMW, CHOSEN

MUON = ADAMW | {"name": "muon", "momentum": 0.95, "adjust_lr_fn": "original"}
RATIO = 64.0
# Rule -> powers of the width that the rates of embedding and readout have.
RULES = {
    "muP": (0.0, -1.0),
    "embedding": (-0.5, -1.0),
    "readout": (0.0, -0.5),
    "both": (-0.5, -0.5),
}
READOUT = -1.0  # muP's, which the parametrization has itself


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What is run of the rules at one scale.

    widths: the narrow model's, then those of the wide ones, in units. steps: of a run.
    settings: other changes to the settings at paper scale, dotted key -> value.
    lr: learning rates of the matrices. tuning_seeds, seeds: of the narrow, and of the wide models.
    same_job: axes along which runs share a job.
    """

    widths: Sequence[int]
    steps: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    lr: Sequence[float]
    tuning_seeds: Sequence[int]
    seeds: Sequence[int]
    same_job: tuple[str, ...] = ()

    def at_widths(self, widths: Sequence[float]) -> "Rules":
        """At these widths, the narrowest of which is tuned."""
        return replace(self, widths=sorted(whole(width, "it") for width in widths))


PAPER = Rules(
    widths=[256, 512, 1024, 2048],
    steps=10_000,
    lr=octaves(-12, -4, 0.5),
    tuning_seeds=[400, 401, 402],
    seeds=[410, 411, 412],
)
REDUCED = Rules(
    widths=[16, 128],
    steps=150,
    settings=decoder.SMALL,
    lr=octaves(-8, -3),
    tuning_seeds=of_arm("transfer", "muon-rules-tuning", 24),
    seeds=of_arm("transfer", "muon-rules", 10),
    same_job=("seed",),
)
SMOKE = Rules(
    widths=[32, 64],
    steps=10,
    settings=decoder.SMALL,
    lr=octaves(-7, -5, 2),
    tuning_seeds=[400, 401],
    seeds=[410, 411],
    same_job=("run", "seed"),
)
SCALES = {"smoke": SMOKE, "reduced": REDUCED, "paper": PAPER}
SPEC = {
    **decoder.SPEC,
    "parametrization": "muP",
    "init": {},
    "lr": {"embedding": RATIO * 2.0**-5, "hidden": 2.0**-5, "output": 2.0**-5},
    "optimizer": MUON,
    "steps": PAPER.steps,
    "evaluations": 5,  # the last of five parts of a run: its loss is the mean over a fifth
    "microbatches": 1,
    "threads": 1,
    "seed": 0,
}


def setting(rate: float, width: int, base: int, powers: tuple[float, float] = RULES["muP"]) -> dict:
    """A model of a width with its rates. powers: of embedding and readout."""
    n = width / base
    return {
        "model.width": width,
        "model.base_width": base,
        "lr.embedding": RATIO * rate * n ** powers[0],
        "lr.hidden": rate,
        "lr.output": rate * n ** (powers[1] - READOUT),
    }


def stages(at: Rules) -> dict[str, Stage]:
    """Stage name -> its runs at one scale."""
    base, *wider = at.widths
    narrow = [setting(rate, base, base) for rate in at.lr]
    wide = [setting(rate, n, base, of) for n in wider for of in RULES.values() for rate in at.lr]
    settings = {**at.settings, "steps": at.steps}
    return {
        "narrow": Stage(settings, {"run": narrow, "seed": at.tuning_seeds}, at.same_job),
        "wide": Stage(settings, {"run": wide, "seed": at.seeds}, at.same_job),
    }


STAGES = studies("language_model", SPEC, stages, SCALES, chosen_after_seeing=CHOSEN)
