"""Neural tangent kernels at initialization by group, measured at growing width, and I.3's means."""

import numpy as np

from repro.judge.claims import THEORY, Claim, all_scales, at_most, over_means, within
from repro.judge.noise import Design
from repro.judge.power import AS_CLAIMED, Laws
from repro.judge.view import View

TITLE = "Section I.3. Tangent kernels of Transformers at initialization, by group"
CAPTION = (
    "Each group's part of the neural tangent kernel of a Vision Transformer and of a language "
    "encoder with a tied head, mean over random initializations, with one learning rate for all "
    "and with the factors of equations 1.99 to 1.116, s = 0 (Dinan, Yaida & Zhang). AdamW: "
    "gradients over their group's root mean square. Last column: the kernel of every block, all "
    "groups together; dots measured, bars one standard error, lines the recursions."
)
GRID = "effective_theory/encoder_tangent_kernels"
STUDIES = (GRID,)
KINDS = {"vision": "ViT, pooled head", "language": "language encoder, tied head"}
GROUPS = ("stem", "positions", "Q", "K", "V", "U", "W", "X", "head", "bias")
MATRICES = dict.fromkeys(("Q", "K", "V", "U", "W", "X"), 1.0)
UNIFORM = {
    "vision": {"stem": 0.0, "positions": 0.0, **MATRICES, "head": 1.0, "bias": 0.0},
    "language": {"stem": 0.0, "positions": 0.0, **MATRICES, "head": 0.0},
}
# The gradient's root mean square is n^-1/2, that of head and bias of a classifier n^0.
ROOT = {
    "vision": dict.fromkeys(GROUPS, 0.5) | {"head": 0.0, "bias": 0.0},
    "language": dict.fromkeys(GROUPS, 0.5),
}
FARTHEST = "the farthest over groups and networks"
# At smoke few draws of small widths, whose terms of order 1/n change exponents by 0.1 and more,
# leave them to noise.
POWERS = all_scales(within(0, 0.15))
VIEW = View("width", "sgd", {"kind": "language", "block": 6})
CLAIMS = (
    Claim(
        id="tangent_kernels.uniform-sgd",
        kind=THEORY,
        statement="With one learning rate for all, SGD's parts grow as n for the matrices and the "
        "head, and not at all for stem, positions, bias and a tied head; the s = 0 factors undo it",
        source="eq. 1.117, 1.122, 1.123, 1.151 to 1.154, 1.168, 1.169, 1.178, 1.179, 1.186",
        quantity=f"exponent in n less the stated one, with one rate and with the factors, "
        f"{FARTHEST} from 0",
        expected=POWERS,
    ),
    Claim(
        id="tangent_kernels.uniform-adamw",
        kind=THEORY,
        statement="With one learning rate for all, AdamW's parts grow as n^3/2 for the matrices, n "
        "for the head, n^1/2 for stem, positions and a tied head, and not at all for the bias; the "
        "s = 0 factors undo this",
        source="eq. 1.95, 1.125, 1.132, 1.158, 1.171, 1.181, 1.189",
        quantity=f"exponent in n less the stated one, with one rate and with the factors, "
        f"{FARTHEST} from 0",
        expected=POWERS,
    ),
    Claim(
        id="tangent_kernels.recursions",
        kind=THEORY,
        statement="The recursions give the mean tangent kernel of every block",
        source="eq. 1.98 with 1.117 to 1.190",
        quantity="|measured / recursion - 1| of all groups together with the s = 0 factors of SGD, "
        "one width, mean over blocks and networks",
        expected={"smoke": at_most(0.15), "reduced": at_most(0.04), "paper": at_most(0.02)},
    ),
)
# Law -> what is added to which groups' exponents.
OTHER_POWERS = {"matrices n^1/2 faster": ([*MATRICES], 0.5), "stem n^1/2 faster": (["stem"], 0.5)}
# Law -> groups whose terms are taken so many times.
OTHER_TERMS = {
    "no terms of Q and K": (["Q", "K"], 0),
    "no term of X": (["X"], 0),
    "twice the terms of U": (["U"], 2),
}
LAWS = dict.fromkeys(
    (f"tangent_kernels.{name}" for name in ("uniform-sgd", "uniform-adamw")),
    Laws(AS_CLAIMED, tuple(OTHER_POWERS)),
)
LAWS["tangent_kernels.recursions"] = Laws(AS_CLAIMED, tuple(OTHER_TERMS))


