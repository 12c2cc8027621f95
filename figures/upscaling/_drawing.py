"""Curves and sweeps of one architecture under the protocol, drawn: Figures 2 and 4 to 11."""

import math

import numpy as np

from figures.upscaling._runs import (
    LEVEL,
    SMALL,
    best,
    by_stage,
    code_sweep,
    printed_share,
    stage_rows,
)
from repro.judge.figure import View
from repro.judge.tables import last_step
from repro.statistics import t_interval

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
    "scratch_tuned": {"color": "C3", "ls": "--", "lw": 1.6},
    "scratch_long": {"color": "0.25", "ls": ":", "lw": 1.6},
    "upscaled_without_noise": {"color": "C9", "ls": "-.", "lw": 1.6},
    "upscaled": {"color": "C0", "ls": "-", "lw": 2},
    "upscaled_tuned": {"color": "C2", "ls": "--", "lw": 1.6},
}
AXIS = {
    "train_loss": "training loss (nats)",
    "valid_loss": "validation loss (nats)",
    "valid_accuracy": "validation accuracy",
}
CURVES = View("step", "train_loss", {"stage": (*WIDE, "scratch_long")})
ARMS = (
    "Mean, and range over seeds (band), against steps; a training loss is the mean since the last "
    "point, at step 0 that of the first batch. Base, wide from scratch and upscaled are the "
    "paper's runs. Ours: upscaled without noise, from scratch, each at its own best rate, from "
    "scratch with the base's steps added, and upscaled"
)
MEANING = f"{ARMS} with rate and noise tuned at the target."
ENDS = (
    "Top right: where the training losses end, mean and 95 % interval over seeds; left of it each "
    "curve's line, name and learning rate."
)
EARLY = (
    "Diamond: where upscaled reaches the loss at which training from scratch ends, with 95 % "
    "interval; red: the paper's (F.4)."
)
SWEPT = (
    "Heatmaps: final training loss of the small upscaled system over learning rate and noise, one "
    "seed; colours end at the 80 % quantile. Star: the best. Red circle: what the paper selects, "
    "in its code's convention of noise. Curves: training loss, a mean since the last point, at the "
    "best rate, one a noise level; where a first point lies far above the rest, the axis is cut "
    "and the legend gives it. Last: the end at every noise level, each at its own best rate; with "
    "95 % intervals over other seeds, where there are some, none, the best and the largest ({})."
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


def lines(setting):
    """Which curves there are: stage -> its line."""
    return {name: line for name, line in LINES.items() if setting.target or name not in TUNED}


def draw_curve(panel, stages, metric, setting):
    """Base, from scratch and upscaled with baselines against steps: mean, and range over seeds."""
    for name, line in lines(setting).items():
        curve = spread(stages, name, metric)
        panel.plot(curve.index, curve["mean"], **line, label=NAMES[name])
        shade = {"color": line["color"], "alpha": 0.2, "lw": 0}
        panel.fill_between(curve.index, curve["min"], curve["max"], **shade)
    panel.set_xlabel("step")
    panel.set_ylabel(AXIS[metric])


def draw_ends(panel, stages, setting):
    """Final training loss of every stage, a row each, with its line, rate, and what diverged."""
    from repro.judge import drawing

    across = panel.get_yaxis_transform()
    small = {"transform": across, "fontsize": 8}
    for row, (name, line) in enumerate(lines(setting).items()):
        runs = last_step(stage_rows(stages, name))
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
    panel.set_ylim(len(lines(setting)) - 0.5, -0.8)
    panel.set_xlabel("final training loss (nats)", loc="right")


def mark_early(panel, stages, setting, share):
    """After how many steps upscaled is where training from scratch ends, measured and printed.

    share: Measurement of how many of all steps that is.
    """
    from repro.judge import drawing

    end = last_step(stages["scratch"])["train_loss"].mean()
    steps = last_step(stages["upscaled"])["step"].max()
    paper = printed_share(setting)
    style = {"ls": "--", "lw": 1, "color": drawing.PAPER, "zorder": 1}
    marks = [panel.axvline(paper * steps, **style, label=f"in the paper: {paper:.0%}")]
    if math.isfinite(share.value) and math.isfinite(end):
        panel.plot([share.value * steps, steps], [end, end], "-", lw=0.8, color="0.4")
        style = {"fmt": "D", "color": LINES["upscaled"]["color"], "zorder": 4}
        style["label"] = f"loss from scratch reached after {share.value:.0%} of the steps"
        found = np.array([[share.value, share.low, share.high]]) * steps
        shown = panel.get_xlim()
        drawing.bars(panel, [end], found, across=True, **style)
        panel.set_xlim(shown)  # an interval of few seeds may be wide
        marks = [*panel.containers, *marks]
    panel.legend(handles=marks, fontsize=8)


def draw_curves(data, setting, share=None):
    """Training loss, where it ends, validation loss and accuracy. share: as in `mark_early`."""
    from repro.judge import drawing

    stages = by_stage(data)
    figure, axes = drawing.panels(2, 2, width=4.8, height=3.2)
    training, ends, loss, accuracy = axes.flat
    draw_curve(training, stages, "train_loss", setting)
    if share:
        mark_early(training, stages, setting, share)
    draw_ends(ends, stages, setting)
    draw_curve(loss, stages, "valid_loss", setting)
    draw_curve(accuracy, stages, "valid_accuracy", setting)
    return figure


def draw_sweep(data, setting):
    """Sweep 2 as heatmaps, one a noise convention, and curves at the best rate."""
    from repro.judge import drawing

    stages = by_stage(data)
    conventions = {"tune_upscaled": "Algorithm 2's noise", "tune_upscaled_code": "the code's noise"}
    found = [name for name in conventions if name in stages]
    titles = conventions if len(found) > 1 else {"tune_upscaled": "Sweep 2"}
    shape = {"columns": 2, "rows": 2} if len(found) > 1 else {"columns": 3}
    figure, axes = drawing.panels(**shape, width=4.6, height=3.5)
    for panel, name in zip(axes.flat, found, strict=False):
        rows = stage_rows(stages, name)
        draw_heatmap(figure, panel, rows, setting, titles[name], name == code_sweep(stages))
    curves, levels = axes.flat[len(found) :]
    rows, title = stage_rows(stages, "tune_upscaled"), titles["tune_upscaled"]
    draw_levels(curves, rows, setting, title)
    draw_ends_by_level(levels, rows, setting, title)
    if SMALL[0] in stages:
        draw_judged(levels, stages, rows)
    return figure


def on_grid(value):
    """A value of a grid as text: a power of two as such."""
    power = math.log2(value) if value > 0 else 0.5
    return f"$2^{{{round(power)}}}$" if power == round(power) else f"{value:.3g}"


def draw_heatmap(figure, panel, rows, setting, title, selected):
    """Final loss over learning rate and noise, the optimum starred, diverged cells grey and
    crossed. selected: whether the paper's selection is in this convention of noise."""
    from matplotlib.colors import ListedColormap

    from repro.judge import drawing

    metric = setting.metric_of("tune_upscaled")
    table = last_step(rows).pivot(index=LEVEL, columns="lr", values=metric)
    values = np.where(np.isfinite(table), table, np.nan)
    top = np.nanquantile(values, 0.8) if np.isfinite(values).any() else None
    image = panel.imshow(values, origin="lower", aspect="auto", cmap="viridis", vmax=top)
    infinite = np.isinf(table.to_numpy(float))
    grey = np.where(infinite, 1.0, np.nan)
    panel.imshow(grey, origin="lower", aspect="auto", cmap=ListedColormap(["0.85"]))
    figure.colorbar(image, ax=panel, label="final training loss (nats)", extend="max")
    panel.set_xticks(range(len(table.columns)), map(on_grid, table.columns))
    panel.set_yticks(range(len(table.index)), map(on_grid, table.index))
    if np.isfinite(values).any():
        chosen = best(rows, ["lr", LEVEL], metric)
        star = table.columns.get_loc(chosen["lr"]), table.index.get_loc(chosen[LEVEL])
        panel.plot(*star, "*", color="white", ms=14, mec="black", label="best")
    lost = np.argwhere(infinite)
    if len(lost):
        panel.plot(lost[:, 1], lost[:, 0], "x", color="0.3", ms=5, label="diverged")
    if table.isna().to_numpy().any():
        panel.plot([], [], "s", color="white", mec="0.6", label="not run")
    if selected:
        _, lr, noise = setting.selected
        place = [where(v, axis) for v, axis in ((lr, table.columns), (noise, table.index))]
        inside = None not in place
        ring = {"ms": 10, "mfc": "none", "mec": drawing.PAPER, "mew": 2}
        words = f"paper: {lr:.2g}, {noise:g}{'' if inside else ' (off the grid)'}"
        shown = [[x] for x in place] if inside else [[], []]
        marker = "o" if inside else "none"
        panel.plot(*shown, **ring, marker=marker, ls="none", label=words)
    panel.set_xlabel("learning rate (base constant)")
    panel.set_ylabel(setting.noise)
    panel.set_title(title, fontsize=9, pad=20)
    above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 3, "columnspacing": 1}
    panel.legend(fontsize=8, handletextpad=0.2, **above)


