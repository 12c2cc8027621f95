"""The picture of a coordinate check: sizes along the network, a curve a width."""

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from widthwise.checks.coordinates import CoordinateCheck

MANY = 24  # layers beyond so many are numbered along an axis, not named
COLOURS = {"right": "tab:green", "unclear": "tab:orange", "wrong": "tab:red"}


def draw(check: "CoordinateCheck", path: str) -> None:
    """Every size over that of the narrowest model, in the network's order, a panel a quantity.

    Widths are a ramp from light to dark; where nothing depends on the width all curves lie on the
    line at 1. What is not right has a mark below.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    quantities = list(dict.fromkeys(s.quantity for s in check.slopes))
    figure = Figure(figsize=(3.4 * len(quantities), 4.2), layout="constrained")
    figure.suptitle(check.reason, fontsize="medium", color=COLOURS[check.verdict], wrap=True)
    panels: Any = figure.subplots(1, len(quantities), squeeze=False)[0]
    ramp = colormaps["viridis_r"]
    for axes, quantity in zip(panels, quantities, strict=True):
        here = [s for s in check.slopes if s.quantity == quantity]
        names = [s.layer or "the model" for s in here]
        first = [_mean(check, check.widths[0], (s.layer, quantity)) for s in here]
        for place, width in enumerate(check.widths):
            means = [_mean(check, width, (s.layer, quantity)) for s in here]
            over = [a / b if b else math.nan for a, b in zip(means, first, strict=True)]
            shade = ramp(0.15 + 0.85 * place / (len(check.widths) - 1))
            axes.plot(range(len(here)), over, marker="o", ms=3, color=shade, label=f"{width:g}")
        axes.axhline(1.0, color="black", linewidth=1, linestyle=":")
        axes.set(yscale="log", title=quantity, ylabel="over the narrowest model's")
        for place, each in enumerate(here):
            if each.verdict != "right":
                axes.axvline(place, color="tab:red", linewidth=0.8, alpha=0.5)
        if len(here) <= MANY:
            axes.set_xticks(range(len(here)), names, rotation=90, fontsize="x-small")
        else:
            axes.set_xlabel("in the network's order")
    panels[0].legend(title="width", fontsize="x-small", title_fontsize="x-small")
    figure.savefig(path)


def _mean(check: "CoordinateCheck", width: float, key: tuple[str, str]) -> float:
    """The geometric mean over seeds."""
    found = [each.sizes[key] for (at, _), each in check.measured.items() if at == width]
    return math.exp(sum(map(math.log, found)) / len(found)) if min(found) > 0 else math.nan
