"""Figure 4: pretraining perplexity by ratio of the embedding's learning rate to the rest."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from figures.embedding_lr import _pretraining
from figures.embedding_lr._pretraining import (
    BASELINE,
    FACTOR,
    LONG,
    OVER_ONE,
    POWER,
    RULE,
    WIDTH,
    WORST,
)
from repro.core.spec import override
from repro.statistics import slope, t_interval
from repro.tasks import TASKS
from repro.verdicts.answers import (
    STATED,
    TOLERANCE,
    TRAINING,
    Measurement,
    Reading,
    Test,
    below,
    exact,
    over_means,
    over_seeds,
    trained_scales,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.intervals import joined
from repro.verdicts.noise import Design
from repro.verdicts.power import SIGN, Laws
from repro.verdicts.run_sweeps import gathered, sweep_of
from studies.embedding_lr import pretraining
from widthwise.checks.sweep import Sweep

TUNING, SHORT = (f"embedding_lr/pretraining/{name}" for name in ("tuning", "ratios"))
STUDIES = (TUNING, LONG, SHORT)
METRIC, HELD_OUT = "train_perplexity", "valid_perplexity"
FURTHER = (
    "nats that 8 sqrt(d), or the largest ratio up to it, gains on sqrt(d), less those that sqrt(d) "
    "gains on 1; final training loss"
)
MOST = 8.0  # times sqrt(d): from there on as many octaves as from 1 to sqrt(d), where d = 64


@dataclass(frozen=True)
class Size:
    """How large the runs of (a) are. tokens: read by one. parameters: of its model."""

    tokens: float
    parameters: int


def size_of(scale: str, axes: Mapping[str, int]) -> Size:
    """That at a scale. axes: settings of a width, where it has several."""
    study = pretraining.STAGES["long"]
    spec = override(study.settings(scale), {**axes, "lr": 1.0})
    tokens = spec["steps"] * spec["data"]["batch_size"] * spec["data"]["sequence_length"]
    return Size(tokens, TASKS[study.task].cost(spec).parameters)


ANSWERS = (
    Test(
        id="fig4.sqrt-d-better",
        kind=TRAINING,
        statement="better",
        column="pretrained decoder",
        quantity=f"final training perplexity, {OVER_ONE}",
        expected=trained_scales(below(1, STATED)),
    ),
    Test(
        id="fig4.faster-throughout",
        kind=TRAINING,
        statement="faster",
        column="pretrained decoder",
        quantity=f"training perplexity {WORST}, {OVER_ONE}",
        expected=trained_scales(below(1, STATED)),
    ),
    Test(
        id="fig4.flat-above",
        kind=TRAINING,
        statement="flat-above",
        column="pretrained decoder, the widest",
        quantity=f"{FURTHER}, the largest width",
        expected=trained_scales(
            below(0, TOLERANCE, "the least that 'marginal' can mean: less than was gained before")
        ),
    ),
    Reading(
        id="fig4.flat-above-narrow",
        words=f"{FURTHER}, the smallest of several widths",
        beside="below 0, as at the largest",
        statement="flat-above",
        column="pretrained decoder, the narrowest",
    ),
    Reading(
        id="fig4.held-out",
        words=f"final perplexity of held-out text, {OVER_ONE}",
        beside="below 1 in the paper, on WikiText",
        statement="better",
        column="held-out text",
    ),
    Reading(
        id="fig4.tokens-per-parameter",
        words="tokens that the widest model reads in (a), over its parameters",
        beside="the paper's: {0.tokens:.3g} tokens, {0.parameters:.3g} parameters".format(
            size_of("paper", {})
        ),
    ),
    Reading(
        id="fig4.near-optimal",
        words="final training perplexity, ratio sqrt(d) over the best ratio's, geometric mean over "
        "widths",
        beside="'near-optimal' in the paper",
        statement="flat-above",
        column="sqrt(d) beside the best ratio",
    ),
    Reading(
        id="fig4.best-ratio",
        words="best ratio over sqrt(d), geometric mean over widths",
        beside="about 1 by the rule",
        statement="flat-above",
        column="place of the best ratio",
    ),
    Reading(
        id="fig4.best-ratio-power",
        words="power of d in the best ratio",
        beside="1/2 by the rule",
        statement="flat-above",
        column="place of the best ratio, by width",
    ),
)
MARGINAL, GOES_ON = "1 % from sqrt(d) on", "gains go on as before"
LAWS = {
    "fig4.sqrt-d-better": SIGN,
    "fig4.faster-throughout": SIGN,
    "fig4.flat-above": Laws(MARGINAL, (GOES_ON,), edge=GOES_ON),
}


def sizes_at(scale: str) -> Sequence[Mapping[str, int]]:
    """The settings of every width."""
    return pretraining.SCALES[scale].sizes


def reduce(runs: Runs) -> Data:
    return gathered(runs, lambda name: {"stage": name.stage})


def stage(data: Data, study: str):
    """The rows of a stage."""
    return data[data["stage"] == study.split("/")[-1]]


def around(data: Data):
    """The runs by ratio, of one length: where there are further ratios alone, beside the long
    runs."""
    short = stage(data, SHORT)
    if len(_pretraining.rows_of(short, RULE)):
        return short
    return data[data["stage"] != TUNING.split("/")[-1]]


def untuned(data: Data) -> str:
    """Where ratio 1's best rate was at an end of those tried, in words; "" where nowhere, or where
    none was tuned."""
    ends = [
        f"{found.best_rate:g} at d = {width}"
        for width, rows in last(stage(data, TUNING)).groupby(WIDTH)
        if (found := sweep_of(rows, "lr", "train_loss")).at_edge
    ]
    return f"ratio 1's best rate lies at an end of what was tried: {', '.join(ends)}" * bool(ends)


def last(data: Data):
    """The last evaluation of every run of one length."""
    return data[data["step"] == data["step"].max()]


def largest(data: Data) -> tuple[float, float]:
    """The largest ratio up to MOST sqrt(d) of some rows."""
    return max(each for each in _pretraining.ratios(data) if each[1] and each[0] <= MOST)


def gained(found, ratio, other):
    """Nats by which the final training loss at a ratio is below that at another, mean over widths,
    by seed. found: from `_pretraining.logs`."""
    return -_pretraining.apart(found, ratio, other).iloc[-1]


def further(data: Data) -> Measurement:
    """What the next factor gains less what sqrt(d) gained."""
    logs = _pretraining.logs(last(data), METRIC)
    first, beyond = gained(logs, RULE, BASELINE), gained(logs, largest(data), RULE)
    found = over_seeds(lambda seed: float((beyond - first)[seed].mean()), beyond.index)
    both = beyond.index.intersection(first.index)
    detail = (
        f"{largest(data)[0]:g} sqrt(d) gains {t_words(beyond[both])} on sqrt(d), which gains "
        f"{t_words(first[both])} on 1"
    )
    return _pretraining.diverged(replace(found, detail=detail))


def t_words(values) -> str:
    """`0.33 [0.3, 0.36] nats`."""
    return "{:.3g} [{:.2g}, {:.2g}] nats".format(*t_interval(values))


def by_ratio(data: Data) -> dict[int, Sweep]:
    """Width -> its final training losses over the ratios, of the seeds that have all of them."""
    found = {}
    for width, rows in last(data).groupby(WIDTH):
        counts = rows.groupby("seed")["ratio"].nunique()
        whole = rows[rows["seed"].isin(counts.index[counts == counts.max()])]
        found[int(width)] = sweep_of(whole, "ratio", "train_loss")
    return found


def optimum(data: Data) -> dict[str, Measurement]:
    """The best ratio's place, its power of d, and what sqrt(d) loses beside it."""
    sweeps = by_ratio(data)
    seeds = sorted(set.intersection(*({*each.seeds} for each in sweeps.values())))
    edges = [f"d = {d}" for d, each in sweeps.items() if each.at_edge]
    problem = f"the best ratio is at an end of those tried at {', '.join(edges)}" * bool(edges)
    d = np.log2([*sweeps])

    def places(sample: Sequence[int]) -> np.ndarray:
        return np.array([each.of(sample).optimum() for each in sweeps.values()])

    def lost(sample: Sequence[int]) -> float:
        means = [each.of(sample) for each in sweeps.values()]
        own = [
            each.mean()[np.searchsorted(each.rates, 2 ** (w / 2) * 0.999)]
            for each, w in zip(means, d, strict=True)
        ]
        return float(np.exp(np.mean(own) - np.mean([each.mean().min() for each in means])))

    where = ", ".join(f"d = {w}: 2^{p:.2f}" for w, p in zip(sweeps, places(seeds), strict=True))
    one_width = joined(problem, "there are no two widths" * (len(d) < 2))
    return {
        "fig4.near-optimal": over_means(lost, seeds),
        "fig4.best-ratio": over_means(
            lambda sample: float(2 ** np.mean(places(sample) - d / 2)), seeds, problem, where
        ),
        "fig4.best-ratio-power": over_means(
            lambda sample: slope(d, places(sample)) if len(d) > 1 else math.nan, seeds, one_width
        ),
    }


