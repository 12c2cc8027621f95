"""Rules for the embedding's learning rate held against each other by what they cost in loss.

A rule says how the rate goes with the width, `rate = c * d^power`, and leaves the constant c. So it
is judged by the loss of one constant for all widths, and by that of the constant tuned at the
smallest width, carried to the largest.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from figures.embedding_lr import _laws, _sweep
from figures.embedding_lr._sweep import ABOVE, diverged_widths
from repro.core.study import OVERNIGHT
from repro.statistics import t_interval
from repro.verdicts.answers import (
    TOLERANCE,
    TRAINING,
    Measurement,
    Prediction,
    Test,
    above,
    over_both,
    over_seeds,
    trained_scales,
    within,
)
from repro.verdicts.intervals import joined
from repro.verdicts.optimum import cubic
from repro.verdicts.power import Laws
from repro.verdicts.printed import numbers
from widthwise.checks.sweep import Sweeps

POWERS = {"sqrt(d)": -0.5, "muP": 0.0, "SP": -1.0}
STEP = 1 / 16  # octaves between constants that are tried
OTHERS = ("muP", "SP")


def paper_tests(figure: str, vocabulary: str, tuned_apart: bool = False) -> tuple[Test, ...]:
    """What the paper says of a sweep over widths: `measure` measures it.

    figure: its name, as in ids. vocabulary: in words, `m = 8d`. tuned_apart: whether overnight the
    constant that is carried is chosen on seeds of its own.
    """
    falls = Test(
        id=f"{figure}.sqrt-d-rule",
        kind=TRAINING,
        statement="falls",
        column=f"{vocabulary}, LayerNorm",
        quantity=f"slope of log eta_E* against log d, {vocabulary}",
        expected=trained_scales(within(-0.5, 0.25, TOLERANCE, _laws.HALF_WAY)),
    )
    one_constant = (
        Test(
            id=f"{figure}.one-constant-{rule.lower()}",
            kind=TRAINING,
            statement="one-constant",
            column=f"than {rule}'s, LayerNorm",
            quantity=f"training loss, mean over widths, eta_E {power} minus as d^-1/2, nats; each "
            "constant the best for the other seeds",
            expected=trained_scales(above(0)),
        )
        for rule, power in zip(OTHERS, ("constant", "as 1/d"), strict=True)
    )
    transfer = (
        Test(
            id=f"{figure}.transfer-{rule.lower()}",
            kind=TRAINING,
            statement="carried",
            column=f"than {rule}'s, LayerNorm",
            quantity=f"training loss at the largest width, eta_E {power} minus as d^-1/2, nats",
            # At other scales each seed's constant is tuned on the seed itself.
            expected={OVERNIGHT: above(0)},
        )
        for rule, power in zip(OTHERS, ("constant", "as 1/d"), strict=True)
    )
    return falls, *one_constant, *transfer


def not_at_reduced(claim: Test) -> Test:
    """A claim that is judged overnight and at paper scale alone."""
    bounds = {OVERNIGHT: claim.at(OVERNIGHT), "paper": claim.at("paper")}
    return replace(claim, expected=bounds)


def laws(figure: str, tuned_apart: bool = False) -> dict[str, Laws]:
    """Which laws the tests of `claims` have to tell apart, by id."""
    found = {f"{figure}.sqrt-d-rule": _laws.FALLS}
    for rule in OTHERS:
        found[f"{figure}.one-constant-{rule.lower()}"] = _laws.CHEAPER[rule]
        if tuned_apart:
            found[f"{figure}.transfer-{rule.lower()}"] = _laws.CHEAPER[rule]
    return found


def measure(
    figure: str, sweep: Sweeps, scale: str, tuning: Sweeps | None = None, inside: bool = False
) -> dict[str, Measurement]:
    """What `claims` are about, by id. tuning: the smallest width's sweep on seeds of its own.
    inside: of what rules cost it is asked that every lowest loss lies inside the grid, and not the
    whole window around it: a rate beyond the grid has no loss, and is named anyway."""
    window = _sweep.WINDOW[scale]
    found = {f"{figure}.sqrt-d-rule": _sweep.slope_measurement(sweep, window)}
    ends = {
        d: o
        for d, o in _sweep.optima(sweep, sweep.seeds, window).items()
        if not inside or sweep[d].at_edge
    }
    problem = _sweep.edge_problem(ends)
    detail = "" if diverged_widths(sweep) else described(sweep, tuning)
    for name, how in (("one-constant", one_constant), ("transfer", transferred)):
        for rule in OTHERS:
            chosen_apart = tuning if how is transferred else None
            found[f"{figure}.{name}-{rule.lower()}"] = cost(
                sweep, how, rule, problem, detail, chosen_apart
            )
    return found


def loss_at(sweep: Sweeps, width: float, seeds: Sequence[int], log2_rate: np.ndarray) -> np.ndarray:
    """Mean loss over seeds at any rates, by a cubic through the nearest four of the grid.

    Infinite beyond the ends of the grid, and where one of the grid's two neighbours diverged, with
    whatever seed: a rate at which some do is as little chosen as one at which all do.
    """
    x, y = sweep[width].log2, sweep[width].mean(seeds)
    finite = np.isfinite(y) & np.isfinite(sweep[width].mean())
    asked = np.atleast_1d(log2_rate)
    diverged = np.interp(asked, x, np.where(finite, 0.0, 1.0), left=1, right=1) > 0
    result = np.full(len(asked), np.inf)
    if finite.sum() > 1:
        result[~diverged] = cubic(x[finite], y[finite], asked[~diverged])
    return result


def constants(sweep: Sweeps) -> np.ndarray:
    """log2 of every constant to be tried: rates at the smallest width."""
    ends = [each.log2[[0, -1]] for each in sweep.values()]
    low, high = min(e[0] for e in ends), max(e[1] for e in ends)
    return np.arange(low, high + STEP / 2, STEP)


def log2_rates(sweep: Sweeps, power: float, log2_c: np.ndarray, width: float) -> np.ndarray:
    """log2 of the rates at a width of a rule with these constants, rates at the smallest width."""
    return log2_c + power * np.log2(width / min(sweep))


def mean_loss(sweep: Sweeps, power: float, seeds: Sequence[int], log2_c: np.ndarray) -> np.ndarray:
    """Mean over widths of the loss of a rule, one constant for all of them."""
    each = [loss_at(sweep, d, seeds, log2_rates(sweep, power, log2_c, d)) for d in sweep]
    return np.mean(each, axis=0)


def one_constant(sweep: Sweeps, power: float, seed: int) -> float:
    """A seed's loss, mean over widths, at the constant that is best for the other seeds."""
    tried = constants(sweep)
    others = [other for other in sweep.seeds if other != seed] or [seed]
    best = tried[np.argmin(mean_loss(sweep, power, others, tried))]
    return float(mean_loss(sweep, power, [seed], np.array([best]))[0])


