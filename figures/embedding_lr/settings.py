"""Figure 3's slope in settings that nobody chose."""

import numpy as np

from figures.embedding_lr import _laws, _sweep
from repro.core.study import OVERNIGHT
from repro.verdicts import settings
from repro.verdicts.answers import TOLERANCE, Reading, below, within
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.power import Laws
from studies.embedding_lr.drawn import POPULATION

STUDY = "embedding_lr/drawn"
WINDOW = 0.25  # of the paper's power, half way to the rivals'


def reduce(runs: Runs) -> Data:
    columns = (_sweep.WIDTH, "vocab_reached", _sweep.LR, "seed", "train_loss")
    return settings.gathered(runs, POPULATION.choices, columns)


def slope(rows: Data) -> float:
    """Of one seed."""
    return settings.slope(rows, _sweep.WIDTH, _sweep.LR)


ASKED = settings.Asked(
    figure="settings",
    statement="falls",
    of=slope,
    effect="slope of log eta_E* against log d, m = 8d",
    there=lambda slope: slope < 0,
    says="the best embedding rate falls with width",
    choices=POPULATION.choices,
)
ANSWERS = (
    # -1/2 within 1/4 takes more settings.
    *ASKED.answers(
        {"reduced": below(0), OVERNIGHT: within(-0.5, WINDOW, TOLERANCE, _laws.HALF_WAY)}
    ),
    Reading(
        id="settings.near",
        words="share of drawn settings whose slope is -1/2 within 1/4",
        beside="nearer to the paper's power than to muP's or SP's",
    ),
)
RIVALS = ("muP", "sign flipped")
LAWS = {
    "settings.share": Laws(_laws.RULE, RIVALS, edge="muP"),
    "settings.mean": Laws(_laws.RULE, RIVALS),  # muP's 0 is an edge of one of its bounds alone
}


def measure(data: Data, scale: str) -> Measured:
    near = ASKED.found(data).share(lambda slope: abs(slope + 0.5) <= WINDOW)
    return {**ASKED.measure(data), "settings.near": near}


def predict(data, scale):
    return {"settings.mean": _laws.predicted(data)}


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Every setting's rates moved, so that its best ones go with the width as a law has it."""
    octaves = np.log2(recorded[_sweep.WIDTH])
    moves = ASKED.moves(recorded, _laws.slopes(recorded)[law], rng)
    by = 2.0 ** (moves * (octaves - octaves.mean()))
    return settings.renumbered(recorded.assign(**{_sweep.LR: recorded[_sweep.LR] * by}), rng)


def draw(data: Data, scale: str) -> Drawn:
    laws = {"paper -1/2": -0.5, "muP 0": 0.0, "SP -1": -1.0}
    return ASKED.draw(data, r"slope of $\log\,\eta_E^*$ against $\log\,d$", laws, "paper -1/2")


FIGURE = Figure(
    title="Figure 3's slope in settings that nobody chose",
    outcome=(
        "In a share {settings.share} of drawn settings the best embedding rate falls with width, "
        "on average as width^{settings.mean}"
    ),
    caption=(
        "A row a setting, drawn by the commit that registered the test, sorted by the slope. "
        "Squares: the levels of its choices (positions: their size over the embedding's; eta: the "
        "width times the rate of hidden and output layers). Dot: the slope of the best embedding "
        "rate against width over d = 16, 32, 64 (overnight to 128), m = 8d, by one fit to all "
        "widths; ticks: each seed, where there are two; green where it falls. Above: how the "
        "slopes lie (Hayou & Liu, Figure 3; Section 2)."
    ),
    studies=(STUDY,),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    predict=predict,
    draw=draw,
    simulate=simulate,
)
