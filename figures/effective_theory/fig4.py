"""Figure 4: BART at the best learning rate of each strategy."""

from figures.effective_theory import _bart
from figures.effective_theory._bart import METRIC, STRATEGIES, reduce
from figures.effective_theory._strategies import style
from repro.verdicts.answers import (
    TOLERANCE,
    TRAINING,
    Reading,
    Test,
    below,
    inside,
    over_means,
    over_seeds,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, View
from repro.verdicts.power import SIDES, SIGN
from studies.effective_theory._strategies import COMPARED

SIZE, sized = _bart.size(_bart.SWEEPS["standard"], "fig4", "BART")
ANSWERS = (
    Test(
        id="fig4.marginal",
        kind=TRAINING,
        statement="bart-better",
        column="BART",
        quantity="smallest validation loss along the run (nats), standard minus neural-tangent",
        expected={
            "reduced": below(0),
            "paper": inside(
                -0.05,
                0,
                TOLERANCE,
                "better is below 0; 'marginally' read as 0.05 nats, a round figure",
            ),
        },
    ),
    Reading(
        id="fig4.between",
        words="the same at each sweep's optimum between the points of its grid, by parabolas",
        beside="the test's, where the grid's step favours neither strategy",
    ),
    *SIZE,
)
LAWS = {"fig4.marginal": SIGN}


def measure(data: Data, scale: str) -> Measured:
    # Each run by the lowest of its validation losses, which is what the rates were chosen by.
    losses = {
        strategy: _bart.best_runs(data, strategy).groupby("seed")[METRIC].min()
        for strategy in COMPARED
    }
    edges = _bart.edges(data, *COMPARED)
    seeds = sorted(set(losses["standard"].index) & set(losses["neural-tangent"].index))

    def difference(sample):
        standard, tangent = (losses[strategy][list(sample)].mean() for strategy in COMPARED)
        return float(standard - tangent)

    detail = ", ".join(f"{strategy} {loss.mean():.4g}" for strategy, loss in losses.items())

    sweeps = {strategy: _bart.sweep(data, strategy) for strategy in COMPARED}

    def between(sample):
        standard, tangent = (_bart.lowest_between(sweeps[s], sample) for s in COMPARED)
        return standard - tangent

    return sized(scale) | {
        "fig4.marginal": over_seeds(difference, seeds, edges, detail),
        "fig4.between": over_means(between, sweeps["standard"].seeds, edges),
    }


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    ours, other = ({"part": "best", "strategy": strategy} for strategy in COMPARED)
    return _bart.set_apart(recorded, ours, other, SIDES[law], rng)


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, ((curves, difference),) = drawing.panels(2, width=4.8, height=3.8)
    best = {strategy: _bart.best_runs(data, strategy) for strategy in STRATEGIES}
    for strategy, rows in best.items():
        lr = _bart.SWEEP.optimum(_bart.rows_of(data, strategy, "sweep")).point[0]
        _bart.draw_curve(curves, rows, _bart.pair(scale, strategy, lr), **style(strategy))
    _bart.finish(curves, "BART", "strategy, (lr, wd) [smallest loss]")
    standard, tangent = (
        rows.pivot(index="step", columns="seed", values="valid_loss")
        for rows in (best[strategy] for strategy in COMPARED)
    )
    gap = (standard - tangent).dropna(axis="columns", how="all")
    found = measure(data, scale)["fig4.marginal"]
    words = "standard minus neural-tangent"
    _bart.draw_difference(difference, gap, words, found, "smallest losses, 95 % interval")
    return figure


FIGURE = Figure(
    title=(
        "Figure 4. BART under the standard and the neural-tangent strategy, each at its best rate"
    ),
    outcome=(
        "BART's validation loss under standard is {fig4.marginal} nats above that under "
        "neural-tangent"
    ),
    caption=(
        "Validation loss of BART against updates at the rates that Figure 3's sweeps select: mean "
        "over seeds, band: range over seeds (Dinan et al., Figure 4). In brackets the smallest "
        "loss along the run, mean over seeds. Right: their difference, and that of the smallest "
        "losses, which the claim is about."
    ),
    studies=("effective_theory/bart",),
    view=View("step", "valid_loss", {"part": "best"}),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
