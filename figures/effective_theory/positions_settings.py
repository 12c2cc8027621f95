"""Footnote 44 in settings that nobody chose."""

from repro.core.study import OVERNIGHT
from repro.verdicts import settings
from repro.verdicts.answers import above
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from studies.effective_theory.drawn import POPULATION

STUDY = "effective_theory/drawn"


def reduce(runs: Runs) -> Data:
    """Of every run its lowest error, which its last evaluation has."""
    columns = ("arm", "lr", "seed", "lowest_error")
    return settings.gathered(runs, POPULATION.choices, columns, lambda name: {"arm": name.stage})


def gain(rows: Data) -> float:
    """Of one seed, points of top-1."""
    lowest = rows.groupby("arm")["lowest_error"].min()
    return 100 * float(lowest["standard"] - lowest["raised"])


ASKED = settings.Asked(
    figure="positions_settings",
    statement="positions",
    of=gain,
    effect="largest top-1 in percentage points, standard with positions n times faster minus "
    "standard, each at its own best rate",
    there=lambda gain: gain > 0,
    says="faster positions raise the largest top-1",
    choices=POPULATION.choices,
)


def measure(data: Data, scale: str) -> Measured:
    return ASKED.measure(data)


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Every setting's gain moved: by the error of its runs with faster positions."""
    moves = ASKED.moves(recorded, ASKED.by_sign(law, recorded), rng)
    by = moves.where(recorded["arm"] == "raised", 0.0) / 100
    return settings.renumbered(recorded.assign(lowest_error=recorded["lowest_error"] - by), rng)


def draw(data: Data, scale: str) -> Drawn:
    paper = "paper: above 0"
    return ASKED.draw(data, "gain of top-1, points", {paper: 0.0}, paper)


FIGURE = Figure(
    title="Footnote 44 in settings that nobody chose: standard with faster positions",
    outcome=(
        "In a share {positions_settings.share} of drawn settings faster positions raise standard's "
        "top-1, on average by {positions_settings.mean} points"
    ),
    caption=(
        "A row a setting, drawn by the commit that registered the test, sorted by the gain. "
        "Squares: the levels of its choices (patch in pixels; positions: their standard deviation "
        "at the beginning; length: epochs of so many images a step). Dot: largest top-1 along the "
        "run of the ViT in the standard strategy with the positional embedding's rate n times "
        "higher, minus without, each at the best of its own rates; ticks: each seed, where there "
        "are two; green where it is a gain. Above: how the gains lie (Dinan et al., II.1.E, "
        "footnote 44)."
    ),
    studies=(STUDY,),
    answers=ASKED.answers({OVERNIGHT: above(0)}, "points"),
    laws=ASKED.laws,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