def best_constant(sweep: Sweeps, seeds: Sequence[int]) -> float:
    """log2 of the constant that is best at the smallest width for these seeds: whatever the rule,
    for constants are rates there."""
    tried = constants(sweep)
    return float(tried[np.argmin(loss_at(sweep, min(sweep), seeds, tried))])


def transferred(sweep: Sweeps, power: float, seed: int, log2_c: float | None = None) -> float:
    """A seed's loss at the largest width, at a constant; if None, at its best at the smallest."""
    if log2_c is None:
        log2_c = best_constant(sweep, [seed])
    widest = max(sweep)
    rate = log2_rates(sweep, power, np.array([log2_c]), widest)
    return float(loss_at(sweep, widest, [seed], rate)[0])


def tuned(sweep: Sweeps, widths: Iterable[float], seed: int) -> float:
    """A seed's loss at its own best rate at every width, mean over these widths."""
    tried = constants(sweep)
    return float(np.mean([loss_at(sweep, width, [seed], tried).min() for width in widths]))


def excess(sweep: Sweeps, how, power: float, tuning: Sweeps | None = None) -> list[float]:
    """A seed's nats above its tuned loss, each seed. how: `one_constant` or `transferred`. tuning:
    as of `measure`."""
    carried = how is transferred
    widths = [max(sweep)] if carried else [*sweep]
    chosen = [best_constant(tuning, tuning.seeds)] if carried and tuning else []
    return [how(sweep, power, seed, *chosen) - tuned(sweep, widths, seed) for seed in sweep.seeds]


