"""The best rate after four steps against the width."""

from figures.rate_transfer import _tables
from repro.verdicts.answers import THEORY, TOLERANCE, Test, over_seeds, within
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.noise import Design
from repro.verdicts.power import Laws

RUNS = "rate_transfer/several_steps"
BOUND = within(0, 0.25, TOLERANCE, "a quarter of the way to SP's -1")
ANSWERS = (
    Test(
        id="steps.constant",
        kind=THEORY,
        statement="limit",
        column="after four steps",
        quantity=_tables.SLOPE.format("median best rate under muP"),
        expected={"reduced": BOUND, "paper": BOUND},
    ),
)
LAWS = {"steps.constant": Laws("a constant", ("SP's 1/n", "n^-1/2"))}
POWERS = {"a constant": 0.0, "SP's 1/n": -1.0, "n^-1/2": -0.5}


def reduce(runs: Runs) -> Data:
    return _tables.of_data_sets(runs[RUNS])


def measure(data: Data, scale: str) -> Measured:
    own = data[data["parametrization"] == "muP"]
    return {"steps.constant": over_seeds(_tables.slope_of(own, "rate"), own["seed"].unique())}


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    import numpy as np

    design = Design(recorded, ["rate"], ["parametrization", "width"])
    rows = design.rows(parametrization="muP")
    octaves = np.log(recorded["width"] / recorded["width"].min()).to_numpy()[rows]
    design.mean[rows, 0] = POWERS[law] * octaves
    return design.draw(rng)


def draw(data: Data, scale: str) -> Drawn:
    words = "median best rate over the first step's limit"
    return _tables.draw({words: _tables.means(data, "rate")})


FIGURE = Figure(
    title="The best rate after four steps",
    outcome="After four steps muP's best rate goes as n^{steps.constant}",
    caption=(
        "Best rate after four steps of gradient descent, over muP's limit for one step: median "
        "over networks, mean over data sets."
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
