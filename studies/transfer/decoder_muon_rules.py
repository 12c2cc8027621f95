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

from collections.abc import Sequence

from repro.core.seeds import of_arm
from repro.core.study import Scale, Study, octaves
from studies.transfer._workload import ADAMW, CHOSEN
from studies.transfer.decoder import SCALES, SPEC, WIDTHS

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


LR = {
    "smoke": octaves(-7, -5, 2),
    "reduced": octaves(-8, -3),
    "paper": octaves(-12, -4, 0.5),
}
REACHED = WIDTHS | {"reduced": [16, 128]}
TUNING = {"reduced": of_arm("transfer", "muon-rules-tuning", 24)}
JUDGED = {"reduced": of_arm("transfer", "muon-rules", 10)}
FEW = {
    "smoke": ([400, 401], [410, 411]),
    "paper": ([400, 401, 402], [410, 411, 412]),
}
WHOLE = {
    **SPEC,
    "parametrization": "muP",
    "init": {},
    "lr": {"embedding": RATIO * 2.0**-5, "hidden": 2.0**-5, "output": 2.0**-5},
    "optimizer": MUON,
    "evaluations": 5,  # the last of five parts of a run: its loss is the mean over a fifth
    "microbatches": 1,
    "threads": 1,
    "seed": 0,
}


def study(wide: bool) -> Study:
    """One of the two stages."""

    def grid(scale: str) -> dict[str, Sequence]:
        base, *wider = REACHED[scale]
        seeds = {**{name: each[wide] for name, each in FEW.items()}, **(JUDGED if wide else TUNING)}
        runs = (
            [
                setting(rate, n, base, each)
                for n in wider
                for each in RULES.values()
                for rate in LR[scale]
            ]
            if wide
            else [setting(rate, base, base) for rate in LR[scale]]
        )
        return {"run": runs, "seed": seeds[scale]}

    jobs = {"smoke": ("run", "seed"), "reduced": ("seed",)}
    return Study(
        task="language_model",
        spec=WHOLE,
        grid=grid("paper"),
        scales={
            name: Scale(SCALES[name], grid(name), jobs.get(name, ()))
            for name in ("smoke", "reduced", "paper")
        },
        chosen_after_seeing=CHOSEN,
    )


STAGES = {"narrow": study(wide=False), "wide": study(wide=True)}
