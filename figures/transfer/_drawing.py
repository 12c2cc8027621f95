"""Panels of the figures of transfer."""

from functools import partial

import numpy as np

from figures.transfer._losses import NEAR, ORDER, WORKLOADS, Losses
from repro.judge.matrix import FEWEST, Board, Entry
from repro.judge.optimum import parabola_optimum
from repro.judge.score import Estimate, Interval, Score
from repro.statistics import t_interval

SMALL = {"width": 1.75, "height": 1.7}


def short_interval(values: np.ndarray) -> tuple[float, float]:
    """Distances of the ends of a 95 % interval from the mean; 0 where there is none."""
    mean, low, high = t_interval(values)
    return (mean - low, high - mean) if np.isfinite(low) else (0.0, 0.0)


def show(axes, low: float, high: float) -> None:
    """Set the limits of the losses, unless all runs diverged or ended alike."""
    if np.isfinite(low) and np.isfinite(high) and low < high:
        axes.set_ylim(low, high)


def draw_all_bowls(workloads: dict[str, Losses]):
    """Bowls, a row a workload and a column a parametrization."""
    from matplotlib.ticker import LogLocator

    from repro.judge import drawing

    names = [n for n in ORDER if any(n in losses.names for losses in workloads.values())]
    figure, axes = drawing.panels(len(names), len(workloads), **SMALL)
    for row, (workload, losses) in zip(axes, workloads.items(), strict=True):
        low = min(found.mean(0).min() for _, found in losses.curves.values())
        room = 3 * abs(losses.gain())  # worse losses are cut off
        for place, name in zip(row, names, strict=True):
            if name not in losses.names:
                place.axis("off")
                continue
            draw_bowls(place, losses, name)
            place.set_title(name, fontsize=8)
            show(place, low - 0.1 * room, low + room)
            drawing.log2_axis(place.xaxis)
            place.xaxis.set_major_locator(LogLocator(base=4))  # every second octave
            place.tick_params(labelsize=6)
            place.set_xlabel("learning rate", fontsize=7)
            last = place
        row[0].set_ylabel(f"{WORKLOADS[workload]}\nloss (nats)", fontsize=8)
        beside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        last.legend(fontsize=6, title="width", title_fontsize=6, **beside)
    return figure


def draw_shift(workloads: dict[str, Losses]):
    """The best rate against the width, a panel a workload."""
    from repro.judge import drawing

    names = [n for n in ORDER if any(n in losses.names for losses in workloads.values())]
    figure, axes = drawing.panels(len(workloads), width=2.9, height=2.8)
    for place, (workload, losses) in zip(axes[0], workloads.items(), strict=True):
        draw_optima(place, losses, names)
        drawing.log2_axis(place.xaxis)
        place.set_title(WORKLOADS[workload], fontsize=9)
        place.set_xlabel("width")
    axes[0, 0].set_ylabel("best learning rate")
    if axes[0, 0].get_legend_handles_labels()[1]:
        axes[0, 0].legend(fontsize=7, handlelength=1)
    return figure


def draw_bowls(axes, losses: Losses, name: str) -> None:
    """Loss against learning rate at every width; runs that diverged are left out.

    Rings: the curve's minimum, a parabola through its best rate and the two neighbours.
    """
    from repro.judge.drawing import COLORS

    for color, width in zip(COLORS, losses.widths, strict=False):
        rates, found = losses.curves[name, width]
        shown = np.isfinite(found).all(0)
        mean = found[:, shown].mean(0)
        axes.plot(rates[shown], mean, "o-", ms=2, lw=1, color=color, label=f"{width:g}")
        axes.fill_between(
            rates[shown],
            found[:, shown].min(0),
            found[:, shown].max(0),
            color=color,
            alpha=0.2,
            lw=0,
        )
        best = 2 ** parabola_optimum(rates, found.mean(0), NEAR)
        if np.isfinite(best):
            height = np.interp(np.log2(best), np.log2(rates[shown]), mean)
            axes.plot(best, height, "o", ms=6, mfc="none", mew=1, color=color)
    axes.axvline(losses.proxy_rate(), ls=":", color="0.3", lw=1)
    axes.set_xscale("log", base=2)


