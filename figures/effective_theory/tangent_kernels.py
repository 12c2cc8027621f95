"""Neural tangent kernels at initialization by group, measured at growing width, and I.3's means."""

from dataclasses import replace
from typing import Any

import numpy as np

from figures.effective_theory import _further
from figures.effective_theory._tangents import (
    COLUMNS,
    ENTRIES,
    KINDS,
    MATRICES,
    at_head,
    by_seed,
    errors,
    exponents,
    stated,
)
from repro.statistics import left_out_interval
from repro.verdicts.answers import (
    THEORY,
    TOLERANCE,
    Measurement,
    Test,
    all_scales,
    at_most,
    trained_scales,
    within,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs, View
from repro.verdicts.intervals import farthest
from repro.verdicts.noise import Design
from repro.verdicts.power import AS_CLAIMED, Laws
from studies.effective_theory import _encoders
from widthwise.parametrization import s_of

GRID = "effective_theory/encoder_tangent_kernels"
S_FAMILY = "effective_theory/encoder_s_family"
SCATTERED = ("Q", "K")  # whose parts scatter most from one initialization to the next
FARTHEST = "the farthest over groups and networks"
# At smoke few draws of small widths, whose terms of order 1/n change exponents by 0.1 and more,
# leave them to noise.
POWERS = all_scales(within(0, 0.15, TOLERANCE, "a round figure; rivals are 1/2 away"))
FEW_DRAWS = "room for the scatter of this many draws; a round figure, held against no rival"
LEFT_OVER = (
    "|measured / recursion - 1| by a line in 1/n at 1/n = 0 (two tokens: of the same token's "
    "part), the largest over parts, entries and networks"
)
ANSWERS = (
    Test(
        id="tangent_kernels.uniform-sgd",
        kind=THEORY,
        statement="one-rate-grows",
        column="kernel's parts, SGD",
        quantity=f"exponent in n less the stated one, with one rate and with the factors, "
        f"{FARTHEST} from 0",
        expected=POWERS,
    ),
    Test(
        id="tangent_kernels.uniform-adamw",
        kind=THEORY,
        statement="one-rate-grows",
        column="kernel's parts, AdamW",
        quantity=f"exponent in n less the stated one, with one rate and with the factors, "
        f"{FARTHEST} from 0",
        expected=POWERS,
    ),
    Test(
        id="tangent_kernels.other-s",
        kind=THEORY,
        statement="factors",
        column="s = 1/2 and 1",
        quantity=f"exponent in n with the factors, {FARTHEST} from 0, both s and optimizers",
        expected=trained_scales(
            within(0, 0.25, TOLERANCE, "a round figure; a factor n^1/2 left out is outside")
        ),
    ),
    Test(
        id="tangent_kernels.recursions",
        kind=THEORY,
        statement="kernels",
        column="tangent kernel",
        quantity=LEFT_OVER,
        expected={
            "reduced": at_most(0.05, TOLERANCE, FEW_DRAWS),
            "workstation": at_most(0.05, TOLERANCE, FEW_DRAWS),
            "paper": at_most(0.02, TOLERANCE, FEW_DRAWS),
        },
    ),
    Test(
        id="tangent_kernels.recursions-qk",
        kind=THEORY,
        statement="kernels",
        column="tangent kernel, Q and K",
        quantity=LEFT_OVER,
        expected={
            "reduced": at_most(0.2, TOLERANCE, FEW_DRAWS),
            "workstation": at_most(0.2, TOLERANCE, FEW_DRAWS),
            "paper": at_most(0.05, TOLERANCE, FEW_DRAWS),
        },
    ),
)
# Law -> what is added to which groups' exponents.
OTHER_POWERS = {"matrices n^1/2 faster": ([*MATRICES], 0.5), "stem n^1/2 faster": (["stem"], 0.5)}
LAWS = dict.fromkeys(
    (f"tangent_kernels.{name}" for name in ("uniform-sgd", "uniform-adamw")),
    Laws(AS_CLAIMED, tuple(OTHER_POWERS)),
)
KEYS = ["kind", "s", "group"]


def reduce(runs: Runs) -> Data:
    import pandas as pd

    plain, others = runs[GRID].assign(s=0.0), runs[S_FAMILY]
    others = others.assign(s=[s_of(name) for name in others["parametrization"]])
    table = pd.concat([plain, others], ignore_index=True)
    table["kind"] = [_encoders.label(model) for model in table["model"]]
    for entry in ENTRIES:
        table[f"{entry}_expected"] = table[f"{entry}_expected"].astype(float)  # None: not known
    table["group"] = table["part"].str.split(".").str[0]
    keys = ["kind", "s", "width", "seed", "block", "group", "part"]
    return table[[*keys, *COLUMNS]].sort_values(keys, ignore_index=True)


def deviations(heads, value, factor, s=0.0):
    """Function of seeds: exponents less the stated ones, or less 0 where there is a factor; also
    (network, group) of each. heads: from `at_head`."""
    parts, names = [], []
    for kind in KINDS:
        values, groups = by_seed(heads[kind, s], value, factor)
        wanted = np.zeros(len(groups)) if factor else stated(kind, groups, value)
        parts.append((values, heads[kind, s].widths, wanted))
        names += [(kind, group) for group in groups]

    def of(seeds):
        return np.concatenate(
            [exponents(v[list(seeds)], widths) - wanted for v, widths, wanted in parts]
        )

    return of, names


def left_over(heads, chosen, kinds=tuple(KINDS)):
    """Function of seeds: error of each part's entries at 1/n = 0, by a line in 1/n; also (network,
    part, entry) of each. heads: from `at_head`. chosen: whether a group is meant."""
    parts, names = [], []
    for (kind, s), head in heads.items():
        if s or kind not in kinds:
            continue
        inverse = 1 / head.widths
        for i, part in enumerate(head.parts):
            if chosen(part.split(".")[0]):
                parts += [errors(head, entry)[i] for entry in ENTRIES]
                names += [(kind, part, entry) for entry in ENTRIES]
    found = np.stack(parts)  # (parts, seeds, widths)

    def of(seeds):
        return np.polyfit(inverse, found[:, list(seeds)].mean(1).T, 1)[1]

    return of, names


def each_part(of, names, seeds):
    """A Measurement of each value of a function of seeds, with its jackknife interval. names: of
    each, the detail."""
    whole = of(seeds)
    without = np.stack([of([s for s in seeds if s != left]) for left in seeds])
    return [
        Measurement(float(value), *left_out_interval(value, rest), len(seeds), "", ", ".join(name))
        for value, rest, name in zip(whole, without.T, names, strict=True)
    ]


def measure(data: Data, scale: str) -> Measured:
    sgd, adamw = ("diagonal", "sgd"), ("normalized", "adam")
    heads = at_head(data)
    cases = {
        "uniform-sgd": [deviations(heads, sgd[0], None), deviations(heads, *sgd)],
        "uniform-adamw": [deviations(heads, adamw[0], None), deviations(heads, *adamw)],
        "other-s": [deviations(heads, *each, s) for each in (sgd, adamw) for s in (0.5, 1.0)],
        "recursions": [left_over(heads, lambda group: group not in SCATTERED)],
        "recursions-qk": [left_over(heads, lambda group: group in SCATTERED)],
    }
    # The recursions give expectations over draws of the weights: parts are of means over seeds.
    measured = {}
    for name, found in cases.items():
        seeds = range(heads["vision", 0.5 if name == "other-s" else 0.0].seeds)
        parts = [part for of, names in found for part in each_part(of, names, seeds)]
        largest = farthest(parts, 0.0)
        at = max(parts, key=lambda part: abs(part.value)).detail
        if name.startswith("recursions") and largest.value < 0:  # a size
            turned = (-largest.value, -largest.high, -largest.low)
            largest = Measurement(*turned, largest.n)
        measured[f"tangent_kernels.{name}"] = replace(largest, detail=f"at {at}")
    return measured


def every_block(data: Data, kind):
    """Rows of the width at which every block was looked at."""
    rows = data[(data["kind"] == kind) & (data["s"] == 0)]
    return rows[rows["width"] == rows.loc[rows["block"] == 1, "width"].max()]


def totals(data: Data, kind, entry="diagonal"):
    """Blocks, kernels with s = 0 factors of SGD (seeds, blocks), and the expected ones (blocks)."""
    rows = every_block(data, kind)
    found = [
        rows.assign(value=rows[column] * rows["sgd"]).pivot_table(
            index="seed", columns="block", values="value", aggfunc="sum"
        )
        for column in (entry, f"{entry}_expected")
    ]
    return found[0].columns.to_numpy(), found[0].to_numpy(), found[1].iloc[0].to_numpy()


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Every part as a law has it, with the recorded noise between seeds."""
    import pandas as pd

    recorded = recorded[recorded["kind"].isin(KINDS)]
    axes = ["kind", "s", "block", "part"]
    groups, more = OTHER_POWERS.get(law, ([], 0.0))
    added = np.where(recorded["group"].isin(groups), more, 0.0)
    points = recorded.assign(x=np.log(recorded["width"]))
    x = (points["x"] - points.groupby(axes)["x"].transform("mean")).to_numpy()

    sums = Design(recorded, ENTRIES, [*axes, "width"], log=False)
    expected = recorded[[f"{entry}_expected" for entry in ENTRIES]].to_numpy()
    sums.mean[:] = expected * np.exp(added * x)[:, None]
    drawn = sums.draw(rng)
    # Of blocks before the last there is none.
    last = recorded["block"] == recorded.groupby("kind")["block"].transform("max")
    outputs = recorded[last]
    roots = Design(outputs, ["normalized"], [*axes, "width"])
    power = [stated(kind, [g], "normalized", s)[0] for kind, s, g in outputs[KEYS].to_numpy()]
    middle = pd.Series(roots.mean[:, 0]).groupby([outputs[key].to_numpy() for key in axes])
    roots.mean[:, 0] = middle.transform("mean") + (power + added[last]) * x[last]
    drawn.loc[last, "normalized"] = roots.draw(rng)["normalized"]
    return drawn


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    networks = _further.names(data, KINDS)
    figure, axes = drawing.panels(len(networks), 4, width=4.8, height=2.9)
    heads = at_head(data)
    optimizers = (("SGD", "diagonal", "sgd"), ("AdamW", "normalized", "adam"))
    for column, (kind, name) in zip(axes.T, networks.items(), strict=True):
        for axis, (optimizer, value, factor) in zip(column, optimizers, strict=False):
            draw_exponents(axis, heads, kind, value, factor)
            axis.set_title(f"{name}: {optimizer}, output's parts", fontsize=9)
        if _further.solved(data, kind):
            column[2].set_title(f"{name}: parts against the recursions", fontsize=9)
            draw_errors(column[2], data, kind)
        else:
            column[2].axis("off")
        draw_blocks(column[3], data, kind, drawing)
        n = every_block(data, kind)["width"].iloc[0]
        column[3].set_title(f"{name}: SGD, factors of $s = 0$, $n = {n}$", fontsize=9)
    axes[0, 0].legend(fontsize=7.5, ncols=2, loc="upper left", columnspacing=1)
    return figure


def draw_exponents(axes, heads, kind, value, factor):
    """Exponent of each group's part with 95 % interval, with one rate and with factors of every s;
    what is stated, and the rivals."""
    from repro.verdicts import drawing

    one_rate = ("one rate", heads[kind, 0.0], None, {"fmt": "o", "color": "black"})
    shown = [one_rate]
    for s, marker, color in ((0.0, "s", "C0"), (0.5, "^", "C2"), (1.0, "D", "C9")):
        if (kind, s) in heads:
            style = {"fmt": marker, "color": color, "mfc": "white"}
            shown.append((f"factors of $s = {s:g}$", heads[kind, s], factor, style))
    for i, (label, head, factored, style) in enumerate(shown):
        values, groups = by_seed(head, value, factored)
        places = np.arange(len(groups)) + 0.18 * (i - 1.5)
        found = interval(values, head.widths)
        look: dict[str, Any] = {"lw": 1, **style}
        drawing.bars(axes, places, found, ms=3.5, label=label, **look)
    if kind not in KINDS:
        slanted = {"rotation": 60, "ha": "right", "fontsize": 7}
        axes.set_xticks(range(len(groups)), groups, **slanted)
        axes.set_ylabel("exponent in $n$")
        return
    law = stated(kind, groups, value)
    ends = np.arange(len(groups)) - 0.45, np.arange(len(groups)) + 0.45
    paper = {"color": drawing.PAPER, "lw": 1, "zorder": 1}
    axes.hlines(law, *ends, **paper, label="the paper's")
    axes.axhline(0, **paper | {"ls": ":"})
    rivals = {
        i: more for gs, more in OTHER_POWERS.values() for i, g in enumerate(groups) if g in gs
    }
    at = np.array([*rivals])
    moved = [law[i] + more for i, more in rivals.items()]
    grey = {"color": "0.6", "lw": 1, "ls": "--", "zorder": 1}
    axes.hlines(moved, at - 0.45, at + 0.45, **grey, label="rivals")
    words = ["\npositions" if group == "positions" else group for group in groups]
    axes.set_xticks(range(len(groups)), words)
    axes.set_ylabel("exponent in $n$")
    axes.set_ylim(-0.25, max(moved) + 0.9)  # room for the legend


def interval(values, widths):
    """(exponent, low, high) of each group, its 95 % interval over seeds. values: (seeds, groups,
    widths)."""
    whole = exponents(values, widths)
    without = [exponents(np.delete(values, seed, 0), widths) for seed in range(len(values))]
    ends = [left_out_interval(*each) for each in zip(whole, np.transpose(without), strict=True)]
    return [(power, *each) for power, each in zip(whole, ends, strict=True)]


def draw_errors(axes, data: Data, kind):
    """Errors of each part at every width, and where a line in 1/n has them at 1/n = 0."""
    from repro.verdicts import drawing

    head = at_head(data)[kind, 0.0]
    of, names = left_over({(kind, 0.0): head}, lambda group: True, [kind])
    seeds = range(head.seeds)
    ends, without = of(seeds), np.stack([of([s for s in seeds if s != left]) for left in seeds])
    spread = np.sqrt((len(seeds) - 1) * without.var(0))
    means = {entry: errors(head, entry).mean(1) for entry in ENTRIES}
    for end, bar, (_, part, entry) in zip(ends, spread, names, strict=True):
        i = head.parts.index(part)
        place = i + (0.2 if entry == "off" else -0.2)
        for j, value in enumerate(means[entry][i]):
            color = f"{0.75 * (1 - j / (len(head.widths) - 1)):.2f}"
            face = color if entry == "diagonal" else "none"
            axes.plot(place, 100 * value, "o", ms=4, mfc=face, mec=color)
        axes.errorbar(place + 0.15, 100 * end, 100 * bar, fmt="_", ms=6, lw=1, color="C3")
    axes.axhline(0, lw=0.8, color="0.6")
    widths = f"{head.widths[0]:g} (pale) to {head.widths[-1]:g} (black)"
    axes.plot([], [], "o", ms=4, color="black", label=f"same token, n = {widths}")
    axes.plot([], [], "o", ms=4, mfc="none", mec="black", label="two tokens")
    axes.errorbar([], [], [], fmt="_", ms=6, lw=1, color="C3", label="at 1/n = 0, one error")
    drawing.legend_above(axes, 2)
    axes.set_xticks(range(len(head.parts)), head.parts, rotation=60, fontsize=8)
    axes.set_ylabel("less recursion, % of the part")


def draw_blocks(axes, data: Data, kind, drawing):
    """Tangent kernels of every block, all groups together, measured and by the recursions."""
    for entry, label, color in (
        ("diagonal", "same token", drawing.COLORS[0]),
        ("off", "two tokens", drawing.COLORS[1]),
    ):
        blocks, found, expected = totals(data, kind, entry)
        error = found.std(0, ddof=1) / len(found) ** 0.5
        axes.errorbar(blocks, found.mean(0), error, fmt="o", ms=4, lw=1, color=color, label=label)
        if _further.solved(data, kind):
            axes.plot(blocks, expected, "-", lw=1, color=color)
    if _further.solved(data, kind):
        axes.plot([], [], "-", lw=1, color="0.3", label="recursions")
    axes.set_xticks(blocks)
    last = {"vision": "pooled head", "language": "tied head"}.get(kind, "outputs")
    axes.set_xlabel(rf"block $\ell$ ({blocks[-1]}: {last})")
    axes.set_ylabel(r"$\Theta^{(\ell)}$, mean over tokens")
    axes.legend(loc="upper left", fontsize=8)


FIGURE = Figure(
    title="Section I.3. Tangent kernels of Transformers at initialization, by group",
    outcome=(
        "Tangent kernels differ from the stated powers of n by n^{tangent_kernels.uniform-sgd} at "
        "most with SGD, n^{tangent_kernels.uniform-adamw} with AdamW"
    ),
    caption=(
        "Each group's part of the neural tangent kernel of a Vision Transformer and of a language "
        "encoder with a tied head, mean over random initializations. First and second row: "
        "exponents in n with 95 % intervals, with one learning rate for all, as stated (solid red) "
        "and half a power off (dashed), and with the factors of equations 1.99 to 1.116, stated 0 "
        "(Dinan, Yaida & Zhang). AdamW: gradients over their group's root mean square. Third row: "
        "each part against the recursions, filled for the same token or image, open for two, the "
        "darker the wider; bars: a line in 1/n at 1/n = 0, one standard error. Last: the kernel of "
        "every block at one width, all groups together; lines the recursions."
    ),
    studies=(GRID, S_FAMILY),
    view=View("width", "sgd", {"kind": "language", "block": 6, "s": 0.0}),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
