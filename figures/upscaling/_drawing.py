"""Curves and sweeps of one architecture under the protocol, drawn: Figures 2 and 4 to 11."""

import numpy as np

from figures.upscaling._runs import LEVEL, LOSS, best, by_stage, diverged, stage_rows
from repro.judge.tables import last_step
from repro.judge.view import View

WIDE = {
    "base": "base",
    "scratch": "wide, from scratch",
    "upscaled": "upscaled",
    "upscaled_without_noise": "upscaled, zero noise,\nat its own best rate",
}
BASELINES = {
    "scratch_tuned": "wide, from scratch,\nat its own best rate, one run",
    "scratch_long": "the same, base's steps added",
}
AXIS = {
    "train_loss": "training loss (nats)",
    "valid_loss": "validation loss (nats)",
    "valid_accuracy": "validation accuracy",
}
CURVES = View("step", "train_loss", {"stage": (*WIDE, "scratch_long")})
MEANING = (
    "Mean, and range over seeds (band), against steps; a training loss is the mean since the last "
    "point. Solid: the paper's runs and upscaling without noise at its own best rate. Dashed, "
    "ours: from scratch at its own best rate, the one run of the sweep over rates, and the same "
    "with the base's steps added."
)
SWEPT = (
    "Heatmaps: final {} loss of the small upscaled system over learning rate and noise, one seed, "
    "the best starred; colours end at the 80 % quantile. Right: training loss, a mean since the "
    "last point, at the best rate, one curve a noise level; where a first point lies far above "
    "the rest, the axis is cut and the legend gives it ({})."
)


def spread(stages, name, metric, setting):
    """Mean and range over all seeds by step; nothing where a seed has diverged."""
    found = stage_rows(stages, name, setting.metric).groupby("step")[metric]
    found = found.agg([lambda values: values.mean(skipna=False), "min", "max"])
    found.columns = ["mean", "min", "max"]
    return found.where(np.isfinite(found["mean"]))


def draw_curve(panel, stages, metric, setting):
    """Base, from scratch and upscaled with baselines against steps: mean, and range over seeds."""
    from repro.judge import drawing

    for color, (name, words) in zip(drawing.COLORS, (WIDE | BASELINES).items(), strict=False):
        curve = spread(stages, name, metric, setting)
        style = "--" if name in BASELINES else "-"
        panel.plot(curve.index, curve["mean"], style, color=color, label=words, lw=1.4)
        panel.fill_between(curve.index, curve["min"], curve["max"], color=color, alpha=0.2, lw=0)
    panel.set_xlabel("step")
    panel.set_ylabel(AXIS[metric])


def rates(stages, setting):
    """The learning rates behind the curves, in words, and what diverged."""
    scratch, tuned, up, quiet = (
        stage_rows(stages, name, setting.metric)["lr"].iloc[0]
        for name in ("scratch", "scratch_tuned", "upscaled", "upscaled_without_noise")
    )
    own = "the same" if tuned == scratch else f"{tuned:.3g}"
    words = f"rates: from scratch {scratch:.3g}, its own best {own},\n"
    words += f"upscaled {up:.3g}, at zero noise {quiet:.3g}"
    lost = diverged(stages, *WIDE, "scratch_long")
    return f"{words}\n{lost}" if lost else words


def legend_beside(panel):
    """One legend for a row of panels, beside the last."""
    panel.legend(loc="upper left", bbox_to_anchor=(1.02, 1), fontsize=7)


def zoomed(stages, setting):
    """Limits that show where the training losses end; None where they would show most of all."""
    curves = [spread(stages, n, "train_loss", setting).dropna() for n in WIDE | BASELINES]
    curves = [curve for curve in curves if len(curve)]
    if not curves:
        return None
    ends = [curve["mean"].iloc[-1] for curve in curves]
    bottom, top = min(c["min"].min() for c in curves), max(c["max"].max() for c in curves)
    room = 0.25 * (max(ends) - min(ends)) + 1e-3 * max(ends)
    low, high = max(bottom, min(ends) - room), min(top, max(ends) + 3 * room)
    return (low - 0.03 * (high - low), high) if high - low < 0.6 * (top - bottom) else None


def draw_curves(data, setting):
    """Training loss (whole, and zoomed on the end where that shows more), validation loss and
    accuracy."""
    from repro.judge import drawing

    stages = by_stage(data)
    zoom = zoomed(stages, setting)
    shown_as = [("train_loss", None), *([("train_loss", zoom)] if zoom else [])]
    shown_as += [("valid_loss", None), ("valid_accuracy", None)]
    figure, axes = drawing.panels(len(shown_as), width=4.1)
    for panel, (metric, ends) in zip(axes[0], shown_as, strict=True):
        draw_curve(panel, stages, metric, setting)
        if ends:
            panel.set_ylim(*ends)
            panel.set_ylabel(f"{AXIS[metric]}, zoomed")
    axes[0, 0].set_title(rates(stages, setting), fontsize=7.5)
    legend_beside(axes[0, -1])
    return figure