def measure(data: Data, scale: str) -> Measured:
    long, short = stage(data, LONG), around(data)
    widths = short[WIDTH].unique()
    trained = _pretraining.logs(long, METRIC)
    found = {
        "fig4.sqrt-d-better": _pretraining.at_end(trained),
        "fig4.faster-throughout": _pretraining.throughout(trained),
        "fig4.flat-above": further(short[short[WIDTH] == max(widths)]),
        "fig4.flat-above-narrow": further(short[short[WIDTH] == min(widths)])
        if len(widths) > 1
        else exact(math.nan, 0, "there are no two widths"),
    }
    problem = untuned(data)
    judged = {k: replace(each, problem=joined(each.problem, problem)) for k, each in found.items()}
    (widest,) = (each for each in sizes_at(scale) if each[WIDTH] == long[WIDTH].max())
    its = size_of(scale, widest)
    held_out = _pretraining.at_end(_pretraining.logs(last(long), HELD_OUT))
    return {
        **judged,
        "fig4.held-out": held_out,
        "fig4.tokens-per-parameter": exact(
            its.tokens / its.parameters,
            detail=f"d = {widest[WIDTH]}: {its.tokens:,.0f} tokens, {its.parameters:,} parameters",
        ),
        **optimum(short),
    }


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Each law changes the ratios that its tests are about."""
    drawn = recorded.copy()
    if law in SIGN.names:
        rows = stage(recorded, LONG)
        drawn.loc[rows.index] = _pretraining.simulate(law, rows, scale, rng)
        return drawn
    rows = around(recorded)
    keys = [WIDTH, FACTOR, POWER]
    design, beyond = Design(rows, [METRIC], [*keys, "step"]), largest(rows)
    step = rows["step"].to_numpy()
    for width in rows[WIDTH].unique():
        base, rule, far = (
            design.rows(**dict(zip(keys, (width, *ratio), strict=True)))
            for ratio in (BASELINE, RULE, beyond)
        )
        at_base, at_rule = ({step[row]: design.mean[row] for row in its} for its in (base, rule))
        for row in far:
            gain = at_base[step[row]] - at_rule[step[row]]
            design.mean[row] = at_rule[step[row]] - (0.01 if law == MARGINAL else gain)
    drawn.loc[rows.index] = design.draw(rng)
    return drawn


def draw_ends(axes, data: Data):
    """Nats above the loss at sqrt(d), paired over seeds, against the ratio over sqrt(d), a line a
    width; and what sqrt(d) gained."""
    from repro.verdicts.drawing import PAPER, bars, legend_above, log2_axis, ramp

    colors = ramp(data[WIDTH].unique())
    for place, (width, rows) in enumerate(data.groupby(WIDTH)):
        shown = _pretraining.ratios(rows)
        logs = _pretraining.logs(last(rows), METRIC)
        found = [t_interval(gained(logs, each, RULE)) for each in shown]
        x = [_pretraining.rows_of(rows, each)["ratio"].iloc[0] / width**0.5 for each in shown]
        at = np.array(x) * 1.03**place
        bars(axes, at, found, fmt="o-", color=colors[width], label=f"d = {width}")
        first = found[shown.index(BASELINE)][0]
        axes.axhline(-first, ls=":", lw=1, color=colors[width], zorder=0)
    axes.plot([], [], ":", lw=1, color="0.4", label="as much again as from 1 to $\\sqrt{d}$")
    axes.axhline(0, color="0.8", lw=1, zorder=0)
    axes.axvline(1, ls="--", lw=1, color=PAPER, zorder=0, label=r"the paper's, $\sqrt{d}$")
    axes.set_xscale("log", base=2)
    log2_axis(axes.xaxis)
    axes.set_xlabel(r"$\eta_\mathrm{emb}/\eta$, over $\sqrt{d}$")
    axes.set_ylabel(r"nats gained on $\sqrt{d}$")
    legend_above(axes, 2)


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, axes = drawing.panels(2, 2, width=5.0)
    long, short = stage(data, LONG), around(data)
    pair = long[long[FACTOR] == 1.0]
    _pretraining.draw_curves(axes[0, 0], pair, METRIC)
    _pretraining.draw_apart(axes[0, 1], long, METRIC, "training perplexity")
    _pretraining.draw_curves(axes[1, 0], short, METRIC)
    draw_ends(axes[1, 1], short)
    for panel, name in zip(axes[:, 0], ("(a)", "(b)"), strict=True):
        panel.set_ylabel("training perplexity")
        panel.set_title(name, fontsize=9, loc="left")
    return figure


FIGURE = Figure(
    title="Figure 4. Pretraining perplexity by ratio of the embedding's learning rate to the rest",
    outcome="Ratio sqrt(d) ends at {fig4.sqrt-d-better} times ratio 1's training perplexity; what "
    "8 sqrt(d) gains on that, less what that gained, is {fig4.flat-above} nats",
    caption=(
        "Training perplexity by ratio of the embedding's learning rate to the rest. Top left, (a): "
        "1 and sqrt(d) against tokens, at the largest width; geometric mean over seeds, band: "
        "range. Top right: the one over the other, geometric mean over widths, a thin line a seed, "
        "and mean and 95 % interval. Bottom left, (b): further ratios, on fewer tokens at paper "
        "scale. Bottom right: nats by which the final training loss lies below that at sqrt(d) of "
        "the same seed, mean and 95 % interval; dotted: where a ratio has gained on sqrt(d) as "
        "much as sqrt(d) on 1. Below paper scale ratio 1's best rate, on seeds of their own, is "
        "that of all ratios. At paper scale the decoder of Table 3, below it smaller ones of its "
        "kind (Hayou & Liu, Figure 4)."
    ),
    studies=STUDIES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
