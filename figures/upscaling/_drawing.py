"""Curves and sweeps of one architecture under the protocol, drawn: Figures 2 and 4 to 11."""

import math

import numpy as np

from figures.upscaling._runs import (
    LEVEL,
    SMALL,
    best,
    by_stage,
    code_sweep,
    ends,
    printed_share,
    stage_rows,
)
from repro.statistics import t_interval
from repro.verdicts.figure import Data, View

WIDE = {
    "base": "base",
    "scratch": "from scratch",
    "upscaled": "upscaled",
    "upscaled_without_noise": "upscaled, zero noise",
}
BASELINES = {
    "scratch_tuned": "from scratch, own best rate",
    "scratch_long": "from scratch, base's steps added",
}
TUNED = {"upscaled_tuned": "upscaled, tuned at target"}
NAMES = WIDE | BASELINES | TUNED
# From scratch in warm colours, upscaled in blue; dashes and dots tell them apart in grey.
LINES = {
    "base": {"color": "0.6", "ls": "-", "lw": 0.9},
    "scratch": {"color": "C1", "ls": "-", "lw": 2},
    "scratch_tuned": {"color": "C3", "ls": "--", "lw": 1.1},
    "scratch_long": {"color": "0.25", "ls": ":", "lw": 1.1},
    "upscaled_without_noise": {"color": "C9", "ls": "-.", "lw": 1.1},
    "upscaled": {"color": "C0", "ls": "-", "lw": 2},
    "upscaled_tuned": {"color": "C2", "ls": "--", "lw": 1.1},
}
AXIS = {
    "train_loss": "training loss (nats)",
    "valid_loss": "validation loss (nats)",
    "valid_accuracy": "validation accuracy",
}
COMPARED = ("scratch", "upscaled")  # the paper's; their range over seeds is drawn too
CURVES = View("step", "train_loss", {"stage": (*WIDE, "scratch_long")})
ARMS = (
    "Mean over seeds against steps, of from scratch and upscaled with the range (band); a training "
    "loss is the mean since the last point, at step 0 that of the first batch. Where the start of "
    "the curves lies far from the rest, its axis is that of the steps after the first fifth. Base, "
    "wide from scratch and upscaled are the paper's runs. Ours, where they are run: upscaled "
    "without noise, from scratch, each at its own best rate, from scratch with the base's steps "
    "added, and upscaled"
)
MEANING = f"{ARMS} with rate and noise tuned at the target; the ResNet with the rate alone."
ENDS = (
    "Top right: where the training losses end, mean and 95 % interval over seeds; left of it each "
    "curve's line, name and learning rate."
)
EARLY = (
    "Diamond: from where on upscaled is below the loss at which training from scratch ends, with "
    "95 % interval; red: the paper's (F.4)."
)


def final(*settings):
    """A caption's sentence of what final losses are means over."""
    names = {s.over: f" for {s.name}" if settings[1:] else "" for s in settings}
    return f"What a run ends at is {'; '.join(over + name for over, name in names.items())}."


SWEPT = (
    "Heatmaps: final training loss of the small upscaled system over learning rate and noise, one "
    "seed, in % above the map's best. Star: the best. Red circle: what the paper selects, in its "
    "code's convention of noise. Curves: training loss, a mean since the last point, at the best "
    "rate, one a noise level; where a first point lies far above the rest, the axis is cut and the "
    "legend gives it. Last: the end at every noise level, each at its own best rate. The star is "
    "the lowest of many runs of one seed, and lies lower than it would on others (the winner's "
    "curse). Black, where there are other seeds: what is judged, the same settings on these, with "
    "95 % intervals, at no noise, the chosen and the largest. {} ({}.)"
)


def spread(stages, name, metric):
    """Mean and range over all seeds by step; nothing where a seed has diverged."""
    import pandas as pd

    rows = stage_rows(stages, name)
    if metric == "train_loss" and f"{name}_start" in stages:
        # One step, whose training loss is of the batch before it.
        rows = pd.concat([stages[f"{name}_start"].assign(step=0), rows])
    found = rows.groupby("step")[metric]
    found = found.agg([lambda values: values.mean(skipna=False), "min", "max"])
    found.columns = ["mean", "min", "max"]
    return found.where(np.isfinite(found["mean"]))


def lines(stages):
    """Which curves there are: stage -> its line."""
    return {name: line for name, line in LINES.items() if name in stages}


