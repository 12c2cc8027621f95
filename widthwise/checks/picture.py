"""The picture of a coordinate check: sizes along the network, a curve a width."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from widthwise.checks.slopes import LayerSlope, Measured

MANY = 24  # layers beyond so many are numbered along an axis, not named
COLOURS = {"right": "tab:green", "unclear": "tab:orange", "wrong": "tab:red"}


class Part(Protocol):
    """Of a `CoordinateCheck`, what is drawn over one axis."""

    @property
    def axis(self) -> str: ...
    @property
    def slopes(self) -> Sequence[LayerSlope]: ...
    @property
    def widths(self) -> Sequence[float]: ...
    @property
    def measured(self) -> Mapping[tuple[float, int], Measured]: ...


def draw(parts: Sequence[Part], verdict: str, reason: str, path: str) -> None:
    """Every size over that of the narrowest model, in the network's order, a panel a quantity.

    Widths are a ramp from light to dark; where nothing depends on the width all curves lie on the
    line at 1. What is not right has a mark below.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    rows = [list(dict.fromkeys(s.quantity for s in part.slopes)) for part in parts]
    across = max(map(len, rows))
    figure = Figure(figsize=(3.4 * across, 4.2 * len(rows)), layout="constrained")
    figure.suptitle(reason, fontsize="medium", color=COLOURS[verdict], wrap=True)
    panels: Any = figure.subplots(len(rows), across, squeeze=False)
    columns = [
        (part, quantity, axes)
        for part, row, line in zip(parts, rows, panels, strict=True)
        for quantity, axes in zip(row, line, strict=False)
    ]
    for row, line in zip(rows, panels, strict=True):
        for axes in line[len(row) :]:
            axes.set_axis_off()
    ramp = colormaps["viridis_r"]
    for part, quantity, axes in columns:
        here = [s for s in part.slopes if s.quantity == quantity]
        names = [s.layer or "the model" for s in here]
        first = [_mean(part, part.widths[0], (s.layer, quantity)) for s in here]
        for place, width in enumerate(part.widths):
            means = [_mean(part, width, (s.layer, quantity)) for s in here]
            over = [a / b if b else math.nan for a, b in zip(means, first, strict=True)]
            shade = ramp(0.15 + 0.85 * place / (len(part.widths) - 1))
            axes.plot(range(len(here)), over, marker="o", ms=3, color=shade, label=f"{width:g}")
        axes.axhline(1.0, color="black", linewidth=1, linestyle=":")
        title = quantity if part.axis == "width" else f"{quantity}, over depths"
        low, high = axes.get_ylim()  # not closer, or what is flat looks as if it were not
        axes.set_ylim(min(low, 0.5), max(high, 2.0))
        axes.set(yscale="log", title=title, ylabel=f"over the least {part.axis}'s")
        for place, each in enumerate(here):
            if each.verdict != "right":
                axes.axvline(place, color="tab:red", linewidth=0.8, alpha=0.5)
        if len(here) <= MANY:
            axes.set_xticks(range(len(here)), names, rotation=90, fontsize="x-small")
        else:
            axes.set_xlabel("in the network's order")
        if quantity == part.slopes[0].quantity:
            axes.legend(title=part.axis, fontsize="x-small", title_fontsize="x-small")
    figure.savefig(path)


def _mean(part: Part, width: float, key: tuple[str, str]) -> float:
    """The geometric mean over seeds."""
    found = [each.sizes[key] for (at, _), each in part.measured.items() if at == width]
    return math.exp(sum(map(math.log, found)) / len(found)) if min(found) > 0 else math.nan
