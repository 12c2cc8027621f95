"""How far the first steps move a ViT and a BART, as the width grows: I.2's aim, and footnote 21.

Nothing but the width and what follows from it changes: as many heads at every width, matrices of
one C, a constant rate, no weight decay, dropout or clipping, eps far below any gradient. All
strategies give the matrices one rate at one width. The uniform rates are the rival: the
neural-tangent strategy's network with that rate for every parameter at every width.

Chosen after looking at trial runs (seeds 200 to 203): eight steps, a rate of 2^-12 and few tokens
a batch. At rates from 2^-10 the changes are as large as the streams themselves, so that leading
orders cannot be told; in batches of many more tokens than the width the tokens' overlaps decide
(footnote 29 leaves the batch out). In the trials BART's outputs moved less at larger widths. A
first run of BART (seeds 300 to 307), with the rate of 2^-12 at a width of 256, so 8 times as much
at 64, gave the stream's exponents -0.27, -0.16 and 0.01 for s = 0, 1/2, 1, the outputs' -0.06 to
-0.03: there the changes are as large as the stream.

Reduced: BART's changes scatter most at a width of 64, where a run costs a sixth of one at 256, so
that each width has its own number of seeds, a stage and an arm. The ViT's strategies are paired
over widths of 32 and 256, for the two between tell little of a slope; its uniform rates, whose
noise grows with the width, over 32 and 128.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from repro.core.seeds import of_arm
from repro.core.spec import override
from repro.core.study import Scale, Study
from studies.effective_theory import _bart, vit
from studies.effective_theory._strategies import STRATEGIES, matrix_factor

CHOSEN = (
    "rate, steps and batch make changes small beside what changes, as trial runs with other seeds "
    "showed; in these BART's outputs moved less at larger widths"
)
S_FAMILY = [name for name in STRATEGIES if name != "standard"]
ADAMW = {"name": "adamw", "betas": [0.9, 0.999], "eps": 1e-12, "weight_decay": 0.0, "clip": None}
FEW = {"optimizer": ADAMW, "steps": 8, "evaluations": 4}
RATE = {"smoke": 2.0**-12, "reduced": 2.0**-12, "workstation": 2.0**-14, "paper": 2.0**-15}


def cases(scale: str, width: int) -> list[dict]:
    """Every s, and uniform rates. width: where all give the matrices one rate."""
    family = [
        {
            "parametrization": STRATEGIES[name],
            "rates": "strategy",
            "lr": RATE[scale] / matrix_factor(name, width),
        }
        for name in S_FAMILY
    ]
    uniform = {"parametrization": "neural-tangent", "rates": "uniform", "lr": RATE[scale]}
    return [*family, uniform]


def study(
    trains: str,
    spec: dict,
    changes: dict,
    widths: dict,
    reference: dict,
    seeds: dict,
    sizes: Callable[[int], dict],
) -> Study:
    """The study of one model.

    spec, changes: settings of the task that trains, by scale what is changed. widths: scale ->
    them; reference: where all strategies give the matrices one rate. sizes: width -> settings.
    """
    grids = {
        scale: {
            "size": [sizes(n) for n in widths[scale]],
            "case": cases(scale, reference[scale]),
            "seed": seeds[scale],
        }
        for scale in changes
    }
    return Study(
        task="update_sizes",
        spec=spec | FEW | {"trains": trains, "rates": "strategy"},
        grid=grids["paper"],
        scales={
            scale: Scale(
                {key: value for key, value in changes[scale].items() if key not in FEW},
                grids[scale],
                same_job=("size",) if scale == "paper" else ("size", "case", "seed"),
            )
            for scale in changes
        },
        chosen_after_seeing=CHOSEN,
    )


def at_default(whole: Study, widths: Sequence[int], cases: slice, arm: str, number: int) -> Study:
    """What is judged at reduced scale of some widths. cases: which of them. number: of seeds."""
    scales = {}
    for name, scale in whole.scales.items():
        scales[name] = replace(scale, grid={**scale.grid, "seed": []})
    grid = whole.scales["reduced"].grid
    seeds = of_arm("effective_theory", arm, number)
    size = [each for each in grid["size"] if each["model.width"] in widths]
    chosen = {"size": size, "case": grid["case"][cases], "seed": seeds}
    scales["reduced"] = replace(scales["reduced"], grid=chosen, same_job=("case", "seed"))
    return replace(whole, scales=scales)


CONSTANT = {"name": "constant", "warmup": 0}
WHOLE = {
    "vit": study(
        "image_classification",
        override(vit.PAPER, {"schedule": CONSTANT | {"final_lr": 0.0}}),
        {
            scale: {key: value for key, value in vit.SPECS[scale].items() if "schedule" not in key}
            | ({} if scale == "paper" else {"data.batch_size": 32})
            for scale in RATE
        },
        {
            "smoke": [16, 32],
            "reduced": [32, 64, 128, 256],
            "workstation": [96, 192, 384, 768, 1_536],
            "paper": [192, 384, 768, 1_536],
        },
        {"smoke": 16, "reduced": 128, "workstation": 384, "paper": 768},
        {
            "smoke": [300, 301],
            "reduced": [],
            "workstation": list(range(320, 325)),
            "paper": list(range(300, 305)),
        },
        lambda n: {"model.width": n},
    ),
    "bart": study(
        "span_denoising",
        override(
            _bart.PAPER,
            {
                "schedule": CONSTANT | {"final": 1.0, "steps": FEW["steps"]},
                "model.dropout": 0.0,
                "model.attention_dropout": 0.0,
                "model.embedding_std": 1.0,
            },
        ),
        {
            scale: _bart.SIZES[scale]
            | {
                f"model.{key}": of["bart"][scale]
                for key, of in (("depth", _bart.DEPTH), ("heads", _bart.HEADS))
            }
            | (
                {}
                if scale == "paper"
                else {
                    "data.batch_size": 4,
                    "data.sequence_length": 16,
                    "data.validation_blocks": 16,
                }
            )
            for scale in _bart.SIZES
        },
        {
            "smoke": [16, 32],
            "reduced": [64, 128, 256],
            "workstation": [64, 128, 256, 512, 1_024],
            "paper": [256, 512, 1_024, 2_048],
        },
        {"smoke": 16, "reduced": 64, "workstation": 64, "paper": 256},
        {
            "smoke": [310, 311],
            "reduced": [],
            "workstation": list(range(330, 335)),
            "paper": list(range(310, 315)),
        },
        # variance C / n with the paper's C (II.2.C)
        lambda n: {"model.width": n, "model.matrix_std": _bart.PAPER_STD * (1_024 / n) ** 0.5},
    ),
}
VIT, BART = WHOLE["vit"], WHOLE["bart"]
STRATEGY, RIVAL = slice(len(S_FAMILY)), slice(len(S_FAMILY), None)
STAGES = {
    **WHOLE,
    "vit_strategies": at_default(VIT, [32, 256], STRATEGY, "sizes-vit", 24),
    "vit_uniform": at_default(VIT, [32, 128], RIVAL, "sizes-uniform", 64),
    **{
        f"bart_{n}": at_default(BART, [n], slice(None), f"sizes-bart-{n}", number)
        for n, number in ((64, 100), (128, 72), (256, 48))
    },
}
