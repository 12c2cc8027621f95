"""How strategies and learning rates look, the same in every figure of the paper, and best rates
that are compared."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from repro.verdicts.answers import Measurement, over_means
from studies.effective_theory._strategies import STRATEGIES

# C0, ... are the colour-blind palette of `repro.verdicts.drawing.style`
# Why a control that the paper does not have is held against a sign.
AHEAD_TOO = "the paper's sign, in a setting of ours"
# Why best rates that the paper calls equal may be a factor of 2 apart.
OCTAVE = "one step of the paper's grid, a factor of 2, to either side"
COLORS = {"standard": "black", "neural-tangent": "C0", "hybrid": "C2", "maximal-update": "C3"}
LINES = {"standard": "-", "neural-tangent": "--", "hybrid": "-.", "maximal-update": ":"}
FURTHER = ("C1", "C4", "C5", "C8", "C9")  # of strategies that the paper does not have
PAPER = tuple(COLORS)


def style(strategy: str) -> dict:
    """Colour and line style of a strategy, the same in every figure."""
    further = [name for name in STRATEGIES if name not in PAPER]
    place = further.index(strategy) % len(FURTHER) if strategy in further else 0
    return {
        "color": COLORS.get(strategy, FURTHER[place]),
        "ls": LINES.get(strategy, (0, (5, 1, 1, 1, 1, 1))),
    }


def matrices_powers(rates, factor):
    """Rate -> the matrices' rate as a power of two. factor: matrices' rate over rate."""
    return {rate: round(math.log2(rate * factor)) for rate in sorted(rates)}


def rate_styles(powers, best, colors):
    """Rate -> how its curve is drawn: the best thick, higher ones dashed. powers: as of
    `matrices_powers`.
    colors: power -> its colour, the same in all panels."""
    styles = {
        rate: {"color": colors[power], "ls": "--" if rate > best else "-"}
        for rate, power in powers.items()
    }
    styles[best] |= {"lw": 2.2, "zorder": 3}
    return styles


def mark_rates(panel, printed, rivals):
    """Vertical lines, named in the legend, at the rate that the paper prints and at those that
    rival laws have; one that lies far from all that was run is named and not drawn.

    rivals: name -> rate.
    """
    from repro.verdicts.drawing import PAPER

    panel.axvline(printed, ls="--", lw=1, color=PAPER, zorder=0, label="the paper's")
    low, high = panel.get_xlim()
    for (name, rate), line in zip(rivals.items(), (":", "-."), strict=False):
        label = f"rival: ${name.replace('^1/2', '^{1/2}')}$"
        if low <= rate <= high:
            panel.axvline(rate, ls=line, lw=1.2, color="0.5", zorder=0, label=label)
        else:
            label += f", at $2^{{{math.log2(rate):.0f}}}$"
            panel.plot([], [], ls=line, lw=1.2, color="0.5", label=label)


def ratio_of_rates(
    octaves: Callable[[Sequence[int]], float], seeds: Iterable[int], problem: str, detail: str
) -> Measurement:
    """A ratio, with an interval that is symmetric in its logarithm. octaves: log2 of it, of the
    mean over some seeds."""
    found = over_means(octaves, seeds, problem, detail)
    ends = {name: 2.0 ** getattr(found, name) for name in ("value", "low", "high")}
    return replace(found, **ends)