def draw_sweep(data, setting):
    """Sweep 2 as heatmaps, one a noise convention, and curves at the best rate."""
    from repro.judge import drawing

    stages = by_stage(data)
    conventions = {"tune_upscaled": "Algorithm 2's noise", "tune_upscaled_code": "the code's noise"}
    found = [name for name in conventions if name in stages]
    titles = conventions if len(found) > 1 else {"tune_upscaled": "Sweep 2"}
    figure, axes = drawing.panels(len(found) + 1, width=4.6, height=3.8)
    for panel, name in zip(axes[0], found, strict=False):
        draw_heatmap(figure, panel, stage_rows(stages, name), setting, titles[name])
    draw_levels(axes[0, -1], stage_rows(stages, "tune_upscaled"), setting, titles["tune_upscaled"])
    return figure


def draw_heatmap(figure, panel, rows, setting, title):
    """Final loss over learning rate and noise, the optimum starred, diverged cells crossed."""
    from matplotlib.colors import ListedColormap

    metric = setting.metric
    table = last_step(rows).pivot(index=LEVEL, columns="lr", values=metric)
    values = np.where(np.isfinite(table), table, np.nan)
    chosen = best(rows, ["lr", LEVEL], metric)
    top = np.nanquantile(values, 0.8) if np.isfinite(values).any() else None
    image = panel.imshow(values, origin="lower", aspect="auto", cmap="viridis", vmax=top)
    never = np.where(np.isnan(table), 1.0, np.nan)
    panel.imshow(never, origin="lower", aspect="auto", cmap=ListedColormap(["0.85"]))
    figure.colorbar(image, ax=panel, label=f"final {LOSS[metric]} loss (nats)", extend="max")
    panel.set_xticks(range(len(table.columns)), [f"{v:.3g}" for v in table.columns], rotation=60)
    panel.set_yticks(range(len(table.index)), [f"{v:.3g}" for v in table.index])
    star = table.columns.get_loc(chosen["lr"]), table.index.get_loc(chosen[LEVEL])
    if np.isfinite(values).any():
        panel.plot(*star, "*", color="red", ms=13, mec="white")
    panel.set_xlabel("learning rate (base constant)")
    panel.set_ylabel(setting.noise)
    notes = ["star: best"]
    lost = np.argwhere(np.isinf(table.to_numpy(float)))
    panel.plot(lost[:, 1], lost[:, 0], "x", color="0.5", ms=5)
    notes += ["cross: diverged"] if len(lost) else []
    notes += ["grey: not run"] if np.isfinite(never).any() else []
    panel.set_title(f"{title} ({', '.join(notes)})", fontsize=8)


def draw_levels(panel, rows, setting, title):
    """Training curves at the best learning rate, one a noise level."""
    from repro.judge import drawing

    chosen = best(rows, ["lr", LEVEL], setting.metric)
    at_best = rows[rows["lr"] == chosen["lr"]]
    curves = at_best.pivot(index="step", columns=LEVEL, values="train_loss").sort_index()
    finite = curves.where(np.isfinite(curves))
    highest = finite.iloc[1:].max().max()  # of all but the first points
    cut = [level for level in finite if finite[level].iloc[0] > 2 * highest]
    colors = drawing.sns.color_palette("viridis", len(curves.columns))
    for color, level in zip(colors, curves, strict=True):
        label = f"{level:.3g}"
        if level in cut:
            label += f", from {finite[level].iloc[0]:.3g}"
        if not np.isfinite(curves[level].iloc[-1]):
            label += ": diverged"
        panel.plot(finite.index, finite[level], color=color, label=label)
    low, high = finite.min().min(), highest if cut else finite.max().max()
    if cut:
        panel.set_ylim(low - 0.05 * (high - low), 1.05 * high)
    if high > 10 * low:
        panel.set_yscale("log")
        panel.set_ylim(bottom=0.9 * low)
    panel.set_xlabel("step")
    panel.set_ylabel("training loss (nats)")
    panel.set_title(f"{title}, learning rate {chosen['lr']:.3g}", fontsize=8)
    panel.legend(
        title=setting.noise,
        fontsize=6.5,
        title_fontsize=7,
        loc="upper left",
        bbox_to_anchor=(1.02, 1),
    )