def draw_curve(panel, stages, metric):
    """Base, from scratch and upscaled with baselines against steps: mean, and of COMPARED the range
    over seeds: seven ranges over each other would show none."""
    curves = {name: spread(stages, name, metric) for name in lines(stages)}
    for name, line in lines(stages).items():
        curve = curves[name]
        panel.plot(curve.index, curve["mean"], **line, label=NAMES[name])
        if name in COMPARED:
            shade = {"color": line["color"], "alpha": 0.2, "lw": 0}
            panel.fill_between(curve.index, curve["min"], curve["max"], **shade)
    panel.set_xlabel("step")
    panel.set_ylabel(AXIS[metric])
    leave_out_start(panel, [curve["mean"].dropna() for curve in curves.values()])


def leave_out_start(panel, means):
    """End an axis where the curves are after the first fifth of the steps, if all of them would
    take more than three times as much and squeeze what is compared."""
    start = 0.2 * min((mean.index.max() for mean in means if len(mean)), default=0)
    settled = np.concatenate([mean[mean.index >= start] for mean in means])
    if len(settled) and np.ptp(np.concatenate(means)) > 3 * np.ptp(settled) > 0:
        low, room = settled.min(), np.ptp(settled)
        panel.set_ylim(low - 0.1 * room, low + 1.1 * room)


def draw_ends(panel, stages):
    """Final training loss of every stage, a row each, with its line, rate, and what diverged."""
    from repro.verdicts import drawing

    across = panel.get_yaxis_transform()
    small = {"transform": across, "fontsize": 8}
    for row, (name, line) in enumerate(lines(stages).items()):
        runs = ends(stages, name)
        one = ", one run" if len(runs) == 1 else ""
        panel.text(0.02, row - 0.18, NAMES[name], va="bottom", **small)
        panel.text(0.14, row, f"rate {runs['lr'].iloc[0]:.3g}{one}", va="center", **small)
        panel.plot([0.02, 0.12], [row, row], **line, transform=across)
        found = t_interval(runs["train_loss"])
        if math.isfinite(found[0]):
            drawing.bars(panel, [row], [found], color=line["color"], across=True)
        else:
            lost = f"{(~np.isfinite(runs['train_loss'])).sum()} of {len(runs)} diverged"
            panel.text(0.97, row, lost, ha="right", va="center", **small)
    panel.locator_params(axis="x", nbins=5)
    low, high = panel.get_xlim()
    panel.set_xticks([tick for tick in panel.get_xticks() if low <= tick <= high])
    panel.set_xlim(low - 0.9 * (high - low), high)  # room for the words
    panel.spines.bottom.set_bounds(low, high)
    panel.spines.left.set_visible(False)
    panel.set_yticks([])
    panel.set_ylim(len(lines(stages)) - 0.5, -0.8)
    panel.set_xlabel("final training loss (nats)", loc="right")


def mark_early(panel, stages, setting, share):
    """After how many steps upscaled is where training from scratch ends, measured and printed.

    share: Measurement of how many of all steps that is.
    """
    from repro.verdicts import drawing

    end = ends(stages, "scratch")["train_loss"].mean()
    steps = stages["upscaled"]["step"].max()
    paper = printed_share(setting)
    style = {"ls": "--", "lw": 1, "color": drawing.PAPER, "zorder": 1}
    marks = [panel.axvline(paper * steps, **style, label=f"in the paper at {paper:.0%}")]
    if math.isfinite(share.value) and math.isfinite(end):
        panel.plot([share.value * steps, steps], [end, end], "-", lw=0.8, color="0.4")
        style = {"fmt": "D", "color": LINES["upscaled"]["color"], "zorder": 4}
        style["label"] = f"upscaled reaches scratch's final loss at {share.value:.0%} of its steps"
        found = np.array([[share.value, share.low, share.high]]) * steps
        shown = panel.get_xlim()
        drawing.bars(panel, [end], found, across=True, **style)
        panel.set_xlim(shown)  # an interval of few seeds may be wide
        marks = [*panel.containers, *marks]
    drawing.legend_above(panel, 1, handles=marks, fontsize=8)


def draw_curves(data: Data, setting, scale: str, share=None):
    """Training loss, where it ends, validation loss and accuracy. share: as in `mark_early`."""
    from repro.verdicts import drawing

    stages = by_stage(data, scale)
    figure, axes = drawing.panels(2, 2, width=4.8, height=3.2)
    training, last, loss, accuracy = axes.flat
    draw_curve(training, stages, "train_loss")
    if share:
        mark_early(training, stages, setting, share)
    draw_ends(last, stages)
    draw_curve(loss, stages, "valid_loss")
    draw_curve(accuracy, stages, "valid_accuracy")
    return figure


