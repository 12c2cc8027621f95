"""Table 1: muP's scaling rules, read off built models."""

from figures.embedding_lr import _exponents
from repro.verdicts.answers import SELF_CHECK, TOLERANCE, Test, all_scales, at_most
from repro.verdicts.figure import Data, Figure, Measured, Runs
from repro.verdicts.typeset import Table

NAMES = ("muP",)
ANSWERS = (
    Test(
        id="table1.exponents",
        kind=SELF_CHECK,
        statement="built",
        column="Table 1, muP",
        quantity="largest error of an exponent of d over all parameters",
        expected=all_scales(at_most(0.05, TOLERANCE, _exponents.DRAWN)),
    ),
)


def reduce(runs: Runs) -> Data:
    return runs[_exponents.STUDY]


def measure(data: Data, scale: str) -> Measured:
    return {"table1.exponents": _exponents.measurement(data, NAMES)}


def table(data: Data, scale: str) -> Table:
    return _exponents.table(data, NAMES)


FIGURE = Figure(
    title="Table 1. muP's init variance and learning rate",
    outcome="Exponents of the built model are within {table1.exponents} of the printed ones",
    caption=(
        "Powers of the width d as printed and, in brackets, as fitted over built and initialized "
        "decoders; of several parameters of a kind, the one farthest from the printed power "
        "(Hayou & Liu, Table 1)."
    ),
    studies=(_exponents.STUDY,),
    answers=ANSWERS,
    reduce=reduce,
    measure=measure,
    table=table,
)