def cost(
    sweep: Sweeps, how, other: str, problem: str, detail: str = "", tuning: Sweeps | None = None
) -> Measurement:
    """Loss under another rule minus that under sqrt(d), in nats, paired over seeds.

    how: `one_constant` or `transferred`. problem: why the sweep tells nothing, if it does not.
    tuning: of `transferred`, the smallest width's sweep on the seeds that choose the constant; the
    interval then has their scatter too.
    """
    hopeless = diverged_widths(sweep)
    if hopeless or len(sweep) < 2:
        return Measurement(np.nan, np.nan, np.nan, len(sweep.seeds), problem or "no two widths")

    def difference(seed: int, *constant: float) -> float:
        costs = (how(sweep, POWERS[rule], seed, *constant) for rule in (other, "sqrt(d)"))
        return next(costs) - next(costs)

    if tuning:
        chosen = cache(lambda seeds: best_constant(tuning, seeds))
        found = over_both(
            lambda seed, choosing: difference(seed, chosen(tuple(choosing))),
            sweep.seeds,
            tuning.seeds,
            problem,
            detail,
        )
    else:
        found = over_seeds(lambda sample: difference(*sample), sweep.seeds, problem, detail)
    if not np.isfinite(found.value):
        words = "a rule's rate lies beyond the grid, or where runs diverged"
        return Measurement(np.nan, np.nan, np.nan, found.n, joined(problem, words), detail)
    return found


def described(sweep: Sweeps, tuning: Sweeps | None) -> str:
    """What the rules cost, means over seeds: nats above the tuned loss."""

    def words(how) -> str:
        costs = {rule: np.mean(excess(sweep, how, power, tuning)) for rule, power in POWERS.items()}
        return ", ".join(f"{rule} {value:.4f}" for rule, value in costs.items())

    return (
        f"nats above the tuned loss: one constant {words(one_constant)}; "
        f"from d = {min(sweep)} to {max(sweep)} {words(transferred)}"
    )


def draw_costs(axes, sweep: Sweeps, tuning: Sweeps | None) -> None:
    """What every rule costs in loss, mean and 95 % interval over seeds."""
    from repro.verdicts.drawing import COLORS, bars

    if diverged_widths(sweep):
        return
    ends = f"tuned at d = {min(sweep)}, loss at d = {max(sweep)}"
    kinds = ((one_constant, "one constant, mean over widths"), (transferred, ends))
    for offset, color, marker, (how, label) in zip((-0.1, 0.1), COLORS, "os", kinds, strict=False):
        found = [t_interval(excess(sweep, how, power, tuning)) for power in POWERS.values()]
        places = np.arange(len(found)) + offset
        bars(axes, places, found, fmt=marker, color=color, label=label)
    names = [f"{rule}\n$d^{{{power:g}}}$" for rule, power in POWERS.items()]
    names[0] += ", the paper's"
    axes.set_xticks(range(len(POWERS)), names)
    axes.axhline(0, color="0.8", lw=1, zorder=0)
    axes.set_ylabel("loss above the tuned one (nats per token)")
    axes.legend(**ABOVE)


def small(sweep: Sweeps, scale: str):
    """The optima, as a small picture."""
    from repro.verdicts import drawing

    figure, ((panel,),) = drawing.panels(1, width=drawing.SMALL_INCHES, height=2.7)
    (power,) = numbers("embedding_lr", "fig3.sqrt-d-rule")
    _sweep.draw_optima(panel, sweep, _sweep.WINDOW[scale], "measured", "black", paper=power)
    return figure


def draw(
    sweep: Sweeps,
    scale: str,
    label,
    predicted: Prediction,
    optimum: str = "optimum",
    tuning: Sweeps | None = None,
):
    """Losses, optima, slopes by every estimator and costs, as a figure of four panels.

    label: of a width. predicted: of the slope. optimum: label of the optima.
    """
    from repro.verdicts import drawing

    figure, axes = drawing.panels(2, 2, width=5.2, height=_sweep.HEIGHT)
    losses, optima, slopes, costs = axes.flat
    window = _sweep.WINDOW[scale]
    _sweep.draw_losses(losses, sweep, window, label)
    (power,) = numbers("embedding_lr", "fig3.sqrt-d-rule")
    _sweep.draw_optima(optima, sweep, window, optimum, "black", paper=power)
    _sweep.draw_estimates(slopes, sweep, window, power, predicted)
    draw_costs(costs, _sweep.shared(sweep), tuning)
    return figure