def reduce(runs):
    table = runs[GRID].assign(kind=[model["kind"] for model in runs[GRID]["model"]])
    table["group"] = table["part"].str.split(".").str[0]
    keys = ["kind", "width", "seed", "block", "group", "sgd", "adam"]
    values = ["diagonal", "diagonal_expected", "off", "off_expected", "normalized"]
    return table.groupby(keys, as_index=False)[values].sum()


def at_head(data, kind):
    """Rows of the network's own kernel."""
    rows = data[data["kind"] == kind]
    return rows[rows["block"] == rows["block"].max()]


def by_seed(rows, value, factor=None):
    """Array (seeds, groups, widths) of a column, by a factor's where one is named."""
    values = rows[value] * (1.0 if factor is None else rows[factor])
    groups = [g for g in GROUPS if g in set(rows["group"])]
    widths, width = np.unique(rows["width"], return_inverse=True)
    seeds, seed = np.unique(rows["seed"], return_inverse=True)
    found = np.full((len(seeds), len(groups), len(widths)), np.nan)
    found[seed, rows["group"].map(groups.index), width] = values
    return found, groups, widths


def exponents(values, widths):
    """Exponent in n of each group's mean over seeds; values: (seeds, groups, widths)."""
    x = np.log(widths) - np.log(widths).mean()
    return np.log(values.mean(0)) @ x / (x @ x)


def stated(kind, groups, value):
    """Exponents with one learning rate for all."""
    return [UNIFORM[kind][g] + (ROOT[kind][g] if value == "normalized" else 0.0) for g in groups]


def deviations(data, value, factor):
    """Function of seeds: exponents less the stated ones, or less 0 where there is a factor.

    Also (network, group) of each.
    """
    parts, names = [], []
    for kind in KINDS:
        values, groups, widths = by_seed(at_head(data, kind), value, factor)
        wanted = np.zeros(len(groups)) if factor else stated(kind, groups, value)
        parts.append((values, widths, wanted))
        names += [(kind, group) for group in groups]

    def of(seeds):
        return np.concatenate(
            [exponents(v[list(seeds)], widths) - wanted for v, widths, wanted in parts]
        )

    return of, names


def measure(data, scale):
    seeds = range(data["seed"].nunique())
    cases = {
        "uniform-sgd": (("diagonal", None), ("diagonal", "sgd")),
        "uniform-adamw": (("normalized", None), ("normalized", "adam")),
    }
    measured = {}
    for name, columns in cases.items():
        found = [deviations(data, *column) for column in columns]

        def every(sample, found=found):
            return np.concatenate([of(sample) for of, _ in found])

        def farthest(sample, every=every):
            return float(max(every(sample), key=abs))

        at = [n for _, names in found for n in names][int(np.argmax(np.abs(every(seeds))))]
        measured[f"tangent_kernels.{name}"] = over_means(
            farthest, seeds, detail=f"at {at[0]}, {at[1]}"
        )
    kernels = [totals(data, kind) for kind in KINDS]

    def error(sample):
        ratios = [found[list(sample)].mean(0) / wanted for _, found, wanted in kernels]
        return float(np.mean(np.abs(np.concatenate(ratios) - 1)))

    measured["tangent_kernels.recursions"] = over_means(error, seeds)
    return measured


def every_block(data, kind):
    """Rows of the width at which every block was looked at."""
    rows = data[data["kind"] == kind]
    return rows[rows["width"] == rows.loc[rows["block"] == 1, "width"].max()]


def totals(data, kind, entry="diagonal"):
    """Blocks, kernels with s = 0 factors of SGD (seeds, blocks), and the expected ones (blocks)."""
    rows = every_block(data, kind)
    found = [
        rows.assign(value=rows[column] * rows["sgd"]).pivot_table(
            index="seed", columns="block", values="value", aggfunc="sum"
        )
        for column in (entry, f"{entry}_expected")
    ]
    return found[0].columns.to_numpy(), found[0].to_numpy(), found[1].iloc[0].to_numpy()


