"""The style of all figures; title and last line of a picture; byte-reproducible files."""

import math
import os
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

# Draw to files only. This overrides a backend set in the shell, which may not even exist.
os.environ["MPLBACKEND"] = "Agg"
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.offsetbox import AnchoredOffsetbox, HPacker, TextArea

from repro.errors import UserError
from repro.files import atomic_path
from repro.verdicts.typeset import Table, powers
from repro.verdicts.words import STATUSES

# seaborn's palette "colorblind", and what its theme ("paper", "ticks") sets: two seconds of a core
# to import, so that a picture without bands does without.
COLORS = [
    tuple(int(code[i : i + 2], 16) / 255 for i in (1, 3, 5))
    for code in (
        *("#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc"),
        *("#ca9161", "#fbafe4", "#949494", "#ece133", "#56b4e9"),
    )
]
GREY, PAPER_SIZE = ".15", 0.8  # of the theme's sizes
SIZES = {
    "axes.labelsize": 12,
    "axes.linewidth": 1.25,
    "axes.titlesize": 12,
    "font.size": 12,
    "legend.fontsize": 11,
    "legend.title_fontsize": 12,
    "lines.linewidth": 1.5,
    "lines.markersize": 6,
    "patch.linewidth": 1,
    **{f"{axis}tick.labelsize": 11 for axis in "xy"},
    **{f"{axis}tick.major.size": 6 for axis in "xy"},
    **{f"{axis}tick.major.width": 1.25 for axis in "xy"},
    **{f"{axis}tick.minor.size": 4 for axis in "xy"},
    **{f"{axis}tick.minor.width": 1 for axis in "xy"},
}
THEME: Any = {
    **{name: PAPER_SIZE * size for name, size in SIZES.items()},
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color"), GREY),
    **dict.fromkeys(("xtick.color", "ytick.color"), GREY),
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=COLORS),
    "font.sans-serif": ["Arial", "DejaVu Sans", "Liberation Sans", "Bitstream Vera Sans"],
    "grid.color": ".8",
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    "patch.force_edgecolor": True,
}
SMALL_INCHES = 3.6  # width of a small picture: a letter of 6.5 points has 11 of 430 pixels
LINE_INCHES = 0.145  # height of a line of text below a figure
ROW_INCHES, LETTER_INCHES = 0.3, 0.075  # of a table: a line's height, a letter's width
CELL_LETTERS = 60  # of a table: in a line of a cell
POINTS = 72  # of a PDF, in an inch
PAPER = "#b0003a"  # what a paper prints
DIVERGED = "crosses: diverged"
UNBROKEN = "\N{NO-BREAK SPACE}"


def style() -> None:
    """Set matplotlib's style: colour-blind palette, embedded fonts. A user's matplotlibrc, which
    may ask for LaTeX, is ignored, so that figures are the same for everybody."""
    matplotlib.rcdefaults()
    plt.rcParams.update(
        THEME
        | {
            "pdf.fonttype": 42,
            "svg.hashsalt": "repro",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
            "savefig.dpi": 160,
        }
    )


def panels(columns: int, rows: int = 1, width: float = 4.2, height: float = 3.4):
    """(figure, axes of shape (rows, columns)) of equal panels, whose size is given in inches."""
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(width * columns, height * rows),
        layout="constrained",
        squeeze=False,
    )
    return figure, axes


def span(*values: Any) -> tuple[float, float]:
    """The smallest and the largest finite number of arrays; 0 and 1 where every run diverged."""
    every = np.concatenate([np.ravel(each) for each in values])
    finite = every[np.isfinite(every)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)


def ramp(values: Iterable) -> dict:
    """Value -> its colour, from dark to light in the order of the values: of widths, or any other
    setting that has an order. What has none has COLORS."""
    ordered = sorted({*values})
    return dict(zip(ordered, _viridis(len(ordered)), strict=True))


def _viridis(count: int) -> list[tuple[float, ...]]:
    """Colors of matplotlib's viridis at even distances, its ends left out."""
    colors = matplotlib.colormaps["viridis"](np.linspace(0, 1, count + 2)[1:-1])
    return [(*map(float, color[:3]),) for color in colors]


def check_panels(file: str, figure: object) -> None:
    """Raise UserError, naming the file, unless a figure has the layout of `panels`.

    Only that layout leaves room for the title and the line that `finish` adds.
    """
    remedy = "return the figure of repro.verdicts.drawing.panels"
    if not isinstance(figure, Figure):
        raise UserError(f"{file}: draw returned a {type(figure).__name__}, no figure; {remedy}")
    if not isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine):
        raise UserError(f"{file}: draw returned a figure of another layout; {remedy}")


