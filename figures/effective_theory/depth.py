"""Forward kernels of deep encoders, block by block, against linear growth."""

from collections.abc import Callable, Sequence

import numpy as np

from repro.statistics import jackknife, slope, t_interval
from repro.verdicts.answers import THEORY, TOLERANCE, Test, over_means, trained_scales, within
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs, View
from repro.verdicts.intervals import farthest
from repro.verdicts.noise import Design
from repro.verdicts.power import Laws

GRID = "effective_theory/deep_encoder_kernels"
KINDS = {"vision": "ViT", "language": "language encoder"}
ANSWERS = (
    Test(
        id="depth.linear",
        kind=THEORY,
        statement="depth",
        column="residual stream",
        quantity="exponent of the number of attention-MLP pairs in what they add to the same "
        "token's G, the farthest from 1 of both networks",
        expected=trained_scales(
            within(
                1, 0.15, TOLERANCE, "a round figure; the nearest rival, a square root, is 1/2 away"
            )
        ),
    ),
)
# Law -> power of the number of pairs; nan: growth by one factor a pair.
POWERS = {"linear": 1.0, "square root": 0.5, "exponential": np.nan}
LAWS = {"depth.linear": Laws("linear", ("square root", "exponential"))}


def reduce(runs: Runs) -> Data:
    import pandas as pd

    rows = []
    table = runs[GRID]
    for _, run in table[table["quantity"] == "G"].iterrows():
        side = round(((8 * len(run["mean"]) + 1) ** 0.5 - 1) / 2)
        same = np.equal(*np.triu_indices(side))
        row = {"kind": run["model"]["kind"], "seed": run["seed"], "block": run["block"]}
        for name, chosen in (("diagonal", same), ("off", ~same)):
            for suffix, values in (("", run["mean"]), ("_expected", run["expected"])):
                row[name + suffix] = np.array(values)[chosen].mean()
        rows.append(row)
    return pd.DataFrame(rows)


def added(data: Data, kind):
    """Numbers of pairs 1, 2, ..., and what they add to G: array (seeds, pairs)."""
    rows = data[data["kind"] == kind]
    G = rows.pivot(index="seed", columns="block", values="diagonal").to_numpy()
    after = G[:, 2::2] - G[:, :1]  # block 1 is the stem, then attention and MLP in turn
    return np.arange(1, after.shape[1] + 1), after


def exponents(data: Data, seeds):
    """Network -> exponent, of the mean over some seeds."""
    found = {}
    for kind in KINDS:
        pairs, after = added(data, kind)
        found[kind] = slope(np.log(pairs), np.log(after[list(seeds)].mean(0)))
    return found


def _exponent_of(data: Data, kind: str) -> Callable[[Sequence[int]], float]:
    """Seeds -> the exponent of a network."""
    return lambda seeds: exponents(data, seeds)[kind]


def measure(data: Data, scale: str) -> Measured:
    seeds = range(data["seed"].nunique())
    # The recursion is of G's expectation, so seeds are averaged before the logarithm is taken.
    each = [over_means(_exponent_of(data, kind), seeds) for kind in KINDS]
    words = ", ".join(f"{kind} {one.value:.3f}" for kind, one in zip(KINDS, each, strict=True))
    return {"depth.linear": farthest(each, 1.0, words)}


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """The recorded growth from first block to last, in between as a law has it."""
    design = Design(recorded, ["diagonal"], ["kind", "block"], log=False)
    pairs = (recorded["block"].to_numpy() - 1) / 2
    share = pairs / pairs.max()
    for kind in KINDS:
        at = design.rows(kind=kind)
        first, last = (design.mean[at[pairs[at] == end], 0][0] for end in (0, pairs.max()))
        power = POWERS[law]
        if np.isnan(power):
            design.mean[at, 0] = first * (last / first) ** share[at]
        else:
            design.mean[at, 0] = first + (last - first) * share[at] ** power
    return design.draw(rng)


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, axes = drawing.panels(len(KINDS), width=4.8)
    seeds = range(data["seed"].nunique())
    for panel, (kind, name) in zip(axes[0], KINDS.items(), strict=True):
        rows = data[data["kind"] == kind]
        for entry, label, color in (("diagonal", "same token", "C0"), ("off", "two tokens", "C1")):
            by_block = rows.pivot(index="block", columns="seed", values=entry)
            found = [t_interval(values) for values in by_block.to_numpy()]
            drawing.bars(panel, by_block.index, found, ms=3, color=color, label=label)
            expected = rows.groupby("block")[f"{entry}_expected"].first()
            panel.plot(expected.index, expected, "-", lw=1, color=color)
        panel.plot([], [], "-", lw=1, color="0.3", label="recursions")
        draw_rivals(panel, rows)
        measured = jackknife(_exponent_of(data, kind), seeds)
        panel.set_title(f"{name}: exponent {measured[0]:.3f}", fontsize=9)
        panel.set_xlabel(r"block $\ell$")
        panel.set_ylabel(r"$G^{(\ell)}$, mean over tokens")
        panel.legend(loc="upper left", fontsize=8)
    return figure


def draw_rivals(panel, rows):
    """Rival laws from the same token's first G to its last."""
    G = rows.groupby("block")["diagonal"].mean()
    share = np.linspace(0, 1, 100)
    first, last = G.iloc[0], G.iloc[-1]
    blocks = G.index[0] + share * (G.index[-1] - G.index[0])
    line = {"ls": "--", "lw": 1, "color": "0.6", "zorder": 1}
    panel.plot(blocks, first + (last - first) * share**0.5, **line)
    words = "rivals: square root (above), exponential"
    panel.plot(blocks, first * (last / first) ** share, **line, label=words)


FIGURE = Figure(
    title="Section I.1. Growth of the kernels with depth",
    outcome="What blocks add to the kernel grows as depth^{depth.linear}",
    caption=(
        "Mean kernel G of the residual stream, same token and two tokens, over random "
        "initializations of a Vision Transformer and of a language encoder with 24 attention-MLP "
        "pairs (Dinan, Yaida & Zhang, I.1.C to E): dots measured, lines the recursions 1.65 and "
        "1.77; bars, mostly hidden: 95 % intervals. The exponent is that of the "
        "number of pairs in the same token's growth; dashed: the rivals that it is held against."
    ),
    studies=(GRID,),
    view=View("block", "diagonal", {"kind": "vision"}),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