def where(value, grid):
    """The place of a value on a grid, whose values lie at 0, 1, ...; None outside of it."""
    positive = [v for v in grid if v > 0]
    if not positive[0] <= value <= positive[-1]:
        return None
    steps = np.arange(len(positive)) + len(grid) - len(positive)
    return float(np.interp(np.log2(value), np.log2(positive), steps))


def draw_levels(panel, rows, setting, title):
    """Training curves at the best learning rate, one a noise level: that of the best thick, that
    without noise dashed."""
    from repro.judge import drawing

    chosen = best(rows, ["lr", LEVEL], setting.metric_of("tune_upscaled"))
    at_best = rows[rows["lr"] == chosen["lr"]]
    curves = at_best.pivot(index="step", columns=LEVEL, values="train_loss").sort_index()
    finite = curves.where(np.isfinite(curves))
    highest = finite.iloc[1:].max().max()  # of all but the first points
    cut = [level for level in finite if finite[level].iloc[0] > 2 * highest]
    colors = drawing.sns.color_palette("viridis", len(curves.columns))
    for color, level in zip(colors, curves, strict=True):
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
    panel.legend(title=setting.noise, fontsize=7.5, title_fontsize=8, ncols=2, loc="upper right")


def draw_judged(panel, stages, rows):
    """The three noise levels that are judged, over seeds."""
    from repro.judge import drawing

    levels = sorted(rows[LEVEL].unique())
    chosen = best(rows, ["lr", LEVEL], "train_loss")[LEVEL]
    for name, place in zip(SMALL, (levels.index(chosen), 0, len(levels) - 1), strict=True):
        found = t_interval(last_step(stages[name])["train_loss"])
        if math.isfinite(found[0]):
            label = "judged: other seeds, 95 %" if name == next(iter(SMALL)) else None
            drawing.bars(panel, [place + 0.15], [found], color="C1", label=label)
    panel.set_title(panel.get_title(), fontsize=9)
    drawing.legend_above(panel, 3)


def draw_ends_by_level(panel, rows, setting, title):
    """Final loss against the noise level, each at its own best rate: what is judged."""
    from repro.judge import drawing

    lowest = last_step(rows).groupby(LEVEL)[setting.metric_of("tune_upscaled")].min()
    ends = lowest.where(np.isfinite(lowest)).to_numpy()
    places = np.arange(len(ends))
    panel.plot(places, ends, "o-", ms=5, color="C0", label="the sweep's one seed")
    drawing.diverged(panel, places[np.isnan(ends)], "C0")
    if np.isfinite(ends).any():
        panel.axhline(ends[0], ls=":", lw=1, color="0.5", label="at zero noise")
        star = {"ms": 14, "color": "white", "mec": "black", "ls": "none", "label": "its best"}
        panel.plot(np.nanargmin(ends), np.nanmin(ends), "*", **star)
        high = np.nanquantile(ends, 0.8)
        if np.nanmax(ends) > 3 * high:
            panel.set_yscale("log")
    panel.set_xticks(places, map(on_grid, lowest.index))
    panel.set_xlabel(setting.noise)
    panel.set_ylabel("final training loss (nats)")
    panel.set_title(f"{title}, each at its own best rate", fontsize=9)
    drawing.legend_above(panel, 3)
