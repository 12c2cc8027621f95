"""The best rate of the first step against the width, by parametrization."""

from figures.rate_transfer import _tables
from repro.verdicts.answers import (
    OURS,
    STATED,
    THEORY,
    TOLERANCE,
    Expectation,
    Test,
    above,
    below,
    over_seeds,
    within,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.noise import Design
from repro.verdicts.power import Laws

RUNS = "rate_transfer/first_step"


def judged(bound: Expectation) -> dict[str, Expectation | None]:
    """Smoke's widths are too narrow for a limit."""
    return {"reduced": bound, "paper": bound}


ANSWERS = (
    Test(
        id="rates.limit",
        kind=THEORY,
        statement="limit",
        column="first step",
        quantity="median best rate over its limit at the largest width, mean over data sets",
        expected=judged(within(1, 0.05, TOLERANCE, "as far as n^-1/2 allows at the largest width")),
    ),
    Test(
        id="rates.sp",
        kind=THEORY,
        statement="others",
        column="SP",
        quantity=_tables.SLOPE.format("median best rate"),
        expected=judged(below(0, STATED, "a constant has slope 0")),
    ),
    Test(
        id="rates.ntp",
        kind=THEORY,
        statement="others",
        column="NTP",
        quantity=_tables.SLOPE.format("spread of the best rate over networks"),
        expected=judged(above(-0.25, OURS, "half way from 0 to the -1/2 of what converges"))
        # 24 data sets tell what a pilot saw in 0.48 of tables.
        | {"reduced": None},
    ),
)

LAWS = {
    "rates.limit": Laws("the limit", ("half of it", "twice it")),
    "rates.sp": Laws("1/n", ("a constant",)),
    "rates.ntp": Laws("random", ("n^-1/2",)),
}
# Law -> parametrization, column, its size at the widest where the law says it, its power of n.
SIMULATED = {
    "the limit": ("muP", "rate", 1.0, 0.0),
    "half of it": ("muP", "rate", 0.5, 0.0),
    "twice it": ("muP", "rate", 2.0, 0.0),
    "1/n": ("SP", "rate", None, -1.0),
    "a constant": ("SP", "rate", None, 0.0),
    "random": ("NTP", "spread", None, 0.0),
    "n^-1/2": ("NTP", "spread", None, -0.5),
}


def reduce(runs: Runs) -> Data:
    return _tables.of_data_sets(runs[RUNS])


def measure(data: Data, scale: str) -> Measured:
    of = {name: rows for name, rows in data.groupby("parametrization")}
    seeds = data["seed"].unique()
    widest = of["muP"][of["muP"]["width"] == data["width"].max()].set_index("seed")["rate"]
    return {
        "rates.limit": over_seeds(lambda one: widest[one].mean(), seeds),
        "rates.sp": over_seeds(_tables.slope_of(of["SP"], "rate"), seeds),
        "rates.ntp": over_seeds(_tables.slope_of(of["NTP"], "spread"), seeds),
    }


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    import numpy as np

    name, column, size, power = SIMULATED[law]
    design = Design(recorded, ["rate", "spread"], ["parametrization", "width"])
    rows, value = design.rows(parametrization=name), design.values.index(column)
    octaves = np.log(recorded["width"] / recorded["width"].max()).to_numpy()[rows]
    widest = design.mean[rows[octaves == 0][0], value] if size is None else np.log(size)
    design.mean[rows, value] = widest + power * octaves
    return design.draw(rng)


def draw(data: Data, scale: str) -> Drawn:
    return _tables.draw(
        {
            "median best rate over muP's limit": _tables.means(data, "rate"),
            "spread of the best rate, octaves": _tables.means(data, "spread"),
        }
    )


FIGURE = Figure(
    title="The best rate of the first step",
    outcome="muP's best rate is {rates.limit} of its limit, SP's goes as n^{rates.sp}",
    caption=(
        "Left: the best rate of one step of gradient descent over what muP's comes to, median over "
        "networks, mean over data sets. Right: half the octaves between its quartiles. SP's is in "
        "units of the same limit, NTP's rate times 1/n is what moves a matrix. On the right NTP's "
        "line is under SP's: the two differ by a factor in the rate alone."
    ),
    studies=(RUNS,),
    answers=ANSWERS,
    columns=_tables.COLUMNS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    laws=LAWS,
    simulate=simulate,
)
