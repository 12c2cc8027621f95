"""Panels of the figures of transfer."""

from functools import partial

import numpy as np

from figures.transfer._losses import ORDER, WORKLOADS, Losses
from repro.statistics import t_interval
from repro.verdicts.words import INCONCLUSIVE

COLUMNS = 3  # of panels, one a workload
CUT = 130  # % of the width's gain lost at which an axis ends
PARTS = ("by the parametrization", "for want of retuning")


def workload_panels(number: int, **size):
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


def show(axes, low: float, high: float) -> None:
    """Set the limits of the losses, unless all runs diverged or ended alike."""
    if np.isfinite(low) and np.isfinite(high) and low < high:
        axes.set_ylim(low, high)


def mark_cut(axes, x, low, high, color) -> None:
    """Arrows where intervals of few seeds, far wider than all else that is drawn, go on beyond the
    panel."""
    bottom, top = axes.get_ylim()
    for edge, mark, beyond in ((bottom, "v", low < bottom), (top, "^", high > top)):
        at = np.asarray(x)[beyond]
        (arrows,) = axes.plot(at, [edge] * len(at), mark, ms=3, color=color, clip_on=False)
        arrows.set_in_layout(False)  # they belong to the panel's edge


def name_marks(axes) -> None:
    """Put what `draw_bowls` marks into a panel's legend."""
    axes.plot([], [], "o", ms=6, mfc="none", color="0.3", label="best of a width")
    axes.plot([], [], ":", color="0.3", lw=1, label="best of the narrowest")


def draw_shift(workloads: dict[str, Losses], small: bool = False):
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


def draw_bowls(axes, losses: Losses, name: str) -> None:
    """Loss against learning rate at every width; runs that diverged are left out.

    Rings: the curve's minimum, a parabola through the rates within an octave of the best.
    """
    from repro.verdicts.drawing import band, ramp

    for width, color in ramp(losses.widths).items():
        sweep = losses.curves[name, width]
        rates, found = sweep.rates, sweep.losses
        shown = np.isfinite(found).all(0)
        x, y = np.tile(rates[shown], len(found)), found[:, shown].ravel()
        band(axes, x, y, color, marker="o", ms=2, lw=1, label=f"width {width:g}")
        mean = found[:, shown].mean(0)
        best = 2 ** sweep.optimum(inside=False)
        if np.isfinite(best):
            height = np.interp(np.log2(best), np.log2(rates[shown]), mean)
            axes.plot(best, height, "o", ms=6, mfc="none", mew=1, color=color)
    axes.axvline(losses.proxy_rate(), ls=":", color="0.3", lw=1)
    axes.set_xscale("log", base=2)


def draw_optima(axes, losses: Losses, names: list[str]) -> None:
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


def draw_lost(place, losses: Losses, words: str) -> None:
    """A bar a parametrization, the best at the top: what is lost of the width's gain. All panels
    have one axis; a bar that goes on beyond it ends in an arrow with its number.

    words: the workload's name."""
    from repro.verdicts.drawing import COLORS

    gain, widest = losses.gain(), losses.widest
    shares = {
        name: [
            100 * each.mean() / gain for each in (losses.penalty(name), losses.regret(name, widest))
        ]
        for name in losses.names
    }
    found = {name: sum(parts) for name, parts in shares.items()}
    total = {name: end if np.isfinite(end) else np.inf for name, end in found.items()}
    order = sorted(losses.names, key=lambda name: -total[name])
    for y, name in enumerate(order):
        if not np.isfinite(total[name]):
            place.text(1, y, INCONCLUSIVE, va="center", fontsize=7, color="0.4")
            continue
        (penalty, regret), end = shares[name], total[name]
        mean, low, high = losses.interval(partial(losses.lost, name))
        looks = ({"color": COLORS[0], "alpha": 0.35}, {"color": COLORS[3], "left": penalty})
        for part, label, look in zip((penalty, regret), PARTS, looks, strict=True):
            known = place.get_legend_handles_labels()[1]
            # Named is what is seen.
            place.barh(y, part, label=None if part < 1 or label in known else label, **look)
        if np.isfinite([mean, low, high]).all():
            error = np.array([[mean - low], [high - mean]])
            place.errorbar(mean, y, xerr=error, fmt="none", ecolor="0.2", lw=1, capsize=2)
        if end > CUT:
            look = {"ha": "right", "va": "top", "fontsize": 7, "color": "white"}
            place.text(0.96 * CUT, y - 0.1, f"{end:.0f} \N{RIGHTWARDS ARROW}", **look)
        elif end < 1:
            place.plot(end, y, "o", ms=4, color="0.2")
    place.set_xlim(-10, CUT)
    place.set_yticks(range(len(order)), order, fontsize=8)
    place.axvline(0, color="0.3", lw=0.8)
    place.axvline(100, color="0.7", lw=0.8, ls=":")
    place.set_title(f"{words}, width {losses.base:g} to {widest:g}", fontsize=9)
    place.set_xlabel(f"% of {gain:.3f} nats lost", fontsize=8)


