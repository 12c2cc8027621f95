"""Loss against learning rate, at every width under every parametrization."""

from figures.transfer import _drawing, _losses
from figures.transfer._losses import WORKLOADS, Losses, reduce
from repro.verdicts.answers import (
    Measurement,
    Reading,
    over_seeds,
)
from repro.verdicts.figure import Figure

ANSWERS = tuple(
    Reading(
        id=f"bowls.octave-{workload}",
        words="mean loss a factor of 2 above and below the best rate minus that at it, nats",
        beside="how flat the bowls are",
    )
    for workload, name in WORKLOADS.items()
)


def octave(losses: Losses, seed: int) -> float:
    """Mean excess of a seed's loss an octave above and below the rate that is best for the others;
    NaN where one of these was not tried."""
    found = losses.curves["muP", losses.widest]
    best = found.without(seed).optimum("grid")
    below, at, above = (found.at(best + octave, "grid")[seed] for octave in (-1, 0, 1))
    return float((below + above) / 2 - at)


def measure(data, scale):
    def found(losses: Losses) -> Measurement:
        return over_seeds(lambda k: octave(losses, k[0]), losses.seeds, losses.problem("muP"))

    workloads = _losses.by_workload(data)
    octaves = {f"bowls.octave-{name}": found(losses) for name, losses in workloads.items()}
    return _losses.of_all(ANSWERS, octaves)


def draw(data, scale):
    return _drawing.draw_all_bowls(_losses.by_workload(data))


FIGURE = Figure(
    title="Loss against learning rate, narrow to wide",
    outcome=(
        "A rate an octave off costs from {bowls.octave-mlp} nats (MLP) to {bowls.octave-bart} "
        "(BART)"
    ),
    caption=(
        "Final training loss, on data seen once, against the learning rate: a row a workload, a "
        "column a parametrization it is defined for, a colour a width; mean and range (band) over "
        "seeds. Dotted: the rate that is best for the narrow model, which is the same model under "
        "all of them and is what a wide one is given. Rings: each width's own best rate, the "
        "vertex of a parabola through the rates within an octave. Losses far above the best are "
        "cut off. An empty place: not trained, since it is the same training under another name, "
        "or asks for two rates of a readout that is the embedding."
    ),
    studies=_losses.STUDIES,
    answers=ANSWERS,
    reduce=reduce,
    measure=measure,
    draw=draw,
)
