"""Root mean squares against the width, with the power that they fall with."""

import numpy as np

from repro.statistics import jackknife
from repro.verdicts.power import AS_CLAIMED

POWERS = {AS_CLAIMED: -0.5, "n^-1/4": -0.25, "n^-1": -1.0}  # of distances that vanish


def draw_points(axes, widths, values, label, color, marker):
    """Root mean squares against n; values: (seeds, widths)."""
    axes.loglog(widths, pooled(values), marker, ms=4, color=color, label=label)


def pooled(values):
    """Root mean squares over seeds."""
    return np.sqrt((values**2).mean(0))


def draw_power(axes, widths, values, label, color, marker):
    """`draw_points` with the fitted power law, its exponent and the 95 % interval of that."""

    def fit(seeds):
        return np.polyfit(np.log(widths), np.log(pooled(values[list(seeds)])), 1)

    power, intercept = fit(range(len(values)))
    found = jackknife(lambda seeds: float(fit(seeds)[0]), range(len(values)))
    words = "{:.2f} [{:.2f}, {:.2f}]".format(*found)
    draw_points(axes, widths, values, f"{label}: {words}", color, marker)
    axes.loglog(widths, np.exp(intercept) * widths**power, "-", lw=0.8, color=color)


def draw_laws(axes, drawing, widths):
    """The paper's power of n and its rivals, from above all that is drawn."""
    start = 1.3 * max(line.get_ydata()[0] for line in axes.lines if len(line.get_ydata()))
    paper = "paper: $n^{-1/2}$"
    rivals = {"$n^{-1/4}$": POWERS["n^-1/4"], "$n^{-1}$": POWERS["n^-1"]}
    drawing.guides(axes, widths, start, {paper: POWERS[AS_CLAIMED], **rivals}, paper)


def finish_power(axes, drawing, label):
    axes.set_xscale("log", base=2)
    drawing.log2_axis(axes.xaxis)
    drawing.plain_ticks(axes.yaxis)
    axes.set_xlabel("width $n$ before upscaling")
    axes.set_ylabel(label)
    low, high = axes.get_ylim()
    axes.set_ylim(low / (high / low) ** 0.75, high)  # room for the legend
    axes.legend(loc="lower left", fontsize=8)
