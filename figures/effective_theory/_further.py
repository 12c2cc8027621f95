"""Networks that a study adds to the paper's two: how their kernels are shown."""

import numpy as np

from repro.statistics import left_out_interval, slope
from repro.verdicts.figure import Data

COLORS = ("C0", "C1", "C2", "C4", "C5", "C6", "C7", "C8", "C9")


def names(data: Data, papers):
    """Kind -> title: the paper's networks, then those of the table that are not."""
    return dict(papers) | {kind: kind for kind in data["kind"].unique() if kind not in papers}


def solved(data: Data, kind):
    """Whether recursions are known of a network."""
    return bool(
        np.isfinite(data.loc[data["kind"] == kind, "diagonal_expected"].astype(float)).all()
    )


def draw_growth(axes, data: Data, kind, quantity):
    """The same token's (or input's) kernel against the width, block by block, with the fitted power
    of n and its 95 % interval. data: the table of `kernels`."""
    of = data[(data["kind"] == kind) & (data["quantity"] == quantity)]
    blocks = sorted(of["block"].unique())
    if not blocks:  # a network without layer_norms
        axes.axis("off")
        return
    for block, color in zip(blocks, np.resize(COLORS, len(blocks)), strict=True):
        rows = of[of["block"] == block]
        values = rows.pivot(index="left_out", columns="width", values="diagonal")
        widths, found = values.columns.to_numpy(float), values.loc[-1].to_numpy()
        words = f"block {block}"
        if (values.to_numpy() > 0).all():
            powers = [slope(np.log(widths), np.log(each)) for each in values.to_numpy()]
            ends = left_out_interval(powers[0], powers[1:])
            words += ": exponent {:.2f} [{:.2f}, {:.2f}]".format(powers[0], *ends)
        axes.plot(widths, found, "o-", ms=4, lw=0.8, color=color, label=words)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("width $n$")
    axes.set_ylabel("kernel, mean over tokens")
    if (highest := of["diagonal"].max()) > 0:
        axes.set_ylim(0, 1.6 * highest)  # room for the legend
    axes.legend(loc="upper left", fontsize=7, ncols=1 + len(blocks) // 4)
