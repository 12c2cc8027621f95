"""Table 1: what widening multiplies weights and hyperparameters by, read off built layers."""

from figures.upscaling import _scalings
from repro.verdicts.answers import SELF_CHECK, TOLERANCE, Test, all_scales, at_most
from repro.verdicts.figure import Data, Figure, Measured, Runs
from repro.verdicts.typeset import Table

ANSWERS = (
    Test(
        id="table1.widening",
        kind=SELF_CHECK,
        statement="built",
        column="Table 1",
        quantity="largest relative error of a multiplier, over SGD, Adam, AdamW, types of weight, "
        "factors",
        expected=all_scales(at_most(1e-6, TOLERANCE, "rounding of float32")),
    ),
)


def reduce(runs: Runs) -> Data:
    return _scalings.reduce(runs)


def measure(data: Data, scale: str) -> Measured:
    return {"table1.widening": _scalings.measure_widening(data)}


def table(data: Data, scale: str) -> Table:
    return _scalings.table_of_widening(data)


FIGURE = Figure(
    title="Table 1. Weights and hyperparameters of a widened model",
    outcome="Multipliers are Table 1's to a share of {table1.widening}",
    caption=(
        "What weights, learning rate, weight decay and eps are multiplied by when widths grow by "
        "k_in and k_out: as printed, and in brackets as `widen` does it with k_in = 2, k_out = 3, "
        "or of the width a vector has (Ma et al., Table 1)."
    ),
    studies=(_scalings.STUDY,),
    answers=ANSWERS,
    reduce=reduce,
    measure=measure,
    table=table,
)
