"""The board as a picture: a row an entry, a panel a workload, all on one scale."""

from typing import Any

import numpy as np

from repro.transfer_bench.matrix import FEWEST, Board, BoardRow
from repro.transfer_bench.score import Estimate, Interval, Score
from repro.verdicts.figure import Drawn


def draw_board(board: Board) -> Drawn:
    """The matrix: a row an entry, the least lost first, a panel a workload and one for the medians,
    all on one scale; none of what is defined for no entry. Bars: regret dark, penalty pale, of what
    the width gains."""
    from repro.verdicts import drawing
    from repro.verdicts.drawing import COLORS

    heads = {
        column: f"{words}\n{board.references[column].gain:.2f} nats"
        if column in board.references
        else f"{words}\nno reference"
        for column, words in board.columns.items()
        if any(found and not found.problem for found in scores(board, column))
    }
    medians = any(np.isfinite(row.median.value) for row in board.rows)
    shown = [*heads, *[None] * medians] or [None]
    rows = len(board.rows)
    width = max(1.5, WIDE / len(shown))
    figure, axes = drawing.panels(len(shown), width=width, height=0.42 * rows + 0.9)
    for place, column in zip(axes[0], shown, strict=True):
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
    told = {
        "the least lost, or tied with it": ("$*$", 5),
        "interval goes on": (">", 4),
        "place, the same if tied": ("$1.$", 5),
        "what losses are held against": (r"$\mathrm{ref.}$", 11),
    }
    if not medians:
        del told["place, the same if tied"]
    for words, (marker, size) in told.items():
        look = {"ls": "none", "mew": 0, "color": "0.2", "marker": marker, "ms": size}
        marks += axes[0, -1].plot([], [], label=words, **look)
    figure.legend(handles=marks, loc="outside lower right", ncols=3, fontsize=7, frameon=False)
    return figure


WIDE = 10.0  # inches that the panels have at least, or the legend would cover the line at the foot
SHOWN = (-30.0, 170.0)  # % of the gain; what lies beyond is cut, and an arrow says so


def scores(board: Board, column: str) -> list[Score | None]:
    """What every entry has on a workload; None where it was not trained."""
    return [row.scores.get(column) for row in board.rows]


def draw_cell(place: Any, y: int, found: Score | None, best: bool, reference: bool) -> None:
    """What an entry loses on a workload: a bar, its interval, a star where nothing loses less.
    reference: whether its runs are what the workload is held against."""
    from repro.verdicts.drawing import COLORS

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


def draw_median(place: Any, y: int, row: BoardRow, group: int | None) -> None:
    """The median of what an entry loses, and its place: those of one number are tied."""
    if not np.isfinite(row.median.value):
        few = f"{len(row.defined)} of {len(row.scores)} defined"
        place.text(70, y, few, ha="center", va="center", fontsize=6, color="0.5")
        return
    place.plot(row.median.value, y, "o", ms=4, color="0.1")
    draw_interval(place, y, row.median)
    place.text(SHOWN[1] - 3, y, f"{group}.", ha="right", va="center", fontsize=8)


def draw_interval(place: Any, y: int, found: Estimate | Interval) -> None:
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
