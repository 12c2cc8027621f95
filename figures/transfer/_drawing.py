"""Panels of the figures of transfer."""

from typing import Any

import numpy as np

from figures.transfer._losses import ORDER, WORKLOADS, Losses
from repro.statistics import t_interval
from repro.verdicts.figure import Drawn

COLUMNS = 3  # of panels, one a workload


def workload_panels(number: int, **size: Any) -> tuple[Drawn, list[Any]]:
    """(figure, axes) of one panel a workload, in rows of COLUMNS; what is left over is empty."""
    from repro.verdicts import drawing

    columns = min(number, COLUMNS)
    figure, axes = drawing.panels(columns, -(-number // columns), **size)
    for place in axes.flat[number:]:
        place.axis("off")
    return figure, [*axes.flat[:number]]


def short_interval(values: np.ndarray) -> tuple[float, float]:
    """Distances of the ends of a 95 % interval from the mean; 0 where there is none."""
    mean, low, high = t_interval(values)
    return (mean - low, high - mean) if np.isfinite(low) else (0.0, 0.0)


def show(axes: Any, low: float, high: float) -> None:
    """Set the limits of the losses, unless all runs diverged or ended alike."""
    if np.isfinite(low) and np.isfinite(high) and low < high:
        axes.set_ylim(low, high)


def mark_cut(axes: Any, x: Any, low: Any, high: Any, color: Any) -> None:
    """Arrows where intervals of few seeds, far wider than all else that is drawn, go on beyond the
    panel."""
    bottom, top = axes.get_ylim()
    for edge, mark, beyond in ((bottom, "v", low < bottom), (top, "^", high > top)):
        at = np.asarray(x)[beyond]
        (arrows,) = axes.plot(at, [edge] * len(at), mark, ms=3, color=color, clip_on=False)
        arrows.set_in_layout(False)  # they belong to the panel's edge


def draw_shift(workloads: dict[str, Losses], small: bool = False) -> Drawn:
    """The best rate against the width, a panel a workload. small: in a small picture."""
    from repro.verdicts import drawing

    names = [n for n in ORDER if any(n in losses.names for losses in workloads.values())]
    width = drawing.SMALL_INCHES if small else 3.1
    figure, axes = workload_panels(len(workloads), width=width, height=2.6)
    for place, (workload, losses) in zip(axes, workloads.items(), strict=True):
        draw_optima(place, losses, names)
        drawing.log2_axis(place.xaxis)
        place.set_title(WORKLOADS[workload], fontsize=9)
        place.set_xlabel("width")
        place.set_ylabel("best learning rate")
    found = [place.get_legend_handles_labels() for place in axes]
    named = {word: mark for marks, words in found for mark, word in zip(marks, words, strict=True)}
    if named:
        look = {"handles": [*named.values()], "labels": [*named]}
        drawing.legend_above(axes[0], 2, fontsize=6, **look)
    return figure


def draw_optima(axes: Any, losses: Losses, names: list[str]) -> None:
    """Best rate against width under every parametrization, with guides."""
    from repro.verdicts.drawing import COLORS, log2_axis

    widths = np.array(losses.widths, float)
    start = 2 ** losses.curves[losses.names[0], losses.base].vertices().mean()
    axes.set_xscale("log", base=2)
    if not np.isfinite(start):
        axes.text(0.5, 0.5, "no minimum\ninside", ha="center", transform=axes.transAxes, fontsize=7)
        return
    shown, intervals = [], []
    for i, name in enumerate(names):
        if name not in losses.names:
            continue
        optima = [losses.curves[name, width].vertices() for width in losses.widths]
        centre = np.array([each.mean() for each in optima])
        ends = np.array([short_interval(each) for each in optima]).T
        low, high = 2**centre - 2 ** (centre - ends[0]), 2 ** (centre + ends[1]) - 2**centre
        place = widths * 2 ** (0.06 * (i - len(names) / 2))
        shown.append(2**centre)
        intervals.append((place, 2**centre - low, 2**centre + high, COLORS[i]))
        axes.errorbar(
            place, 2**centre, (low, high), fmt="o-", ms=3, lw=1, color=COLORS[i], label=name
        )
        lacking = place[~np.isfinite(centre)]
        if len(lacking):
            edge = {"transform": axes.get_xaxis_transform(), "color": COLORS[i]}
            axes.plot(lacking, [0.03] * len(lacking), "x", ms=5, **edge)
            axes.plot([], [], "x", ms=5, color="0.3", label="no minimum inside the grid")
    flat, falling = np.full(len(widths), start), start * widths[0] / widths
    axes.plot(widths, flat, ":", color="0.3", lw=1, label="the same at every width")
    axes.plot(widths, falling, "-.", color="0.3", lw=1, label="1 / width")
    axes.set_yscale("log", base=2)
    drawn = np.concatenate([*shown, flat, falling])
    axes.set_ylim(drawn[np.isfinite(drawn)].min() / 2, 2 * drawn[np.isfinite(drawn)].max())
    for interval in intervals:
        mark_cut(axes, *interval)
    log2_axis(axes.yaxis)
