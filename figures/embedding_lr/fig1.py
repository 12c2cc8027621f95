"""Figure 1: the optimal embedding learning rate against width at one vocabulary."""

from dataclasses import replace

import numpy as np

from figures.embedding_lr import _laws, _sweep
from repro.core.study import GPU_SCALES
from repro.verdicts.answers import (
    TOLERANCE,
    TRAINING,
    Prediction,
    Test,
    trained_scales,
    within,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.intervals import joined
from repro.verdicts.printed import numbers
from repro.verdicts.run_sweeps import gathered

# At the default scale the network as printed, a stage a width, and embeddings of std 1 beside it.
STUDIES = (
    "embedding_lr/width",
    *(f"embedding_lr/figure1/{stage}" for stage in ("narrow", "middle", "wide", "unit")),
)
ANSWERS = (
    Test(
        id="fig1.optimum-falls",
        kind=TRAINING,
        statement="falls",
        column="one vocabulary, as printed",
        quantity="slope of log eta_E* against log d",
        expected=trained_scales(within(-0.5, 0.25, TOLERANCE, _laws.HALF_WAY)),
    ),
)
INIT, HIDDEN, OUTPUT = "init.embedding", "lr.hidden", "lr.output"
UNIT_INIT = "SP"  # standard deviation 1
LAWS = {"fig1.optimum-falls": _laws.FALLS}


def reduce(runs: Runs) -> Data:
    whole = next(table.columns for table in runs.values() if "step" in table)
    return gathered(runs, lambda name: {}, last=True)[whole.drop("step")]


def judged_in(data: Data, scale: str):
    """The rows that an optimum is the best of: below GPU scales, embeddings of std 1 have few seeds
    and are drawn alone."""
    rows = data.drop(columns="vocab_reached")
    return rows if scale in GPU_SCALES else rows[rows[INIT] != UNIT_INIT]


def sweep_of(data: Data, scale: str):
    """The sweep of each width, the other rates at their best."""
    return _sweep.sweeps(judged_in(data, scale))


def best_settings(data: Data):
    """Width -> the row with the lowest mean loss over seeds, of all settings."""
    axes = [c for c in data.columns if c not in ("seed", "train_loss", "vocab_reached")]
    mean = data.groupby(axes)["train_loss"].mean().fillna(np.inf).reset_index()
    rows = mean.loc[mean.groupby(_sweep.WIDTH)["train_loss"].idxmin()]
    return {int(row[_sweep.WIDTH]): row for _, row in rows.iterrows()}


def other_edges(data: Data):
    """Which other swept rates are best at an end of their values, in words; "" if none is."""
    ends = []
    for width, best in best_settings(data).items():
        tried = data[(data[_sweep.WIDTH] == width) & (data[INIT] == best[INIT])]
        ends += [
            f"{name} {best[name]:g} at d = {width}"
            for name in (HIDDEN, OUTPUT)
            if tried[name].nunique() > 1 and best[name] in (tried[name].min(), tried[name].max())
        ]
    return f"the best lies at an end of what was tried: {', '.join(ends)}" if ends else ""


def measure(data: Data, scale: str) -> Measured:
    falls = _sweep.slope_measurement(sweep_of(data, scale), _sweep.WINDOW[scale])
    edges = other_edges(judged_in(data, scale))
    if edges:
        falls = replace(falls, problem=joined(falls.problem, edges))
    return {"fig1.optimum-falls": falls}


def predict(data: Data, scale: str) -> dict[str, Prediction]:
    return {"fig1.optimum-falls": _laws.predicted(data)}


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    table, drawn = judged_in(recorded, scale), recorded.copy()
    power = _laws.slopes(recorded)[law]
    moved = _laws.simulate_sweep(power, table, scale, rng)
    drawn.loc[table.index, "train_loss"] = moved["train_loss"]
    return drawn


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, axes = drawing.panels(3, height=_sweep.HEIGHT)
    sweep = sweep_of(data, scale)
    m = data["vocab_reached"].max()
    unit = _sweep.sweeps(data[data[INIT] == UNIT_INIT].drop(columns="vocab_reached"))
    axes[0, 0].plot([], [], "--", lw=1, color="0.5", label="dashes, in each colour: std 1")
    window = _sweep.WINDOW[scale]
    _sweep.draw_losses(axes[0, 0], sweep, window, lambda width: f"d = {width}, m = {m}")
    colors, shown = drawing.ramp(sweep), axes[0, 0].get_ylim()
    for width, each in unit.items():
        axes[0, 0].plot(each.rates, each.mean(), "--", lw=1, color=colors[width])
    axes[0, 0].set_ylim(shown)  # what lies far above would squeeze the curves that are judged
    (power,) = numbers("embedding_lr", "fig1.optimum-falls")
    _sweep.draw_optima(axes[0, 1], sweep, window, "optimum", "black", paper=power)
    _sweep.draw_estimates(axes[0, 2], sweep, window, power, _laws.predicted(data))
    return figure


FIGURE = Figure(
    title="Figure 1. Optimal embedding learning rate against width, fixed vocabulary",
    outcome="The best embedding rate goes as width^{fig1.optimum-falls}",
    caption=(
        "Left: training loss against the embedding learning rate, best over the other "
        "hyperparameters, mean and range (band) over seeds; thick: rates of near-best loss (edge, "
        "in the middle: it meets the grid's end); dashed: embeddings of std 1, cut at the top. "
        "Middle: its optimum "
        "against width. Dots: one fit to the mean curves of all widths, bars: 95 % interval over "
        "seeds; diamonds, and the dots at paper scale: the paper's rule, geometric mean of the "
        "grid's rates within 20 %; dashed: powers of d from the first dot. Right: the slope by "
        "that fit, by other estimators, which judge nothing, and of the last two widths, with "
        "95 % intervals; shaded: the interval that is judged, and what Theorem 1 allows. Without "
        "LayerNorm, as printed (Hayou & Liu, Figure 1)."
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