def draw_optima(axes, losses: Losses, names: list[str]) -> None:
    """Best rate against width under every parametrization, with guides."""
    from repro.judge.drawing import COLORS, log2_axis

    widths = np.array(losses.widths, float)
    start = 2 ** losses.optimum(losses.names[0], losses.base).mean()
    axes.set_xscale("log", base=2)
    if not np.isfinite(start):
        axes.text(0.5, 0.5, "no minimum\ninside", ha="center", transform=axes.transAxes, fontsize=7)
        return
    for i, name in enumerate(names):
        if name not in losses.names:
            continue
        optima = [losses.optimum(name, width) for width in losses.widths]
        centre = np.array([each.mean() for each in optima])
        ends = np.array([short_interval(each) for each in optima]).T
        low, high = 2**centre - 2 ** (centre - ends[0]), 2 ** (centre + ends[1]) - 2**centre
        place = widths * 2 ** (0.06 * (i - len(names) / 2))
        axes.errorbar(
            place, 2**centre, (low, high), fmt="o-", ms=3, lw=1, color=COLORS[i], label=name
        )
    axes.plot(widths, np.full(len(widths), start), ":", color="0.3", lw=1)
    axes.plot(widths, start * widths[0] / widths, "-.", color="0.3", lw=1)
    axes.set_yscale("log", base=2)
    log2_axis(axes.yaxis)


def draw_board(board: Board):
    """The matrix: a row an entry, the least lost first, a panel a workload and one for the medians,
    all on one scale. Bars: regret dark, penalty pale, of what the width gains."""
    from repro.judge import drawing
    from repro.judge.drawing import COLORS

    heads = {
        column: f"{words}\n{board.references[column].gain:.2f} nats"
        if column in board.references
        else f"{words}\nno reference"
        for column, words in board.columns.items()
    }
    rows = len(board.rows)
    figure, axes = drawing.panels(len(heads) + 1, width=1.5, height=0.42 * rows + 0.9)
    for place, column in zip(axes[0], [*heads, None], strict=True):
        for y, row in enumerate(board.rows):
            if column is None:
                draw_median(place, y, row, board.group.get(row.name))
            else:
                found, best = row.scores.get(column), row.name in board.best.get(column, ())
                held = found is not None and found.reference == row.name
                draw_cell(place, y, found, best, held)
        place.axvline(0, color="0.3", lw=0.8)
        place.set_xlim(SHOWN[0], SHOWN[1])
        place.set_ylim(rows - 0.5, -0.5)
        place.set_yticks([])
        place.set_xticks([0, 50, 100, 150])
        place.tick_params(labelsize=7)
        title = f"median\nof {FEWEST} or more" if column is None else heads[column]
        place.set_title(title, fontsize=8)
    axes[0, 0].set_yticks(range(rows), [row.name for row in board.rows], fontsize=8)
    axes[0, 0].set_xlabel("% of the width's gain lost", fontsize=8, loc="left")
    label = {"for want of retuning": (COLORS[3], 1.0), "by the parametrization": (COLORS[0], 0.35)}
    marks = [
        axes[0, -1].barh(-5, 0, color=color, alpha=alpha, label=words)
        for words, (color, alpha) in label.items()
    ]
    figure.legend(handles=marks, loc="outside lower right", ncols=2, fontsize=7, frameon=False)
    return figure


SHOWN = (-30.0, 170.0)  # % of the gain; what lies beyond is cut, and an arrow says so


