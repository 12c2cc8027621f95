"""Upscaled against from scratch, for equal operations, in settings that nobody chose."""

import math

import numpy as np

from repro.core.names import StageName
from repro.core.spec import override
from repro.core.study import OVERNIGHT
from repro.tasks import TASKS
from repro.verdicts import settings
from repro.verdicts.answers import CONTROL, below
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from studies.upscaling.drawn import EVALUATIONS, STAGES, length_of, widths_of

STUDY = "upscaling/drawn"
CHOICES = ("widths", "layers", "length", "batch", "noise")


def operations(width: int, layers: int) -> float:
    """Of as many steps, whatever their number."""
    sizes = {"model.width": width, "model.hidden_layers": layers}
    return TASKS["warm_start"].cost(override(STAGES["scratch"].spec, sizes)).flops


def enough(rows: Data) -> float:
    """Steps from scratch at which it has had the operations of base and upscaled together."""
    first = rows.iloc[0]
    (n0, target), (steps, times) = widths_of(first["widths"]), length_of(first["length"])
    layers = int(first["layers"])
    return steps * (1 + times * operations(n0, layers) / operations(target, layers))


def at_equal_operations(rows: Data, scratch: bool) -> Data:
    """Of every run of one seed its loss over the last tenth of the target's steps; from scratch as
    of the first evaluation that is not before its share of operations."""
    steps = np.unique(rows["step"])
    last = steps[steps >= enough(rows)][0] if scratch else steps[-1]
    tenth = steps[np.flatnonzero(steps == last)[0] - EVALUATIONS // 10 + 1]
    window = rows[(rows["step"] >= tenth) & (rows["step"] <= last)]
    mean = window.groupby("lr")["train_loss"].mean()
    at = rows[rows["step"] == last]
    return at.assign(train_loss=at["lr"].map(mean))


def reduce(runs: Runs) -> Data:
    import pandas as pd

    parts = [
        at_equal_operations(rows, arm == "scratch").assign(arm=arm)
        for name, table in runs.items()
        if "step" in table
        for arm in [StageName.parse(name).stage]
        if arm != "base"
        for _, rows in table.groupby("seed", sort=False)
    ]
    columns = ("arm", "lr", "seed", "train_loss")
    return settings.numbered(pd.concat(parts, ignore_index=True), CHOICES, columns)


def gain(rows: Data) -> float:
    """Of one seed, log2; NaN where all of an arm's rates diverged."""
    lowest = rows.groupby("arm")["train_loss"].min()
    ratio = lowest["upscaled"] / lowest["scratch"]
    return math.log2(ratio) if 0 < ratio < math.inf else math.nan


ASKED = settings.Asked(
    figure="settings",
    statement="equal-operations",
    kind=CONTROL,
    of=gain,
    effect="log2 of the final training loss, upscaled over from scratch, for equal operations with "
    "the base's counted, each at its own best rate",
    there=lambda gain: gain < 0,
    says="upscaled ends lower for equal operations",
    choices=CHOICES,
)


def measure(data: Data, scale: str) -> Measured:
    return ASKED.measure(data)


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Every setting's ratio moved: by the losses of its upscaled runs."""
    moves = ASKED.moves(recorded, ASKED.by_sign(law, recorded), rng)
    by = 2.0 ** moves.where(recorded["arm"] == "upscaled", 0.0)
    return settings.renumbered(recorded.assign(train_loss=recorded["train_loss"] * by), rng)


def draw(data: Data, scale: str) -> Drawn:
    paper = "paper: below 0"
    return ASKED.draw(data, "log2 of the loss over scratch's", {paper: 0.0}, paper)


FIGURE = Figure(
    title="Upscaled against from scratch, in settings that nobody chose",
    outcome=(
        "In a share {settings.share} of drawn settings upscaled ends lower for equal operations, "
        "on average by {settings.mean} octaves of the loss"
    ),
    caption=(
        "A row a setting, drawn by the commit that registered the test, sorted by the gain. "
        "Squares: the levels of its choices (widths of base and target; length: steps of the "
        "target, and the base's over these; batch: rows a step; noise: as in Algorithm 2). Dot: "
        "final training loss of the MLP with AdamW, upscaled over from scratch, for equal "
        "operations with the base's counted, each at the best of its own rates; ticks: each seed, "
        "where there are two; green where upscaled ends lower. Above: how the gains lie (ours, on "
        "Ma et al., Section 4 and Appendix F.4)."
    ),
    studies=(STUDY,),
    # By a pilot the share has power 0.26 overnight; some 180 settings would tell it.
    answers=ASKED.answers({OVERNIGHT: below(0)}, share_at="paper"),
    laws=ASKED.laws,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
