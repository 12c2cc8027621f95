"""Table 3: muP's scalings as they are built, read off built layers."""

from figures.upscaling import _scalings
from repro.verdicts.answers import SELF_CHECK, TOLERANCE, Test, all_scales, at_most
from repro.verdicts.figure import Figure

ANSWERS = (
    Test(
        id="table3.powers",
        kind=SELF_CHECK,
        statement="built",
        column="Table 3",
        quantity="largest error of a power of a width, over layers and optimizers",
        expected=all_scales(at_most(0.05, TOLERANCE, _scalings.DRAWN)),
    ),
)


def reduce(runs):
    return _scalings.reduce(runs)


def measure(data, scale):
    return {"table3.powers": _scalings.measure_powers(data, _scalings.TABLE_3)}


def table(data, scale):
    return _scalings.table_of_powers(data, _scalings.TABLE_3)


FIGURE = Figure(
    title="Table 3. muP's scalings as they are built",
    outcome="Powers of the width are within {table3.powers} of the printed ones",
    caption=(
        "Powers of the widths n_in and n_out as printed and, in brackets, as fitted over built "
        "layers of widths 16 and 256 (Ma et al., Table 3)."
    ),
    studies=(_scalings.STUDY,),
    answers=ANSWERS,
    reduce=reduce,
    measure=measure,
    table=table,
)
