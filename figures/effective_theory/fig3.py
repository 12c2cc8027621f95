"""Figure 3: sweeps of the learning rate, BART, standard and neural-tangent."""

import math

import numpy as np

from figures.effective_theory import _bart
from figures.effective_theory._bart import reduce
from figures.effective_theory._strategies import (
    OCTAVE,
    mark_rates,
    matrices_powers,
    rate_styles,
    ratio_of_rates,
    style,
)
from repro.verdicts import typeset
from repro.verdicts.answers import (
    STATED,
    TOLERANCE,
    TRAINING,
    Test,
    above,
    at_most,
    exact,
    inside,
    over_means,
    over_seeds,
    trained_scales,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured
from repro.verdicts.intervals import half_step, no_finer_than, spanning
from repro.verdicts.noise import Design
from repro.verdicts.power import SIDES, SIGN, Laws
from repro.verdicts.run_sweeps import last_step
from studies.effective_theory._bart import STRATEGIES
from studies.effective_theory._strategies import COMPARED
from widthwise.checks.sweep import Sweep, parabola_optimum

PRINTED = {"standard": 1e-3, "neural-tangent": 32.768}
ANSWERS = (
    Test(
        id="fig3.optimum-lr",
        kind=TRAINING,
        statement="printed-rates",
        column="BART",
        quantity="octaves between the best rate and the printed one, the larger of both strategies",
        expected={
            "paper": at_most(0.25, TOLERANCE, "less than half a step of the grid, an octave")
        },
        published=True,
    ),
    Test(
        id="fig3.equivalent-lr",
        kind=TRAINING,
        statement="one-rate",
        column="BART",
        quantity="best rate, by a parabola through the best of the grid and its neighbours, "
        "neural-tangent times n^-3/2 over standard",
        expected={"paper": inside(0.5, 2, TOLERANCE, OCTAVE)},
    ),
    Test(
        id="fig3.robust-to-low-lr",
        kind=TRAINING,
        statement="low-rate",
        column="BART",
        quantity="increase of the smallest validation loss when the rate falls to half of the "
        "best, standard over neural-tangent",
        expected=trained_scales(above(1, STATED)),
    ),
    Test(
        id="fig3.overflow",
        kind=TRAINING,
        statement="overflow",
        column="BART",
        quantity="share of the runs above the best rate that end because no loss scale keeps "
        "float16 gradients finite, the smaller of both strategies",
        expected={"paper": above(0)},
    ),
)
# Power of n by which neural-tangent's best rate is above the standard strategy's.
POWERS = {"n^3/2": 1.5, "n": 1.0, "n^1/2": 0.5}
MARKERS = "os^vD"  # of strategies
LAWS = {
    "fig3.equivalent-lr": Laws("n^3/2", ("n", "n^1/2")),
    "fig3.robust-to-low-lr": SIGN,
}


def increase(sweep: Sweep, seeds) -> float:
    """Mean over seeds of the loss at half of the best rate less that at the best, in nats; NaN
    where no run is at that half."""
    best, some = sweep.optimum("grid"), sweep.of(seeds)
    return float((some.at(best - 1, "grid") - some.at(best, "grid")).mean())


def increase_from_vertex(sweep: Sweep) -> float:
    """The same from the optimum between the grid's points: the polynomial through the mean losses
    of all rates, at half of the vertex of a parabola, less that at the vertex."""
    losses = sweep.mean()
    vertex = parabola_optimum(sweep.rates, losses)
    curve = np.polynomial.Polynomial.fit(sweep.log2, losses, len(losses) - 1)
    return float(curve(vertex - 1) - curve(vertex))


def robustness(sweeps: dict[str, Sweep], seeds, problem):
    """What half of the best rate costs the standard strategy over what it costs neural-tangent."""
    increases = {strategy: increase(sweep, seeds) for strategy, sweep in sweeps.items()}
    lacking = [strategy for strategy, value in increases.items() if math.isnan(value)]
    if lacking:
        low = f"no run at half of the best rate: {', '.join(lacking)}"
        return exact(math.nan, len(seeds), low)

    # A ratio of two means: of a single seed the denominator may be about zero.
    def ratio(standard, tangent):
        return standard / tangent if tangent > 0 else math.inf

    def of(sample):
        return ratio(*(increase(sweeps[strategy], sample) for strategy in COMPARED))

    between = ratio(*(increase_from_vertex(sweeps[strategy]) for strategy in COMPARED))
    detail = ", ".join(f"{strategy} {value:+.3g}" for strategy, value in increases.items())
    detail += f"; from optima between the grid's points a ratio of {between:.3g}"
    found = over_means(of, seeds, problem, f"increase in nats: {detail}")
    # The best may lie half a step from the grid's.
    return spanning(found, between) if math.isfinite(between) else found


def overflows(data: Data, seeds, problem):
    """The measurement of `fig3.overflow`; there is none without float16."""
    if _bart.SKIPPED not in data:
        return exact(math.nan, 0, "nothing can overflow: no float16 at this scale")
    ends = last_step(data[data["part"] == "sweep"])

    def share(sample, strategy):
        runs = _bart.rows_of(ends, strategy, "sweep")
        best = _bart.SWEEP.optimum(_bart.rows_of(data, strategy, "sweep")).point[0]
        above_best = runs[(runs["lr"] > best) & runs["seed"].isin(sample)]
        return float(np.isinf(above_best["train_loss"].fillna(math.inf)).mean())

    skipped = ends.groupby("strategy")[_bart.SKIPPED].max()
    words = ", ".join(f"{name} {count:.0f}" for name, count in skipped.items())
    return over_seeds(
        lambda sample: min(share(sample, strategy) for strategy in COMPARED),
        seeds,
        problem,
        f"most steps skipped by a run: {words}",
    )


def measure(data: Data, scale: str) -> Measured:
    sweeps = {strategy: _bart.sweep(data, strategy) for strategy in COMPARED}
    in_words = ", ".join(f"{strategy} {s.best_rate:.4g}" for strategy, s in sweeps.items())
    edge = _bart.edges(data, *COMPARED)
    seeds = sorted(int(seed) for seed in data["seed"].unique())

    # The paper's optima are points of its grid, so these are points of ours.
    def distance(sample):
        rates = {strategy: sweep.of(sample).best_rate for strategy, sweep in sweeps.items()}
        return max(abs(math.log2(rates[strategy] / PRINTED[strategy])) for strategy in COMPARED)

    # Rates that are equal may be a step apart on the grid: hence the vertex between its points.
    def octaves(sample):
        standard, tangent = (
            _bart.vertex(sweeps[strategy], sample) - math.log2(_bart.factor(scale, strategy))
            for strategy in COMPARED
        )
        return tangent - standard

    return {
        "fig3.optimum-lr": no_finer_than(
            over_seeds(distance, seeds, edge, in_words),
            max(half_step(sweep.rates) for sweep in sweeps.values()),
        ),
        "fig3.equivalent-lr": ratio_of_rates(octaves, seeds, edge, f"on the grid: {in_words}"),
        "fig3.robust-to-low-lr": robustness(sweeps, seeds, edge),
        "fig3.overflow": overflows(data, seeds, edge),
    }


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    design = Design(recorded, [_bart.METRIC], _bart.AXES, log=False)
    last = recorded["step"].to_numpy() == recorded["step"].max()
    octaves = np.log2(recorded["lr"].to_numpy())
    rows = {s: np.flatnonzero((recorded["strategy"] == s).to_numpy() & last) for s in COMPARED}
    curves = {}
    for strategy, at in rows.items():
        grid, first = np.unique(octaves[at], return_index=True)
        curves[strategy] = grid, design.mean[at[first], 0]
    change = set_optima_apart if law in POWERS else exchange_harms
    change(law, design, rows, curves, octaves, scale)
    return design.draw(rng)


def set_optima_apart(law: str, design, rows, curves, octaves, scale: str):
    """Move both sweeps until their optima are as far apart as a law has them."""
    found = {strategy: parabola_optimum(2.0**x, y, 1.0) for strategy, (x, y) in curves.items()}
    width = _bart.setting(scale, "standard", "model.width")
    apart = {"standard": -0.5, "neural-tangent": 0.5}
    for strategy, at in rows.items():
        wanted = np.mean(list(found.values())) + apart[strategy] * POWERS[law] * np.log2(width)
        design.move(at, octaves, wanted - found[strategy])


def exchange_harms(law: str, design, rows, curves, octaves, scale: str):
    """Give each sweep, as far as a law says, the other's rise of the loss at lower rates."""
    best = {strategy: x[np.argmin(y)] for strategy, (x, y) in curves.items()}
    rises = {strategy: (x - best[strategy], y - y.min()) for strategy, (x, y) in curves.items()}
    for strategy, other in zip(COMPARED, COMPARED[::-1], strict=True):
        below = rows[strategy][octaves[rows[strategy]] < best[strategy]]
        x = octaves[below] - best[strategy]
        own, its = (np.interp(x, *rises[each]) for each in (strategy, other))
        design.mean[below, 0] += (1 - SIDES[law]) / 2 * (its - own)


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, axes = drawing.panels(len(STRATEGIES) + 1, width=4.4, height=3.8)
    curves, rates_panel = axes[0, :-1], axes[0, -1]
    for panel in curves[1:]:
        panel.sharey(curves[0])
    swept = {strategy: _bart.rows_of(data, strategy, "sweep") for strategy in STRATEGIES}
    powers = {
        strategy: matrices_powers(rows["lr"].unique(), 1 / _bart.factor(scale, strategy))
        for strategy, rows in swept.items()
    }
    colors = drawing.ramp(power for each in powers.values() for power in each.values())
    for panel, (strategy, rows) in zip(curves, swept.items(), strict=True):
        best = _bart.SWEEP.optimum(rows).point[0]
        for lr, look in rate_styles(powers[strategy], best, colors).items():
            label = f"$2^{{{powers[strategy][lr]}}}$"
            _bart.draw_curve(panel, rows[rows["lr"] == lr], label, **look)
        decay = _bart.setting(scale, strategy, "optimizer.weight_decay")
        words = "matrices' rate [smallest loss]"
        _bart.finish(panel, typeset.powers(f"{strategy}, wd = {decay:.2g}"), words)
        drawing.legend_above(panel, 3, title=words)
    draw_rates(rates_panel, data, scale)
    return figure


def draw_rates(panel, data: Data, scale: str):
    """Smallest loss against the matrices' rate, every strategy; rival laws' and the paper's."""
    from repro.verdicts import drawing

    best = {}
    for strategy, marker in zip(STRATEGIES, MARKERS, strict=False):
        rows = last_step(_bart.rows_of(data, strategy, "sweep"))
        losses = rows.pivot(index="lr", columns="seed", values=_bart.METRIC)
        losses.index = losses.index / _bart.factor(scale, strategy)
        best[strategy] = _bart.SWEEP.optimum(rows).point[0] / _bart.factor(scale, strategy)
        finite = losses[np.isfinite(losses).all(axis=1)]
        look = style(strategy)
        color = look["color"]
        panel.plot(finite.index, finite, marker, ms=4, mfc="none", color=color)
        panel.plot(finite.index, finite.mean(axis=1), **look, label=strategy)
        drawing.diverged(panel, losses.index.difference(finite.index), color)
        if best[strategy] in finite.index:
            low = _bart.nearest(finite.index, best[strategy] / 2)
            ends = [finite.mean(axis=1)[rate] for rate in (best[strategy], low) if rate]
            panel.plot(best[strategy], ends[0], "*", ms=14, color="white", mec=color)
            if low:
                panel.plot([low, low], ends, "-", lw=3, alpha=0.4, color=color)
                label = f"{ends[1] - ends[0]:+.2f} at half"
                panel.plot([], [], "-", lw=3, alpha=0.4, color=color, label=label)
    width = _bart.setting(scale, "standard", "model.width")
    rivals = {
        law: best["standard"] * width ** (power - POWERS["n^3/2"])
        for law, power in POWERS.items()
        if law != "n^3/2"
    }
    panel.set_xscale("log")  # before the lines, which are drawn where they stretch no axis
    mark_rates(panel, PRINTED["standard"], rivals)
    drawing.log2_axis(panel.xaxis)
    panel.set_xlabel(r"matrices' rate: lr, neural-tangent lr $n^{-3/2}$")
    panel.set_ylabel("smallest validation loss (nats)")
    panel.set_title("by rate, the best starred", fontsize=9)
    drawing.legend_above(panel, 2)


FIGURE = Figure(
    title="Figure 3. Learning rates of BART under the standard and the neural-tangent strategy",
    outcome=(
        "The best rate of neural-tangent, times n^-3/2, is {fig3.equivalent-lr} times that of "
        "standard"
    ),
    caption=(
        "Validation loss of BART against updates, a curve a learning rate: mean over seeds, band: "
        "range over seeds (Dinan et al., Figure 3). Thick: the best rate; dashed: higher ones. In "
        "brackets the smallest loss along the run, mean over seeds. Right: that against the rate "
        "of the matrices, a mark a seed, stars the best; thick: the rise at half of it; "
        "dashed: the paper's rate for both, and where rival laws have neural-tangent's best "
        "(widths and data are not the paper's)."
    ),
    studies=tuple(_bart.SWEEPS.values()),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