def draw_optimizer(workloads: dict[str, Losses]):
    """Bowls and what is lost, a row a workload. Keys are the workloads' names in the figure."""
    from repro.verdicts import drawing

    figure, axes = drawing.panels(3, len(workloads), width=2.9, height=2.6)
    for row, (words, losses) in zip(axes, workloads.items(), strict=True):
        means = np.concatenate([found.mean() for found in losses.curves.values()])
        low, high = means.min(), means[np.isfinite(means)].max(initial=-np.inf)
        room = min(3 * abs(losses.gain()), high - low)  # worse losses are cut off
        for place, name in zip(row, losses.names, strict=False):
            draw_bowls(place, losses, name)
            show(place, low - 0.1 * room, low + 1.05 * room)
            drawing.log2_axis(place.xaxis)
            place.set_title(f"{words}, {name}", fontsize=9)
            place.set_xlabel("learning rate")
        row[0].set_ylabel("loss (nats)")
        name_marks(row[0])
        drawing.legend_above(row[0], 2)
        draw_lost(row[-1], losses, words)
        if row[-1].get_legend_handles_labels()[1]:
            drawing.legend_above(row[-1], 1)
    return figure


def draw_anatomy(arms: dict[str, dict[str, Losses]], words: dict[str, str], names):
    """The largest width's loss at the transferred rate, a panel a workload, a pair an arm.

    arms: arm -> workload -> losses. words: arm -> its name in the figure. names: parametrizations.
    """
    from repro.verdicts import drawing

    workloads = next(iter(arms.values()))
    figure, axes = workload_panels(len(workloads), width=3.1, height=2.5)
    for place, workload in zip(axes, workloads, strict=True):
        draw_pairs(place, {words[arm]: arms[arm][workload] for arm in words}, names)
        losses = arms["tuned"][workload]
        title = f"{WORKLOADS[workload]}, {losses.base:g} to {losses.widest:g}"
        place.set_title(title, fontsize=9)
        place.set_ylabel("loss (nats)")
    drawing.legend_above(axes[0], 2)
    return figure