def draw_cell(place, y: int, found: Score | None, best: bool, reference: bool) -> None:
    """What an entry loses on a workload: a bar, its interval, a star where nothing loses less.
    reference: whether its runs are what the workload is held against."""
    from repro.judge.drawing import COLORS

    if found is None or found.problem:
        words = "not trained" if found is None else "undefined"
        place.text(70, y, words, ha="center", va="center", fontsize=6, color="0.5")
        return
    lost, share = found.lost, 100 / found.gain
    if reference:
        end = max(lost.high if np.isfinite(lost.high) else lost.value, 0)
        place.text(min(end + 6, 110), y, "ref.", va="center", fontsize=6, color="0.5")
    if found.own:
        place.barh(y, lost.value, height=0.55, color="0.7")
    else:
        penalty, regret = found.penalty.value * share, found.regret.value * share
        place.barh(y, penalty, height=0.55, color=COLORS[0], alpha=0.35)
        place.barh(y, regret, left=penalty, height=0.55, color=COLORS[3])
    draw_interval(place, y, lost)
    if best:
        place.text(SHOWN[1] - 3, y, "*", ha="right", va="center", fontsize=11)


def draw_median(place, y: int, row: Entry, group: int | None) -> None:
    """The median of what an entry loses, and its place: those of one number are tied."""
    if not np.isfinite(row.median.value):
        few = f"{len(row.defined)} of {len(row.scores)} defined"
        place.text(70, y, few, ha="center", va="center", fontsize=6, color="0.5")
        return
    place.plot(row.median.value, y, "o", ms=4, color="0.1")
    draw_interval(place, y, row.median)
    place.text(SHOWN[1] - 3, y, f"{group}.", ha="right", va="center", fontsize=8)


def draw_interval(place, y: int, found: Estimate | Interval) -> None:
    """A 95 % interval, with an arrow where it or its value goes on beyond the scale."""
    if not np.isfinite([found.low, found.high]).all():
        return
    ends = np.clip([found.low, found.high], *SHOWN)
    place.plot(ends, [y, y], color="0.2", lw=1)
    for end, mark, beyond in (
        (SHOWN[0], "<", found.low < SHOWN[0]),
        (SHOWN[1], ">", found.high > SHOWN[1]),
    ):
        if beyond:
            place.plot(end, y, mark, ms=3, color="0.2", clip_on=False)


def draw_lost(place, losses: Losses, words: str) -> None:
    """A bar a parametrization: what is lost of the width's gain. words: the workload's name."""
    from repro.judge.drawing import COLORS

    gain, widest = losses.gain(), losses.widest
    for y, name in enumerate(reversed(losses.names)):
        regret, penalty = losses.regret(name, widest), losses.penalty(name)
        mean, low, high = losses.interval(partial(losses.lost, name))
        shares = [100 * each.mean() / gain for each in (penalty, regret)]
        place.barh(y, shares[0], color=COLORS[0], alpha=0.35, label="by the parametrization")
        place.barh(y, shares[1], left=shares[0], color=COLORS[3], label="for want of retuning")
        if np.isfinite([mean, low, high]).all():
            error = np.array([[mean - low], [high - mean]])
            place.errorbar(mean, y, xerr=error, fmt="none", ecolor="0.2", lw=1, capsize=2)
    place.set_yticks(range(len(losses.names)), list(reversed(losses.names)), fontsize=8)
    place.axvline(0, color="0.3", lw=0.8)
    place.set_title(f"{words}, width {losses.base:g} to {widest:g}", fontsize=9)
    place.set_xlabel(f"% of {gain:.3f} nats lost", fontsize=8)


