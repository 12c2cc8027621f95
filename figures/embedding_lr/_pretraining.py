"""Pretraining runs by ratio of the embedding's learning rate to all others: curves, comparisons."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from repro.verdicts.answers import Measurement, over_seeds
from repro.verdicts.intervals import no_finer_than
from repro.verdicts.noise import Design
from repro.verdicts.power import SIDES

FACTOR, POWER = "embedding_lr.factor", "embedding_lr.power"
BASELINE, RULE, TWICE = (1.0, 0.0), (1.0, 0.5), (2.0, 0.5)  # factor and power of d
FACTORS = [2.0**k for k in range(-2, 8)]  # of sqrt(d), in all studies
# Why a bound of 0.9 of the evaluations.
THROUGHOUT = "all evaluations by the words; one in ten may cross, a round figure"
PERPLEXITIES = ["train_perplexity", "valid_perplexity", "word_perplexity"]


def of(data, ratio: tuple[float, float]):
    """The rows of one ratio."""
    return data[(data[FACTOR] == ratio[0]) & (data[POWER] == ratio[1])]


def ratios(data) -> list[tuple[float, float]]:
    """Every ratio, from the smallest."""
    found = data.groupby([FACTOR, POWER])["ratio"].first().sort_values()
    return list(found.index)


def label(data, ratio: tuple[float, float]) -> str:
    """`1`, or `sqrt(d)/4 = 2.8` in mathematical type."""
    factor, power = ratio
    if power == 0:
        return f"{factor:g}"
    root = r"\sqrt{d}"
    words = root if factor == 1 else f"{factor:g}{root}" if factor > 1 else f"{root}/{1 / factor:g}"
    value = of(data, ratio)["ratio"].iloc[0]
    return f"${words}$ = {value:,.0f}" if value >= 100 else f"${words}$ = {value:.3g}"


def by_seed(data, ratio, metric: str):
    """Table of a metric, a row per number of tokens, a column per seed."""
    return of(data, ratio).pivot(index="tokens", columns="seed", values=metric)


def ends(data, metric: str):
    """Ratio, from the smallest -> logarithm of the last value of a metric, by seed."""
    return {ratio: np.log(by_seed(data, ratio, metric).iloc[-1]) for ratio in ratios(data)}


def comparison(ends, ratio, other, seeds: Sequence[int]) -> float:
    """Last perplexity of one ratio over another's, geometric mean over seeds (repeats count).

    ends: from the function of that name.
    """
    chosen = list(seeds)
    return float(np.exp(ends[ratio][chosen].mean() - ends[other][chosen].mean()))


def measured(data, statistic, detail: str = "") -> Measurement:
    """Mean over seeds of a statistic of seeds, with its interval; runs of one seed read the same
    batches. Nothing can be told where every run that it compares diverged."""
    with np.errstate(invalid="ignore"):
        found = over_seeds(statistic, data["seed"].unique(), "", detail)
    return replace(found, problem="the runs compared diverged") if np.isnan(found.value) else found


def share(data, better, detail: str = "") -> Measurement:
    """Share of evaluations at which one ratio is better than another, mean over seeds; known to
    half an evaluation.

    better: a table of booleans, a row per evaluation, a column per seed.
    """
    found = measured(data, lambda seeds: float(better[list(seeds)].to_numpy().mean()), detail)
    return no_finer_than(found, 1 / (2 * len(better)), lowest=0, highest=1)


def simulate(law, recorded, scale, rng):
    """The runs at ratio sqrt(d) better or worse than those at 1 by their recorded difference, or by
    none of it. recorded: of one study."""
    design = Design(recorded, PERPLEXITIES, [FACTOR, POWER, "step"])
    ours, other = (design.rows(**{FACTOR: ratio[0], POWER: ratio[1]}) for ratio in (RULE, BASELINE))
    design.set_apart(ours, other, SIDES[law])
    return design.draw(rng)


def color(ratio: tuple[float, float]):
    """The ratio's colour in every panel: two of the palette, the others from dark to bright."""
    from matplotlib import colormaps

    from repro.verdicts import drawing

    if ratio in (BASELINE, RULE):
        return drawing.COLORS[(BASELINE, RULE).index(ratio)]
    return colormaps["viridis"](FACTORS.index(ratio[0]) / (len(FACTORS) - 1))


def geometric_mean(values) -> float:
    """Of positive values."""
    return float(np.exp(np.log(values).mean()))


def draw_curves(axes, data, metric: str) -> None:
    """A metric against tokens per ratio: geometric mean over seeds, band from lowest to highest."""
    from repro.verdicts.drawing import band, plain_ticks

    for ratio in ratios(data):
        table = by_seed(data, ratio, metric)
        finite = table[np.isfinite(table).all(axis=1)]
        x = np.repeat(finite.index.to_numpy(), finite.shape[1])
        shown = {"marker": "o", "ms": 2.5, "label": label(data, ratio)}
        band(axes, x, finite.to_numpy().ravel(), color(ratio), geometric_mean, **shown)
        if len(finite) < len(table):
            axes.plot([], [], "x", color=color(ratio), label=f"{label(data, ratio)}: diverged")
    axes.set_yscale("log")
    plain_ticks(axes.yaxis)
    plain_ticks(axes.xaxis)
    axes.set_xlabel("tokens")
    many = {"loc": "upper right", "ncols": 3, "columnspacing": 0.8, "handlelength": 1}
    if len(ratios(data)) > 4:  # room for their names
        low, high = axes.get_ylim()
        axes.set_ylim(top=high * (high / low) ** 0.35)
    axes.legend(
        title=r"$\eta_\mathrm{emb}/\eta$",
        fontsize=7,
        title_fontsize=7,
        **many if len(ratios(data)) > 4 else {},
    )
