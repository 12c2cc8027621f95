"""Pretraining runs by ratio of the embedding's learning rate to all others: curves, comparisons."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from repro.verdicts.answers import Measurement, over_means, over_seeds
from repro.verdicts.figure import Data, Generator
from repro.verdicts.noise import Design
from repro.verdicts.power import SIDES

LONG = "embedding_lr/pretraining/long"
WIDTH, FACTOR, POWER = "model.width", "embedding_lr.factor", "embedding_lr.power"
BASELINE, RULE = (1.0, 0.0), (1.0, 0.5)  # factor and power of d
PERPLEXITIES = ["train_perplexity", "valid_perplexity", "word_perplexity"]
# What the quantities of `at_end` and `throughout` have in common.
OVER_ONE = "ratio sqrt(d) over ratio 1, geometric mean over widths"
WORST = "at the evaluation where the mean over seeds is largest"


def rows_of(data: Data, ratio: tuple[float, float]):
    """The rows of one ratio."""
    return data[(data[FACTOR] == ratio[0]) & (data[POWER] == ratio[1])]


def ratios(data: Data) -> list[tuple[float, float]]:
    """Every ratio, from the smallest."""
    found = data.groupby([FACTOR, POWER])["ratio"].first().sort_values()
    return list(found.index)


def label(data: Data, ratio: tuple[float, float]) -> str:
    """`1`, or `sqrt(d)/4 = 2.8` in mathematical type."""
    factor, power = ratio
    if power == 0:
        return f"{factor:g}"
    root = r"\sqrt{d}"
    words = root if factor == 1 else f"{factor:g}{root}" if factor > 1 else f"{root}/{1 / factor:g}"
    value = rows_of(data, ratio)["ratio"].iloc[0]
    return f"${words}$ = {value:,.0f}" if value >= 100 else f"${words}$ = {value:.3g}"


def logs(data: Data, metric: str):
    """Log of a metric: a row per width and number of tokens, a column per ratio and seed."""
    columns = [FACTOR, POWER, "seed"]
    table = data.pivot(index=[WIDTH, "tokens"], columns=columns, values=metric)
    return np.log(table.sort_index(axis=1))


def apart(found, ratio, other):
    """What `logs` found at a ratio less that at another one, mean over widths: a row per number of
    tokens, a column per seed that both have. Runs of a seed read the same batches."""
    ours, theirs = found[ratio], found[other]
    seeds = ours.columns.intersection(theirs.columns)
    with np.errstate(invalid="ignore"):
        return (ours[seeds] - theirs[seeds]).groupby(level="tokens").mean()


def at_end(found) -> Measurement:
    """The last value at sqrt(d) over that at 1, mean over seeds. found: from `logs`."""
    with np.errstate(invalid="ignore"):
        by_width = (found[RULE] - found[BASELINE]).groupby(level=WIDTH).tail(1)
    last = np.exp(by_width.mean(skipna=False))
    each = np.exp(by_width.droplevel("tokens")).mean(axis=1).items()
    detail = ", ".join(f"d = {width}: {value:.4g}" for width, value in each)
    return diverged(over_seeds(lambda seeds: float(last[seeds].mean()), last.index, "", detail))


def throughout(found) -> Measurement:
    """The largest, over evaluations, of the mean over seeds of a metric at sqrt(d) over that at 1:
    below 1 where the one is ahead at every evaluation. Chance makes a largest one larger. found:
    from `logs`."""
    each = apart(found, RULE, BASELINE)
    table, places = each.to_numpy(), dict(zip(each.columns, range(each.shape[1]), strict=True))

    def largest(seeds: Sequence[int]) -> float:
        return float(np.exp(table[:, [places[seed] for seed in seeds]].mean(axis=1).max()))

    behind = each.index[table.mean(axis=1) >= 0]
    after = f"after {behind[-1]:,} of" if len(behind) else "of all"
    detail = f"every later mean is below 1 {after} {each.index[-1]:,} tokens"
    return diverged(over_means(largest, each.columns, "", detail))


def diverged(found: Measurement) -> Measurement:
    """Nothing can be told where every run that is compared diverged."""
    return replace(found, problem="the runs compared diverged") if np.isnan(found.value) else found


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """The runs at ratio sqrt(d) better or worse than those at 1 by their recorded difference, or by
    none of it, at every width. recorded: of one study."""
    design = Design(recorded, PERPLEXITIES, [WIDTH, FACTOR, POWER, "step"])
    for width in recorded[WIDTH].unique():
        ours, other = (
            design.rows(**{WIDTH: width, FACTOR: ratio[0], POWER: ratio[1]})
            for ratio in (RULE, BASELINE)
        )
        design.set_apart(ours, other, SIDES[law])
    return design.draw(rng)


def color(ratio: tuple[float, float]):
    """The ratio's colour in every panel: two of the palette, the others from dark to bright."""
    from matplotlib import colormaps

    from repro.verdicts import drawing

    if ratio in (BASELINE, RULE):
        return drawing.COLORS[(BASELINE, RULE).index(ratio)]
    return colormaps["viridis"](np.clip((np.log2(ratio[0]) + 2) / 9, 0, 1))  # of sqrt(d)/4 to 128


def geometric_mean(values) -> float:
    """Of positive values."""
    return float(np.exp(np.log(values).mean()))


def widest(data: Data):
    """The rows of the largest width."""
    return data[data[WIDTH] == data[WIDTH].max()]


def draw_curves(axes, data: Data, metric: str) -> None:
    """A metric against tokens per ratio, at the largest width: geometric mean over seeds, band from
    lowest to highest."""
    from repro.verdicts.drawing import band, plain_ticks

    data = widest(data)
    found = logs(data, metric)
    for ratio in ratios(data):
        table = np.exp(found[ratio]).droplevel(WIDTH)
        finite = table[np.isfinite(table).all(axis=1)]
        x = np.repeat(finite.index.to_numpy(), finite.shape[1])
        shown = {"marker": "o", "ms": 2.5, "label": label(data, ratio)}
        band(axes, x, finite.to_numpy().ravel(), color(ratio), geometric_mean, **shown)
        if len(finite) < len(table):
            axes.plot([], [], "x", color=color(ratio), label=f"{label(data, ratio)}: diverged")
    axes.set_yscale("log")
    plain_ticks(axes.yaxis)
    plain_ticks(axes.xaxis)
    axes.set_xlabel(f"tokens, d = {data[WIDTH].iloc[0]}")
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


def draw_apart(axes, data: Data, metric: str, words: str) -> None:
    """A metric at sqrt(d) over that at 1 along training: mean over widths with its 95 % interval, a
    thin line a seed. words: of the metric."""
    from repro.statistics import t_interval
    from repro.verdicts import drawing

    found = np.exp(apart(logs(data, metric), RULE, BASELINE))
    finite = found[np.isfinite(found).all(axis=1)]
    axes.plot(found.index, found.where(np.isfinite(found)), "-", lw=0.8, color="0.8", zorder=1)
    means = [t_interval(row) for row in finite.to_numpy()]
    drawing.bars(axes, finite.index, means, fmt="o-", color="black", label="mean, 95 %")
    axes.plot([], [], "-", lw=0.8, color="0.7", label="a seed")
    axes.axhline(1, ls="--", color=drawing.PAPER, lw=1, zorder=0, label="the paper: below 1")
    drawing.legend_above(axes, 3)
    drawing.plain_ticks(axes.xaxis)
    axes.set_xlabel("tokens")
    axes.set_ylabel(words + r", ratio $\sqrt{d}$ over ratio 1")