def draw_pairs(place, arms: dict[str, Losses], names) -> None:
    """A pair of parametrizations an arm: the loss at the transferred rate, what retuning would make
    of it, and between them the regret; the narrow model's loss as dashes."""
    from repro.verdicts.drawing import COLORS

    shown: list[float] = []
    intervals: list[tuple[float, float, float]] = []  # place, low, high
    for left, losses in zip((0.0, 2.5), arms.values(), strict=True):
        first = left == 0.0  # names each mark once
        narrow = float(losses.tuned(losses.names[0], losses.base).mean())
        label = "narrow, tuned" if first else None
        place.plot([left - 0.5, left + 1.5], [narrow] * 2, "--", color="0.3", lw=1, label=label)
        shown.append(narrow)
        for k, name in enumerate(names):
            x, ends = left + k, losses.transferred(name, losses.widest)
            tuned, end = float(losses.tuned(name, losses.widest).mean()), float(ends.mean())
            below, above = short_interval(ends)
            if not np.isfinite(end):
                place.text(x, 0.5, "diverged", rotation=90, transform=place.get_xaxis_transform())
                continue
            marked = first and k == 0
            place.plot(
                [x, x],
                [tuned, end],
                color=COLORS[3],
                lw=5,
                solid_capstyle="butt",
                label="regret" if marked else None,
            )
            place.plot(
                x,
                tuned,
                "o",
                mfc="white",
                color=COLORS[0],
                ms=6,
                label="wide, retuned" if marked else None,
            )
            place.errorbar(
                x,
                end,
                yerr=[[below], [above]],
                fmt="o",
                ms=4,
                color="black",
                lw=1,
                capsize=2,
                label="wide, narrow's rate" if marked else None,
            )
            shown += [tuned, end]
            intervals.append((x, end - below, end + above))
    room = max(shown) - min(shown)
    low, high = min(shown) - 0.6 * room, max(shown) + 0.6 * room
    shown += [value for _, *ends in intervals for value in ends if low <= value <= high]
    show(place, min(shown) - 0.05 * room, max(shown) + 0.05 * room)
    at, lows, highs = np.array(intervals).reshape(-1, 3).T
    mark_cut(place, at, lows, highs, "black")
    place.set_xlim(-0.7, 4.2)
    ticks = [f"{name}\n{arm}" if name == names[0] else name for arm in arms for name in names]
    place.set_xticks([0, 1, 2.5, 3.5], ticks, fontsize=7)


def draw_muon(arms: dict[str, Losses]):
    """Bowls of each adjustment, and where their best rates go."""
    from repro.verdicts import drawing
    from repro.verdicts.drawing import COLORS

    figure, axes = drawing.panels(len(arms) + 1, width=3.0, height=2.9)
    low = min(each.mean().min() for losses in arms.values() for each in losses.curves.values())
    room = 3 * max(abs(losses.gain()) for losses in arms.values())  # worse losses are cut off
    last, drawn = axes[0, -1], 0
    for k, (place, (arm, losses)) in enumerate(zip(axes[0], arms.items(), strict=False)):
        draw_bowls(place, losses, "muP")
        show(place, low - 0.1 * room, low + room)
        drawing.log2_axis(place.xaxis)
        place.set_title(arm, fontsize=9)
        place.set_xlabel("learning rate")
        widths = np.array(losses.widths, float)
        optima = [losses.curves["muP", width].vertices() for width in losses.widths]
        centre = np.array([each.mean() for each in optima])
        if not np.isfinite(centre[0]):
            continue
        drawn += 1
        ends = np.array([short_interval(each) for each in optima]).T
        bars = 2**centre - 2 ** (centre - ends[0]), 2 ** (centre + ends[1]) - 2**centre
        color = COLORS[3 * k]
        last.errorbar(
            widths * 1.03**k, 2**centre, bars, fmt="o-", ms=3, lw=1, color=color, label=arm
        )
        for power, style in ((0, ":"), (-0.5, "-.")):
            guide = 2 ** centre[0] * (widths / widths[0]) ** power
            label = f"width$^{{{power:g}}}$" if drawn == 1 else None
            last.plot(widths, guide, style, color="0.4", lw=0.8, label=label)
    axes[0, 0].set_ylabel("loss (nats)")
    name_marks(axes[0, 0])
    drawing.legend_above(axes[0, 0], 2)
    if not drawn:
        last.text(0.5, 0.5, "no minimum\ninside", ha="center", transform=last.transAxes, fontsize=7)
        return figure
    last.set_xscale("log", base=2)
    last.set_yscale("log", base=2)
    for axis in (last.xaxis, last.yaxis):
        drawing.log2_axis(axis)
    last.set_xlabel("width")
    last.set_ylabel("best learning rate")
    last.legend(fontsize=7)
    return figure
