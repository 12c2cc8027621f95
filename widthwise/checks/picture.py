"""The picture of a coordinate check, sizes along the network, and of a comparison, losses over
rates: a curve a width."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from widthwise.checks.slopes import LayerSlope, Measured
from widthwise.checks.sweep import Sweep
from widthwise.errors import UserError

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
    rows = [list(dict.fromkeys(s.quantity for s in part.slopes)) for part in parts]
    across = max(map(len, rows))
    figure, ramp = _figure(across, len(rows))
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
    for part, quantity, axes in columns:
        here = [s for s in part.slopes if s.quantity == quantity]
        names = [s.layer or "the model" for s in here]
        first = [_mean(part, part.widths[0], (s.layer, quantity)) for s in here]
        for place, width in enumerate(part.widths):
            means = [_mean(part, width, (s.layer, quantity)) for s in here]
            over = [a / b if b else math.nan for a, b in zip(means, first, strict=True)]
            shade = ramp(place / (len(part.widths) - 1))
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


def draw_sweeps(
    panels: Mapping[str, Mapping[float, Sweep]], sizes: Mapping[float, str], rate: float, path: str
) -> None:
    """Mean losses over rates, a panel a name and a curve a size; a line at one rate."""
    figure, ramp = _figure(len(panels), 1)
    for at, (name, sweeps) in enumerate(panels.items(), 1):
        axes = figure.add_subplot(1, len(panels), at)
        for place, (width, sweep) in enumerate(sweeps.items()):
            shade, label = ramp(place / (len(sweeps) - 1)), sizes[width]
            axes.plot(sweep.rates, sweep.mean(), marker="o", ms=3, color=shade, label=label)
        axes.axvline(rate, color="black", linewidth=1, linestyle=":")
        axes.set(xscale="log", title=name, xlabel="rate", ylabel="loss")
        axes.legend(fontsize="x-small")
    figure.savefig(path)


def _figure(across: int, down: int) -> tuple[Any, Callable[[float], Any]]:
    """A figure for so many panels, and a ramp of colours from light, 0, to dark, 1."""
    try:
        from matplotlib import colormaps
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError(
            "plot: needs matplotlib: pip install matplotlib, or widthwise[plot]"
        ) from None
    figure = Figure(figsize=(3.4 * across, 4.2 * down), layout="constrained")
    return figure, lambda share: colormaps["viridis_r"](0.15 + 0.85 * share)


def _mean(part: Part, width: float, key: tuple[str, str]) -> float:
    """The geometric mean over seeds."""
    found = [each.sizes[key] for (at, _), each in part.measured.items() if at == width]
    return math.exp(sum(map(math.log, found)) / len(found)) if min(found) > 0 else math.nan