def draw_optimizer(workloads: dict[str, Losses]):
    """Bowls and what is lost, a row a workload. Keys are the workloads' names in the figure."""
    from repro.judge import drawing

    figure, axes = drawing.panels(3, len(workloads), width=2.9, height=2.6)
    for row, (words, losses) in zip(axes, workloads.items(), strict=True):
        means = np.concatenate([found.mean(0) for _, found in losses.curves.values()])
        low, high = means.min(), means[np.isfinite(means)].max(initial=-np.inf)
        room = min(3 * abs(losses.gain()), high - low)  # worse losses are cut off
        for place, name in zip(row, losses.names, strict=False):
            draw_bowls(place, losses, name)
            show(place, low - 0.1 * room, low + 1.05 * room)
            drawing.log2_axis(place.xaxis)
            place.set_title(f"{words}, {name}", fontsize=9)
            place.set_xlabel("learning rate")
        row[0].set_ylabel("loss (nats)")
        row[0].legend(title="width", fontsize=7, title_fontsize=7)
        draw_lost(row[-1], losses, words)
    handles, labels = axes[0, -1].get_legend_handles_labels()
    axes[0, -1].legend(handles[:2], labels[:2], fontsize=7)
    return figure


def draw_anatomy(arms: dict[str, dict[str, Losses]], words: dict[str, str], names):
    """The largest width's loss at the transferred rate, a panel a workload, a pair an arm.

    arms: arm -> workload -> losses. words: arm -> its name in the figure. names: parametrizations.
    """
    from repro.judge import drawing
    from repro.judge.drawing import COLORS

    workloads = next(iter(arms.values()))
    figure, axes = drawing.panels(len(workloads), width=2.4, height=2.8)
    for place, workload in zip(axes[0], workloads, strict=True):
        shown: list[float] = []
        for left, arm in zip((0.0, 2.5), words, strict=True):
            losses = arms[arm][workload]
            narrow = float(losses.tuned(losses.names[0], losses.base).mean())
            place.plot([left - 0.5, left + 1.5], [narrow, narrow], "--", color="0.3", lw=1)
            shown.append(narrow)
            for k, name in enumerate(names):
                x = left + k
                ends = losses.transferred(name, losses.widest)
                tuned = float(losses.tuned(name, losses.widest).mean())
                end = float(ends.mean())
                if not np.isfinite(end):
                    continue
                place.bar(x, tuned, color=COLORS[0], alpha=0.35)
                place.bar(x, end - tuned, bottom=tuned, color=COLORS[3])
                error = np.array(short_interval(ends))[:, None]
                place.errorbar(x, end, yerr=error, fmt="none", ecolor="0.2", lw=1, capsize=2)
                shown += [tuned, end]
        room = max(shown) - min(shown)
        show(place, min(shown) - 0.3 * room, max(shown) + 0.3 * room)
        place.set_xticks([0, 1, 2.5, 3.5], [*names, *names], fontsize=7)
        place.set_xlabel("     ".join(words.values()), fontsize=8)
        losses = arms["tuned"][workload]
        title = f"{WORKLOADS[workload]}, {losses.base:g} to {losses.widest:g}"
        place.set_title(title, fontsize=9)
    axes[0, 0].set_ylabel("loss (nats)")
    return figure


def draw_muon(arms: dict[str, Losses]):
    """Bowls of each adjustment, and where their best rates go."""
    from repro.judge import drawing
    from repro.judge.drawing import COLORS

    figure, axes = drawing.panels(len(arms) + 1, width=3.0, height=2.9)
    low = min(each[1].mean(0).min() for losses in arms.values() for each in losses.curves.values())
    room = 3 * max(abs(losses.gain()) for losses in arms.values())  # worse losses are cut off
    last, drawn = axes[0, -1], 0
    for k, (place, (arm, losses)) in enumerate(zip(axes[0], arms.items(), strict=False)):
        draw_bowls(place, losses, "muP")
        show(place, low - 0.1 * room, low + room)
        drawing.log2_axis(place.xaxis)
        place.set_title(arm, fontsize=9)
        place.set_xlabel("learning rate")
        widths = np.array(losses.widths, float)
        optima = [losses.optimum("muP", width) for width in losses.widths]
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
            last.plot(widths, guide, style, color=color, lw=0.8)
    axes[0, 0].set_ylabel("loss (nats)")
    axes[0, 0].legend(title="width", fontsize=7, title_fontsize=7)
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