def wrapped(text: str, characters: int, **options) -> list[str]:
    """Lines of a text, broken at spaces, but not at those around an equals sign."""
    text = text.replace(" = ", f"{UNBROKEN}={UNBROKEN}")
    return textwrap.wrap(text, characters, break_on_hyphens=False, **options)


def finish(figure: Figure, title: str, marks: Sequence[tuple[str, str]], last_line: str) -> None:
    """Add what a figure is called and how its claims fared above, and one small line below it, in
    added height. marks: words and the verdict that gives them their colour; may be none."""
    width, height = figure.get_size_inches()
    titles = textwrap.wrap(title, int(width * 11.5))
    head = 0.2 + 0.17 * (len(titles) + bool(marks))  # above, inches
    foot = 1.3 * LINE_INCHES  # below, inches
    total = height + foot + head
    figure.set_size_inches(width, total)
    layout = figure.get_layout_engine()
    if isinstance(layout, ConstrainedLayoutEngine):  # always: `check_panels` made sure
        layout.set(rect=(0, foot / total, 1, height / total))
    above: dict[str, Any] = {"va": "top", "parse_math": False}
    top = 1 - 0.08 / total
    figure.text(0.01, top, "\n".join(titles), fontsize=10, fontweight="bold", **above)
    top -= (0.17 * len(titles) + 0.02) / total
    if marks:
        figure.add_artist(_line(marks, figure, top))
    fitting = width * POINTS / (0.57 * len(last_line))  # letters are about half as wide as high
    below: dict[str, Any] = {"va": "bottom", "fontsize": min(6, fitting), "color": "0.45"}
    figure.text(0.01, 0.25 * LINE_INCHES / total, last_line, parse_math=False, **below)


def _line(marks: Sequence[tuple[str, str]], figure: Figure, top: float) -> AnchoredOffsetbox:
    """Words side by side, each behind a square, in their verdicts' colours."""
    words: list[Artist] = [
        TextArea(
            f"\N{BLACK SQUARE} {word}",
            textprops={"fontsize": 8.5, "color": STATUSES[verdict].color},
        )
        for word, verdict in marks
    ]
    return AnchoredOffsetbox(
        "upper left",
        child=HPacker(children=words, pad=0, sep=10),
        pad=0,
        borderpad=0,
        frameon=False,
        bbox_to_anchor=(0.01, top),
        bbox_transform=figure.transFigure,
    )


def save(figure: Figure, *paths: Path) -> None:
    """Write a figure as PDF or PNG, as each path ends; the same figure gives the same bytes."""
    _settle(figure)
    undated = {"pdf": {"CreationDate": None}, "png": {"Software": None}}
    for path in paths:
        form = path.suffix[1:]
        with atomic_path(path) as temporary:
            figure.savefig(temporary, format=form, metadata=undated[form])
    plt.close(figure)


def _settle(figure: Figure) -> None:
    """Compute the layout once, round and fix it: its last digits depend on memory addresses. A
    logarithmic axis that shows no positive number, as where every run diverged, ends at 1 and 10,
    since matplotlib has no ticks for it."""
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        ends = axis.get_data_interval()
        if axis.get_scale() == "log" and not (np.isfinite(ends).all() and max(ends) > 0):
            axis.axes.set(**{f"{axis.axis_name}lim": (1, 10)})
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    for axes in figure.axes:
        left, bottom, width, height = axes.get_position(original=True).bounds
        axes.set_position((round(left, 6), round(bottom, 6), round(width, 6), round(height, 6)))