def simulate(law, recorded, scale, rng):
    """Every group's part as a law has it, with the recorded noise between seeds."""
    axes = ["kind", "width", "block", "group"]
    values = ["diagonal", "normalized"]
    design = Design(recorded, values, axes)
    width, block, group = (recorded[name].to_numpy() for name in ("width", "block", "group"))
    groups, times = OTHER_TERMS.get(law, ([], 1))
    factor = np.where(np.isin(group, groups), max(times, 1e-9), 1)
    design.mean[:, 0] = np.log(recorded["diagonal_expected"].to_numpy() * factor)
    if law in OTHER_TERMS:
        return design.draw(rng)
    for kind in KINDS:
        rows = (recorded["kind"] == kind).to_numpy()
        head = rows & (block == block[rows].max())
        for name in set(group[head]):
            at = np.flatnonzero(head & (group == name))
            log_n = np.log(width[at])
            groups, more = OTHER_POWERS.get(law, ([], 0.0))
            for column, value in enumerate(values):
                power = stated(kind, [name], value)[0] + (more if name in groups else 0.0)
                middle = design.mean[at, column].mean()
                design.mean[at, column] = middle + power * (log_n - log_n.mean())
    return design.draw(rng)


def draw(data, scale):
    from repro.judge import drawing

    figure, axes = drawing.panels(5, 2, width=3.5, height=3.6)
    columns = (
        ("diagonal", None, "SGD, one learning rate"),
        ("diagonal", "sgd", "SGD, factors of $s = 0$"),
        ("normalized", None, "AdamW, one learning rate"),
        ("normalized", "adam", "AdamW, factors of $s = 0$"),
    )
    for row, (kind, name) in zip(axes, KINDS.items(), strict=True):
        for axis, (value, factor, title) in zip(row, columns, strict=False):
            draw_parts(axis, at_head(data, kind), value, factor, drawing)
            axis.set_title(f"{name}\n{title}", fontsize=8)
        draw_blocks(row[4], data, kind, drawing)
        n = every_block(data, kind)["width"].iloc[0]
        row[4].set_title(f"{name}\nSGD, factors of $s = 0$, by block, $n = {n}$", fontsize=8)
    return figure


def draw_parts(axes, rows, value, factor, drawing):
    """Each group's part against width with its exponent."""
    values, groups, widths = by_seed(rows, value, factor)
    powers = exponents(values, widths)
    for i, (group, power) in enumerate(zip(groups, powers, strict=True)):
        color = drawing.COLORS[GROUPS.index(group)]
        axes.plot(
            widths,
            values[:, i].mean(0),
            "osv^<>DPX*"[GROUPS.index(group)] + "-",
            ms=4,
            lw=0.8,
            color=color,
            label=f"{group}: {power:z.2f}",
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    drawing.log2_axis(axes.xaxis)
    axes.set_xlabel("width $n$")
    axes.set_ylabel("part of the tangent kernel, same input")
    low, high = axes.get_ylim()
    axes.set_ylim(low / (high / low) ** 0.6, high)  # room for the legend
    axes.legend(loc="lower left", fontsize=6.5, ncol=2, title="exponent in $n$", title_fontsize=6.5)


def draw_blocks(axes, data, kind, drawing):
    """Tangent kernels of every block, all groups together, measured and by the recursions."""
    for entry, label, color in (
        ("diagonal", "same token", drawing.COLORS[0]),
        ("off", "two tokens", drawing.COLORS[1]),
    ):
        blocks, found, expected = totals(data, kind, entry)
        error = found.std(0, ddof=1) / len(found) ** 0.5
        axes.errorbar(blocks, found.mean(0), error, fmt="o", ms=4, lw=1, color=color, label=label)
        axes.plot(blocks, expected, "-", lw=1, color=color)
    axes.plot([], [], "-", lw=1, color="0.3", label="recursions")
    axes.set_xticks(blocks)
    axes.set_xlabel(
        rf"block $\ell$ ({blocks[-1]}: {'pooled' if kind == 'vision' else 'tied'} head)"
    )
    axes.set_ylabel(r"$\Theta^{(\ell)}$, mean over tokens")
    axes.legend(loc="upper left", fontsize=7)
