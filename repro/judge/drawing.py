"""House style; caption, claims and footer below a figure; reproducible files."""

import math
import os
import textwrap
from pathlib import Path
from typing import Any

os.environ["MPLBACKEND"] = (
    "Agg"  # files only, whatever the shell names, a backend of no such name too
)
import matplotlib
import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from repro.errors import UserError
from repro.files import atomic_path
from repro.judge.claims import NOT_REPRODUCED, REPRODUCED, interval

MARKS = {REPRODUCED: "+", NOT_REPRODUCED: "x"}
COLORS = sns.color_palette("colorblind")
LINE_INCHES = 0.145
UNBROKEN = "\N{NO-BREAK SPACE}"


def style() -> None:
    """Colour-blind palette, embedded fonts, the same for every figure and user: a matplotlibrc,
    which may ask for LaTeX, counts for nothing."""
    matplotlib.rcdefaults()
    sns.set_theme(context="paper", style="ticks", palette="colorblind")
    plt.rcParams.update(
        {
            "pdf.fonttype": 42,
            "svg.hashsalt": "repro",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
            "savefig.dpi": 160,
        }
    )


def panels(columns: int, rows: int = 1, width: float = 4.2, height: float = 3.4):
    """A figure of equal panels; returns (figure, axes of shape (rows, columns))."""
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(width * columns, height * rows),
        layout="constrained",
        squeeze=False,
    )
    return figure, axes


def check_panels(file: str, figure: object) -> None:
    """Raise UserError, naming the file, unless a figure has the layout of `panels`.

    It alone leaves room for the texts that `finish` adds.
    """
    words = "return the figure of repro.judge.drawing.panels"
    if not isinstance(figure, Figure):
        raise UserError(f"{file}: draw returned a {type(figure).__name__}, no figure; {words}")
    if not isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine):
        raise UserError(f"{file}: draw returned a figure of another layout; {words}")


def wrapped(text: str, characters: int, **options) -> list[str]:
    """Lines of a text, broken at spaces, and never around an equals sign."""
    text = text.replace(" = ", f"{UNBROKEN}={UNBROKEN}")
    return textwrap.wrap(text, characters, break_on_hyphens=False, **options)


def claim_lines(claim: dict, characters: int) -> list[str]:
    """One judged claim in words: what the paper says, and beside it what was measured."""
    mark = MARKS.get(claim["verdict"], " ")
    says = f"[{mark}] {claim['claim']}: {claim['statement']} ({claim['source']})"
    measured, verdict = (
        words.replace(" ", UNBROKEN) for words in (interval(claim), claim["verdict"].upper())
    )
    found = f"{claim['quantity']}: expected {claim['expected']}, measured {measured}"
    found += f", n = {claim['n']}: {verdict}"
    found += f" ({claim['reason']})" if claim["reason"] else ""
    indent = " " * 4
    return [
        *wrapped(says, characters, subsequent_indent=indent),
        *wrapped(found, characters, initial_indent=indent, subsequent_indent=indent),
    ]


def finish(figure: Figure, title: str, caption: str, claims: list[dict], footer: str) -> None:
    """Add the title above, and below the caption, the claims and the footer, in room of their
    own."""
    width, height = figure.get_size_inches()
    characters = int(width * 17)
    lines = [(line, "0.35") for line in wrapped(caption, characters)]
    lines += [(line, "black") for claim in claims for line in claim_lines(claim, characters)]
    lines += [(line, "0.35") for line in wrapped(footer, characters)]
    room = LINE_INCHES * (len(lines) + 1)
    titles = textwrap.wrap(title, int(width * 11.5))
    head = 0.35 + 0.17 * (len(titles) - 1)
    total = height + room + head
    figure.set_size_inches(width, total)
    layout = figure.get_layout_engine()
    if isinstance(layout, ConstrainedLayoutEngine):  # as `check_panels` has seen
        layout.set(rect=(0, room / total, 1, height / total))
    top = 1 - 0.08 / total
    figure.text(0.01, top, "\n".join(titles), va="top", fontsize=10, fontweight="bold")
    for i, (line, color) in enumerate(lines):
        y = (room - LINE_INCHES * (i + 0.5)) / total
        small: dict[str, Any] = {"va": "top", "fontsize": 6.5, "family": "monospace"}
        figure.text(0.01, y, line, parse_math=False, color=color, **small)


def save(figure: Figure, pdf: Path, png: Path) -> None:
    """Write both files; the same figure gives the same bytes."""
    _settle(figure)
    with atomic_path(pdf) as temporary:
        figure.savefig(temporary, format="pdf", metadata={"CreationDate": None})
    with atomic_path(png) as temporary:
        figure.savefig(temporary, format="png", metadata={"Software": None})
    plt.close(figure)


def _settle(figure: Figure) -> None:
    """Lay out once and round: the layout's last digits depend on addresses in memory."""
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    for axes in figure.axes:
        left, bottom, width, height = axes.get_position(original=True).bounds
        axes.set_position((round(left, 6), round(bottom, 6), round(width, 6), round(height, 6)))


def table(axes, rows: list[list[str]], columns: list[str]) -> None:
    """Draw a plain table filling the axes, its columns as wide as their longest texts need."""
    axes.axis("off")
    longest = [
        max(len(line) for text in column for line in text.split("\n")) + 4
        for column in zip(columns, *rows, strict=True)
    ]
    widths = [length / sum(longest) for length in longest]
    drawn = axes.table(
        cellText=rows, colLabels=columns, colWidths=widths, loc="center", cellLoc="center"
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(8)
    drawn.scale(1, 1.4)
    for (row, _), cell in drawn.get_celld().items():
        cell.set_edgecolor("0.8")
        if row == 0:
            cell.set_text_props(fontweight="bold")


def log2_axis(axis) -> None:
    """Powers of two as ticks on a matplotlib Axis."""
    axis.set_major_locator(matplotlib.ticker.LogLocator(base=2, numticks=12))
    axis.set_major_formatter(
        matplotlib.ticker.FuncFormatter(
            lambda x, _: f"$2^{{{round(math.log2(x)) if x > 0 else 0}}}$"
        )
    )
    axis.set_minor_locator(matplotlib.ticker.NullLocator())
