"""Figure 5: R2C2, untuned (II.2.E): both strategies at one rate, stopped early in the schedule.

Paper scale: lr 7e-4 and weight decay 0.01; for neural-tangent times n^3/2 and n^-3/2; 15,000 of
200,000 steps. Reduced: the same shares of warm-up and schedule; lr is 0.7 times the rate that the
reduced BART's standard sweep selected (2^-7), as 7e-4 is 0.7 times 1e-3.
"""

from repro.core.study import Scale, Study
from studies.effective_theory._bart import PAPER, STRATEGIES, WIDTH, lengths, settings, shift

RATE = {"smoke": 0.7 * 2.0**-7, "reduced": 0.7 * 2.0**-7, "workstation": 7e-4, "paper": 7e-4}
SEEDS = {
    "smoke": [0],
    "reduced": [0, 1],
    "workstation": [20, 21, 22],
    "paper": [0, 1, 2],
}  # the paper: one
STEPS = 15_000
LENGTHS = {
    "smoke": lengths(4, 2, 160),
    "reduced": lengths(240, 12, 3_200),  # 240 / 3_200 = 15_000 / 200_000
    # 1_500 of 20_000 steps, the paper's share; * 2^15 = 49 million tokens, 6.5 minutes a run;
    # six: 0.7 hours.
    "workstation": lengths(1_500, 15, 20_000) | {"microbatches": 4},
    "paper": {"steps": STEPS, "evaluations": 75, "microbatches": 64},
}


def strategies(scale: str) -> list[dict]:
    """What each strategy changes."""
    width = WIDTH["r2c2"][scale]
    keys = ("parametrization", "model.embedding_std", "optimizer.weight_decay")
    return [
        {key: settings("r2c2", each, scale)[key] for key in keys}
        | {"lr": shift(each, width) * RATE[scale]}
        for each in STRATEGIES
    ]


STUDY = Study(
    task="span_denoising",
    spec=PAPER,
    grid={"strategy": strategies("paper"), "seed": SEEDS["paper"]},
    scales={
        scale: Scale(
            settings("r2c2", "standard", scale) | LENGTHS[scale],
            {"strategy": strategies(scale), "seed": SEEDS[scale]},
            same_job={"smoke": ("strategy", "seed"), "paper": ()}.get(scale, ("seed",)),
        )
        for scale in LENGTHS
    },
)
