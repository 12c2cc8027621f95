"""How far muP's best rate is from its limit, against the width: of a network, and of their mean."""

from figures.rate_transfer import _tables
from repro.verdicts.answers import (
    CONTROL,
    OURS,
    THEORY,
    TOLERANCE,
    Test,
    below,
    of_one_run,
    over_seeds,
    within,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.noise import Design
from repro.verdicts.power import Laws

RUNS = "rate_transfer/first_step"
KNEE = 1024  # beyond which the paper sees a faster fall
NARROW = 256  # to which the mean over networks is not lost in their scatter
HALF_WAY = "half way to no fall, and to 1/n"
HALF = within(-0.5, 0.25, TOLERANCE, HALF_WAY)
ANSWERS = (
    Test(
        id="distance.network",
        kind=THEORY,
        statement="distance",
        column="a network",
        quantity=_tables.SLOPE.format("median distance from the limit"),
        expected={"reduced": HALF, "paper": HALF},
    ),
    Test(
        id="distance.beyond",
        kind=THEORY,
        statement="distance",
        column="a network, n from 1024",
        quantity="the same, over widths from 1024",
        expected={"overnight": below(-0.75, OURS, "half way from -1/2 to -1")},
    ),
    Test(
        id="distance.mean",
        kind=CONTROL,
        statement="mean",
        column="mean over networks",
        quantity="slope of log2 mean distance, sign included, against log2 n to 256, per data set",
        expected={"reduced": below(-0.75, OURS, "half way from -1/2 to -1")},
    ),
)
LAWS = {
    "distance.network": Laws("n^-1/2", ("no fall", "1/n")),
    "distance.beyond": Laws("1/n", ("no fall", "n^-1/2")),
}
POWERS = {"n^-1/2": -0.5, "no fall": 0.0, "1/n": -1.0}


def reduce(runs: Runs) -> Data:
    rows = runs[RUNS]
    return _tables.of_data_sets(rows[rows["parametrization"] == "muP"])


def measure(data: Data, scale: str) -> Measured:
    seeds = data["seed"].unique()
    wide, narrow = data[data["width"] >= KNEE], data[data["width"] <= NARROW]
    if wide["width"].nunique() > 1:
        beyond = over_seeds(_tables.slope_of(wide, "distance"), seeds)
    else:
        beyond = of_one_run(float("nan"), "no two widths from 1024 at this scale")
    return {
        "distance.network": over_seeds(_tables.slope_of(data, "distance"), seeds),
        "distance.beyond": beyond,
        "distance.mean": over_seeds(_tables.slope_of(narrow, "mean"), seeds),
    }


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    import numpy as np

    design = Design(recorded, ["distance"], ["width"])
    octaves = np.log(recorded["width"] / recorded["width"].min())
    design.mean[:, 0] = design.mean[:, 0].max() + POWERS[law] * octaves
    return design.draw(rng)


def draw(data: Data, scale: str) -> Drawn:
    labels = {"distance": "of a network, median", "mean": "of the mean"}
    means = {label: data.groupby("width")[column].mean().abs() for column, label in labels.items()}
    return _tables.draw({"distance from the limit, of the limit": means})


FIGURE = Figure(
    title="How fast muP's best rate comes to its limit",
    outcome="A network's distance from the limit goes as n^{distance.network}",
    caption=(
        "Distance of the best rate of the first step from (m / L) y'Ky / |Ky|^2, over that limit: "
        "the median over networks, and the mean with its sign, each a mean over data sets."
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