def draw_sweep(data: Data, setting, scale: str):
    """Sweep 2 as heatmaps, one a noise convention, and curves at the best rate."""
    from repro.verdicts import drawing

    stages = by_stage(data, scale)
    conventions = {"tune_upscaled": "Algorithm 2's noise", "tune_upscaled_code": "the code's noise"}
    maps = {name: ends(stages, name) for name in conventions if name in stages}
    titles = conventions if len(maps) > 1 else {"tune_upscaled": "Sweep 2"}
    shape = {"columns": 2, "rows": 2} if len(maps) > 1 else {"columns": 3}
    figure, axes = drawing.panels(**shape, width=4.6, height=3.5)
    above = {name: above_best(rows, setting) for name, rows in maps.items()}
    steps = shades(np.concatenate([table.to_numpy().ravel() for table in above.values()]))
    shown, (curves, levels) = axes.flat[: len(maps)], axes.flat[len(maps) :]
    for panel, (name, rows) in zip(shown, maps.items(), strict=True):
        image = draw_heatmap(panel, above[name], steps, rows, setting)
        mark_selected(panel, above[name], setting, titles[name], name == code_sweep(stages))
    words = "final training loss above the best, %"
    bar = figure.colorbar(image, ax=[*shown], label=words, extend="both")
    bar.set_ticks(steps, labels=[f"{step:g}" for step in steps], minor=False)
    bar.minorticks_off()
    rows, title = maps["tune_upscaled"], titles["tune_upscaled"]
    draw_levels(curves, stages["tune_upscaled"], rows, setting, title)
    draw_ends_by_level(levels, rows, setting, title)
    if SMALL[0] in stages:
        draw_judged(levels, stages, rows)
    return figure


def on_grid(value):
    """A value of a grid as text: a power of two as such."""
    power = math.log2(value) if value > 0 else 0.5
    return f"$2^{{{round(power)}}}$" if power == round(power) else f"{value:.3g}"


def above_best(rows, setting):
    """Table of a sweep's final losses in % above their lowest, a row a noise level, a column a
    rate; infinite where a run diverged, NaN where there is none."""
    metric = setting.metric_of("tune_upscaled")
    table = rows.pivot(index=LEVEL, columns="lr", values=metric).astype(float)
    lowest = table.where(np.isfinite(table)).min().min()
    return 100 * (table / lowest - 1).where(np.isfinite(table), table)


def shades(above):
    """Values 1, 2, 5, 10, ... of `above_best` from the first to the last shade of logarithmic
    colours: in equal steps of the loss most of a map would have one colour."""
    worse = above[np.isfinite(above) & (above > 0)]
    low, high = np.quantile(worse, [0.02, 0.98]) if len(worse) else (1, 1)
    steps = np.outer(10.0 ** np.arange(-3, 4), [1, 2, 5]).ravel()
    first = max(np.searchsorted(steps, low, side="right") - 1, 0)
    return steps[first : max(np.searchsorted(steps, high), first + 1) + 1]


def draw_heatmap(panel, table, steps, rows, setting):
    """A table of `above_best` in colours from the first of `shades` to the last, the optimum
    starred, diverged cells grey and crossed."""
    from matplotlib.colors import ListedColormap, LogNorm

    values = np.where(np.isfinite(table), table, np.nan)
    norm = LogNorm(steps[0], steps[-1])
    shown = np.maximum(values, steps[0])  # the best is 0, which has no logarithm
    image = panel.imshow(shown, origin="lower", aspect="auto", cmap="viridis", norm=norm)
    infinite = np.isinf(table.to_numpy())
    grey = np.where(infinite, 1.0, np.nan)
    panel.imshow(grey, origin="lower", aspect="auto", cmap=ListedColormap(["0.85"]))
    panel.set_xticks(range(len(table.columns)), map(on_grid, table.columns))
    panel.set_yticks(range(len(table.index)), map(on_grid, table.index))
    if np.isfinite(values).any():
        chosen = best(rows, ["lr", LEVEL], setting.metric_of("tune_upscaled"))
        star = table.columns.get_loc(chosen["lr"]), table.index.get_loc(chosen[LEVEL])
        panel.plot(*star, "*", color="white", ms=14, mec="black", label="best")
    lost = np.argwhere(infinite)
    if len(lost):
        panel.plot(lost[:, 1], lost[:, 0], "x", color="0.3", ms=5, label="diverged")
    if table.isna().to_numpy().any():
        panel.plot([], [], "s", color="white", mec="0.6", label="not run")
    panel.set_xlabel("learning rate (base constant)")
    panel.set_ylabel(setting.noise)
    return image