def of_table(shown: Table) -> Figure:
    """A table set as text, its columns as wide as their longest lines need. A text longer than
    CELL_LETTERS has several lines: on a page a remark of one would make all else too small."""
    rows = [["\n".join(wrapped(text, CELL_LETTERS)) for text in row] for row in shown.rows]
    heads = max(head.count("\n") + 1 for head in shown.columns)
    heights = [heads] + [1 + 0.5 * max(text.count("\n") for text in row) for row in rows]
    longest = [
        max(len(line) for text in column for line in text.split("\n")) + 4
        for column in zip(shown.columns, *rows, strict=True)
    ]
    width = LETTER_INCHES * sum(longest)
    note = "\n".join(wrapped(shown.note, int(width / LETTER_INCHES)))
    height = ROW_INCHES * (sum(heights) + len(note.split("\n")) * bool(note))
    figure, ((axes,),) = panels(1, width=width, height=height)
    axes.axis("off")
    drawn = axes.table(
        cellText=rows,
        colLabels=shown.columns,
        colWidths=[length / sum(longest) for length in longest],
        loc="center",
        cellLoc="center",
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(8)
    drawn.scale(1, 1.4)
    for (row, _), cell in drawn.get_celld().items():
        cell.set_edgecolor("0.8")
        cell.get_text().set_text(powers(cell.get_text().get_text()))
        cell.set_height(heights[row] * cell.get_height())
        if row == 0:
            cell.set_text_props(fontweight="bold")
    if note:
        axes.set_title(note, fontsize=8, loc="left", parse_math=False)
    return figure


def legend_above(axes, columns: int, **options) -> None:
    """A panel's legend between the panel and its title, where it lies on no data."""
    options = {
        "fontsize": 7,
        "title_fontsize": 7,
        "columnspacing": 1,
        "handlelength": 1.8,
    } | options
    shown = axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, **options)
    lines = -(-len(shown.get_texts()) // columns) + bool(options.get("title"))
    if axes.get_title():
        axes.set_title(axes.get_title(), fontsize=9, pad=9 + 1.7 * options["fontsize"] * lines)


def log2_axis(axis) -> None:
    """Put ticks at powers of two on a matplotlib Axis."""
    axis.set_major_locator(matplotlib.ticker.LogLocator(base=2, numticks=12))
    axis.set_major_formatter(
        matplotlib.ticker.FuncFormatter(
            lambda x, _: f"$2^{{{round(math.log2(x)) if x > 0 else 0}}}$"
        )
    )
    axis.set_minor_locator(matplotlib.ticker.NullLocator())


def plain_ticks(axis) -> None:
    """Write the ticks of a matplotlib Axis as 0.2, 200, 5k, 1M; of a logarithmic one at 1, 2, 5."""
    if axis.get_scale() == "log":
        axis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
        axis.set_minor_locator(matplotlib.ticker.NullLocator())
    large = matplotlib.ticker.EngFormatter(sep="")
    axis.set_major_formatter(
        matplotlib.ticker.FuncFormatter(lambda x, _: f"{x:g}" if abs(x) < 1 else large(x))
    )


def band(axes, x, y, color, estimator="mean", **line) -> None:
    """Mean over seeds as a line and the range over them as a band, by seaborn.

    x, y: every seed's points, shape (n,). estimator: in place of the mean. line: as of `plot`.
    """
    import seaborn as sns

    look = {"markeredgecolor": color, "err_kws": {"alpha": 0.2, "lw": 0}, "legend": False}
    over = {"estimator": estimator, "errorbar": ("pi", 100)}
    sns.lineplot(x=x, y=y, color=color, ax=axes, **over, **look, **line)


def bars(
    axes, x: Iterable[float], found: Iterable[Sequence[float]], across: bool = False, **style
) -> None:
    """Marks with error bars, side by side with what else is drawn there.

    found: (value, low, high) each, as from `repro.statistics`; where the ends are NaN, as of one
    seed, there is a mark alone. across: the values go across, and x is a height. style: as of
    `errorbar`.
    """
    value, low, high = np.array([*found], float).reshape(-1, 3).T
    reach = [value - low, high - value]
    look: dict[str, Any] = {"fmt": "o", "ms": 4, "lw": 1, "capsize": 2, **style}
    if across:
        axes.errorbar(value, [*x], xerr=reach, **look)
    else:
        axes.errorbar([*x], value, yerr=reach, **look)


def guides(
    axes, x: Sequence[float] | np.ndarray, start: float, laws: Mapping[str, float], paper: str
) -> None:
    """Power laws y = start (x / x[0])^power, each named at its end.

    laws: name -> power. paper: the name of the paper's law, drawn as `printed` draws its values.
    """
    for name, power in laws.items():
        ends = start * (np.array([x[0], x[-1]]) / x[0]) ** power
        color = PAPER if name == paper else "0.6"
        axes.plot([x[0], x[-1]], ends, "--", lw=1, color=color, zorder=1)
        _name(axes, x[-1], ends[1], name, color)


def printed(axes, x: Sequence[float], value: float, name: str = "") -> None:
    """A value that the paper prints, as a line from the first x to the last, named at its end."""
    axes.plot([x[0], x[-1]], [value, value], "--", lw=1, color=PAPER, zorder=1)
    _name(axes, x[-1], value, name, PAPER)


def _name(axes, x: float, y: float, name: str, color: str) -> None:
    beside = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", "fontsize": 7}
    axes.annotate(name, (x, y), color=color, annotation_clip=False, **beside)


def diverged(axes, x: Iterable[float], color) -> None:
    """A cross at the upper edge at each x where a run diverged, and what it means, once."""
    places = [*x]
    if places:
        known = axes.get_legend_handles_labels()[1]
        label = None if DIVERGED in known else DIVERGED
        across = axes.get_xaxis_transform()
        axes.plot(places, [0.97] * len(places), "x", color=color, transform=across, label=label)
