"""Figures 3 and 4: BART-large, both strategies over the learning rate, weight decay fixed (II.2.E).

standard and neural_tangent: the sweeps, whose grids differ by a factor n^3/2. The selected run has
the smallest validation loss at any of its evaluations, as the captions report; Figure 4 shows it.
standard_best and neural_tangent_best (ours, not at paper scale): the same run with other seeds.

Paper scale: our grid, from two octaves below the printed 1e-3 to one above; it grows if the best
run is at its edge. Reduced: the grids contain the optima of eight seeds on record (2^-7 and, of
neural-tangent, 2^-8), the quarter of each that is judged, and an octave above; they grow likewise.
Standard's lacks 2^-8, where none of those seeds was best: a seed that is best there has its harm by
a low rate understated.
"""

from repro.core.seeds import of_arm
from repro.core.study import Best, Scale, Study, octaves
from studies.effective_theory._bart import PAPER, STRATEGIES, WIDTH, lengths, settings, shift

CHOSEN = "the grids contain the optima of trial runs, 2^-7 or 2^-8 for both strategies"
METRIC = "lowest_valid_loss"
RATES = {
    "smoke": [2.0**-8, 2.0**-7],
    "reduced": [],  # each of the two has its own, and others the octaves of both
    # The reduced 2^-7 at width 48 is 2^-10.4 at 512, where the standard rate goes as 1/width.
    "workstation": [2.0**k for k in range(-12, -8)],
    "paper": [1e-3 * 2.0**k for k in range(-2, 2)],
}
REDUCED_RATES = {
    "standard": [2.0**-9, 2.0**-7, 2.0**-6],
    "neural-tangent": octaves(-10, -7),
}
SEEDS = {
    "smoke": [0],
    "reduced": of_arm("effective_theory", "fig3-low-rate", 6),
    "workstation": [20, 21, 22],
    "paper": [0, 1, 2],
}  # the paper: one
BEST_SEEDS = {"smoke": [], "reduced": [10, 11], "workstation": [30, 31, 32], "paper": []}
ROUNDS = {"smoke": 0, "reduced": 2, "workstation": 2, "paper": 3}
LENGTHS = {
    "smoke": lengths(4, 2, 4),
    "reduced": lengths(200, 8, 200),
    # * 2^15 = 262 million tokens; a step is 28 ms of products and 32 ms of memory, a run 8 minutes;
    # 54 runs with all rounds: 7.3 hours.
    "workstation": lengths(8_000, 40, 8_000),
    "paper": {},
}


def sweep(strategy: str) -> Study:
    """The sweep of one strategy."""

    def grid(scale: str) -> dict:
        factor = shift(strategy, WIDTH["bart"][scale])
        rates = RATES[scale] or REDUCED_RATES.get(strategy, octaves(-10, -6))
        return {"lr": [factor * lr for lr in rates], "seed": SEEDS[scale]}

    return Study(
        task="span_denoising",
        spec=PAPER,
        grid=grid("paper"),
        scales={
            scale: Scale(
                settings("bart", strategy, scale) | LENGTHS[scale],
                grid(scale),
                same_job={"workstation": ("seed",), "paper": ()}.get(scale, ("lr", "seed")),
                rounds=ROUNDS[scale],
            )
            for scale in LENGTHS
        },
        search=("lr",),
        metric=METRIC,
        chosen_after_seeing=CHOSEN,
    )


def at_best(strategy: str) -> Study:
    """Runs at a sweep's best learning rate."""
    return Study(
        task="span_denoising",
        spec=PAPER | {"lr": Best(stage_name(strategy), "lr", METRIC, over=("seed",))},
        grid={"seed": BEST_SEEDS["paper"]},
        scales={
            scale: Scale(
                settings("bart", strategy, scale) | LENGTHS[scale],
                {"seed": BEST_SEEDS[scale]},
                same_job=() if scale == "paper" else ("seed",),
            )
            for scale in LENGTHS
        },
    )


def stage_name(strategy: str) -> str:
    """`neural_tangent`."""
    return strategy.replace("-", "_")


STAGES = {
    **{stage_name(each): sweep(each) for each in STRATEGIES},
    **{f"{stage_name(each)}_best": at_best(each) for each in STRATEGIES},
}