def mark_selected(panel, table, setting, title, selected):
    """Title and legend of a heatmap, and where the paper's selection lies, if it is in this
    convention of noise; one off the grid is in the legend alone."""
    from repro.verdicts import drawing

    if selected:
        _, lr, noise = setting.selected
        place = [where(v, axis) for v, axis in ((lr, table.columns), (noise, table.index))]
        words = f"paper: {lr:.2g}, {noise:g}"
        ring = {"ms": 10, "mfc": "none", "mec": drawing.PAPER, "mew": 2}
        if None in place:
            place, words = [[], []], f"{words}, off the grid"
        panel.plot(*place, "o", **ring, label=words)
    panel.set_title(title, fontsize=9)
    drawing.legend_above(panel, 3, fontsize=8, markerscale=0.8)


def where(value, grid):
    """The place of a value on a grid, whose values lie at 0, 1, ...; None outside of it."""
    positive = [v for v in grid if v > 0]
    if not positive[0] <= value <= positive[-1]:
        return None
    steps = np.arange(len(positive)) + len(grid) - len(positive)
    return float(np.interp(np.log2(value), np.log2(positive), steps))


def draw_levels(panel, rows, last, setting, title):
    """Training curves at the best learning rate, one a noise level: that of the best thick, that
    without noise dashed. last: the sweep's `ends`."""
    from repro.verdicts import drawing

    chosen = best(last, ["lr", LEVEL], setting.metric_of("tune_upscaled"))
    at_best = rows[rows["lr"] == chosen["lr"]]
    curves = at_best.pivot(index="step", columns=LEVEL, values="train_loss").sort_index()
    finite = curves.where(np.isfinite(curves))
    highest = finite.iloc[1:].max().max()  # of all but the first points
    cut = [level for level in finite if finite[level].iloc[0] > 2 * highest]
    for level, color in drawing.ramp(curves.columns).items():
        label = on_grid(level)
        if level in cut:
            label += f", from {finite[level].iloc[0]:.3g}"
        if not np.isfinite(curves[level].iloc[-1]):
            label += ": diverged"
        line = {"lw": 3 if level == chosen[LEVEL] else 1.2, "ls": "-" if level else "--"}
        panel.plot(finite.index, finite[level], color=color, label=label, **line)
    low, high = finite.min().min(), highest if cut else finite.max().max()
    if cut:
        panel.set_ylim(low - 0.05 * (high - low), 1.05 * high)
    if high > 10 * low:
        panel.set_yscale("log")
        panel.set_ylim(bottom=0.9 * low)
    panel.set_xlabel("step")
    panel.set_ylabel("training loss (nats)")
    panel.set_title(f"{title}, learning rate {on_grid(chosen['lr'])}", fontsize=9)
    drawing.legend_above(panel, 5, title=setting.noise)


def draw_judged(panel, stages, rows):
    """The three noise levels that are judged, over seeds."""
    from repro.verdicts import drawing

    levels = sorted(rows[LEVEL].unique())
    chosen = best(rows, ["lr", LEVEL], "train_loss")[LEVEL]
    for name, place in zip(SMALL, (levels.index(chosen), 0, len(levels) - 1), strict=True):
        found = t_interval(ends(stages, name)["train_loss"])
        if math.isfinite(found[0]):
            label = "judged: other seeds, 95 %" if name == SMALL[0] else None
            drawing.bars(panel, [place + 0.15], [found], color="black", label=label)
    drawing.legend_above(panel, 2, markerscale=0.8)


def draw_ends_by_level(panel, rows, setting, title):
    """Final loss against the noise level, each at its own best rate: what is judged."""
    from repro.verdicts import drawing

    lowest = rows.groupby(LEVEL)[setting.metric_of("tune_upscaled")].min()
    found = lowest.where(np.isfinite(lowest)).to_numpy()
    places = np.arange(len(found))
    panel.plot(places, found, "o-", ms=5, color="C0", label="one seed, of the sweep")
    drawing.diverged(panel, places[np.isnan(found)], "C0")
    if np.isfinite(found).any():
        panel.axhline(found[0], ls=":", lw=1, color="0.5", label="at zero noise")
        star = {"ms": 14, "color": "white", "mec": "black", "ls": "none"}
        star["label"] = "chosen as the lowest (winner's curse)"
        panel.plot(np.nanargmin(found), np.nanmin(found), "*", **star)
        high = np.nanquantile(found, 0.8)
        if np.nanmax(found) > 3 * high:
            panel.set_yscale("log")
    panel.set_xticks(places, map(on_grid, lowest.index))
    panel.set_xlabel(setting.noise)
    panel.set_ylabel("final training loss (nats)")
    panel.set_title(f"{title}, each at its own best rate", fontsize=9)
    drawing.legend_above(panel, 2, markerscale=0.8)
