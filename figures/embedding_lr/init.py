"""Section 3.1: embeddings of standard deviation 1 beside d^-1/2, over the embedding's rate."""

import math

import numpy as np

from figures.embedding_lr import _laws, _sweep
from repro.verdicts.answers import (
    TOLERANCE,
    TRAINING,
    Prediction,
    Reading,
    Test,
    above,
    exact,
    over_seeds,
    trained_scales,
    within,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.intervals import joined
from repro.verdicts.power import Laws
from repro.verdicts.run_sweeps import gathered

# Figure 3's main sweep is that of d^-1/2 where it is run, and `small` elsewhere.
MAIN = "embedding_lr/width_and_vocabulary"
UNIT, POSITIONS, SMALL = (
    f"embedding_lr/unit_init/{form}" for form in ("embedding_alone", "with_positions", "small")
)
STUDIES = (MAIN, UNIT, POSITIONS, SMALL)
ANSWERS = (
    Test(
        id="init.unit-init",
        kind=TRAINING,
        statement="unit-init",
        column="m = 8d, as printed",
        quantity="slope of log eta_E* against log d, m = 8d, embedding std 1",
        expected=trained_scales(
            within(
                0,
                0.2,
                TOLERANCE,
                "a round figure below half way to -1/2, the slope if init had no effect",
            )
        ),
    ),
    Test(
        id="init.best-init",
        kind=TRAINING,
        statement="best-init",
        column="m = 8d, as printed",
        quantity="lowest training loss with standard deviation 1 minus with d^-1/2, positions "
        "alike, nats, the smallest over widths",
        expected=trained_scales(above(0)),
    ),
    Reading(
        id="init.control-positions",
        words="slope of log eta_E* against log d, m = 8d, embedding and positions of std 1",
        beside="the positions kept their size above",
    ),
)
NO_EFFECT = "init without effect"
LAWS = {
    "init.unit-init": Laws(_laws.RULE, (NO_EFFECT, "SP")),
    "init.best-init": Laws(_laws.RULE, (NO_EFFECT,), edge=NO_EFFECT),
}


def reduce(runs: Runs) -> Data:
    columns = next(table for table in runs.values() if "step" in table).columns.drop("step")

    def label(name):
        return {"study": str(name.at_round(0)).split("/", 1)[1]}

    return gathered(runs, label, last=True)[[*columns, "study"]]


def part(data: Data, study: str):
    """The rows of a study, without the columns that only describe them."""
    rows = data[data["study"] == study.split("/", 1)[1]]
    return rows[[_sweep.WIDTH, _sweep.LR, "seed", "train_loss"]]


def sweep_of(data: Data, study: str):
    """The sweep of a study; None at a scale without it."""
    rows = part(data, study)
    return _sweep.sweeps(rows) if len(rows) else None


def both(data: Data):
    """The sweep of d^-1/2, and that of 1."""
    return sweep_of(data, MAIN) or sweep_of(data, SMALL), sweep_of(data, UNIT)


def lowest(sweep, width, seeds) -> float:
    """The lowest loss over learning rates."""
    return float(sweep[width].mean(seeds).min())


def advantage(small, unit, window):
    """Lowest loss of the sweep with embeddings of std 1 minus that with d^-1/2, the smallest over
    widths of every seed."""

    def gain(width, seeds):
        return lowest(unit, width, seeds) - lowest(small, width, seeds)

    words = ", ".join(f"d = {d}: {gain(d, unit.seeds):.3f}" for d in unit)
    edges = (_sweep.edge_problem(_sweep.optima(s, s.seeds, window)) for s in (small, unit))
    return over_seeds(
        lambda seeds: min(gain(d, seeds) for d in unit), unit.seeds, joined(*edges), words
    )


def measure(data: Data, scale: str) -> Measured:
    window, positions = _sweep.WINDOW[scale], sweep_of(data, POSITIONS)
    small, unit = both(data)
    return {
        "init.unit-init": _sweep.slope_measurement(unit, window),
        "init.best-init": advantage(small, unit, window),
        "init.control-positions": _sweep.slope_measurement(positions, window)
        if positions
        else exact(math.nan, 0, "it is not run at this scale"),
    }


def predict(data: Data, scale: str) -> dict[str, Prediction]:
    return {"init.unit-init": _laws.predicted(data, init=0.5)}


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Under `init without effect`, embeddings of either size also reach the same loss. The control,
    of which nothing is claimed, stays as it is."""
    drawn = recorded.copy()
    own = _laws.slopes(recorded)[_laws.RULE]
    unit_slopes = {NO_EFFECT: own, "SP": -1.0, _laws.RULE: own + 0.5}
    small, unit = both(recorded)
    drawn_with = rng.integers(2**63)  # one for both, whose seeds are the same
    for study, power in ((MAIN, own), (SMALL, own), (UNIT, unit_slopes[law])):
        rows = part(recorded, study)
        if rows.empty:
            continue
        if (study, law) == (UNIT, NO_EFFECT):
            gained = {
                d: lowest(unit, d, each.seeds) - lowest(small, d, each.seeds)
                for d, each in unit.items()
            }
            rows["train_loss"] -= rows[_sweep.WIDTH].map(gained)
        moved = _laws.simulate_sweep(power, rows, scale, np.random.default_rng(int(drawn_with)))
        drawn.loc[rows.index, "train_loss"] = moved["train_loss"]
    return drawn


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, axes = drawing.panels(3, height=_sweep.HEIGHT)
    window = _sweep.WINDOW[scale]
    small, unit = both(data)
    reached = data.groupby(_sweep.WIDTH)["vocab_reached"].max()
    _sweep.draw_losses(axes[0, 0], unit, window, lambda d: f"d = {d}, m = {reached[d]}")
    colors = drawing.ramp(unit)
    for width, each in small.items():
        axes[0, 0].plot(each.rates, each.mean(), "--", lw=1, color=colors[width])
    axes[0, 0].plot(
        [], [], "--", lw=1, color="0.5", label=r"dashes, in each colour: std $d^{-1/2}$"
    )
    axes[0, 0].legend(ncols=2, **_sweep.ABOVE)
    shown = (
        (unit, "std 1", "black", "o"),
        (small, r"std $d^{-1/2}$", drawing.COLORS[3], "s"),
        (sweep_of(data, POSITIONS), "std 1, positions too", drawing.COLORS[4], "^"),
    )
    for sweep, label, color, marker in shown:
        if sweep:
            paper = 0.0 if sweep is unit else None
            _sweep.draw_optima(axes[0, 1], sweep, window, label, color, marker, paper=paper)
    _sweep.draw_estimates(axes[0, 2], unit, window, 0.0, _laws.predicted(data, init=0.5))
    return figure


FIGURE = Figure(
    title="Section 3.1. Embeddings of standard deviation 1, m = 8d",
    outcome="With standard deviation 1 the best embedding rate goes as width^{init.unit-init}, and "
    "the lowest loss is {init.best-init} nats above that with d^-1/2",
    caption=(
        "Left: training loss against the embedding learning rate with embeddings of standard "
        "deviation 1, mean and range (band) over seeds; dashed: with d^-1/2. Middle: the best rate "
        "against width, by one fit to the mean curves of all widths, with 95 % intervals; dashed: "
        "what the paper's formula gives in the limit, a constant, and SP's 1/d. Right: the slope "
        "by that fit and by other estimators, which judge nothing; shaded: the interval that is "
        "judged, and what Theorem 1 allows. Positions keep the root mean square d^-1/2 (Hayou & "
        "Liu, Section 3.1)."
    ),
    studies=STUDIES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    predict=predict,
    draw=draw,
    simulate=simulate,
)
