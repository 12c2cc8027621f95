"""Forward kernels at initialization, measured at growing width against the recursions of I.1."""

import numpy as np

from figures.effective_theory import _further
from repro.statistics import left_out_interval, slope
from repro.verdicts.answers import THEORY, TOLERANCE, Measurement, Test, all_scales, within
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs, View
from repro.verdicts.intervals import farthest
from repro.verdicts.noise import Design
from repro.verdicts.power import AS_CLAIMED, Laws
from studies.effective_theory import _encoders

GRID = "effective_theory/encoder_kernels"
KINDS = {"vision": "ViT", "language": "language encoder"}
QUANTITIES = ("G", "F")
COLORS = {"G": "C0", "F": "C1", "output": "C2", "contact": "C4"}
NO_RIVAL = "a round figure; the nearest rival, n^-1/2, is outside"
ANSWERS = (
    Test(
        id="kernels.one-over-n",
        kind=THEORY,
        statement="kernels",
        column="of a token, of a pair",
        quantity="exponent in n of |mean - recursion| / |recursion| over all blocks and tokens, H "
        "fixed, the farthest from -1 over G and F, both networks",
        expected=all_scales(within(-1, 0.3, TOLERANCE, NO_RIVAL)),
    ),
    Test(
        id="kernels.contact",
        kind=THEORY,
        statement="kernels",
        column="tied head's contact term",
        quantity="exponent in n of |ratio - 1|, where the ratio is E[z^2] at them, less what 1.84 "
        "gives, over n C_WE^2 / (G + eps)",
        expected=all_scales(within(-1, 0.3, TOLERANCE, NO_RIVAL)),
    ),
)
# Law -> power of n of an error; of the contact term itself.
ERRORS = {AS_CLAIMED: -1.0, "n^-1/2": -0.5, "a term missing": 0.0}
CONTACTS = {"n^1/2": 0.5, "order one": 0.0}
LAWS = {
    "kernels.one-over-n": Laws(AS_CLAIMED, ("n^-1/2", "a term missing")),
    "kernels.contact": Laws(AS_CLAIMED, ("n^-1/2", "a term missing", *CONTACTS)),
}


def reduce(runs: Runs) -> Data:
    import pandas as pd

    table = runs[GRID].assign(kind=[_encoders.label(model) for model in runs[GRID]["model"]])
    rows = []
    for key, part in table.groupby(["kind", "width", "quantity", "block"], sort=True):
        part = part.sort_values("seed")
        means, expected = np.stack(part["mean"]), np.array(part["expected"].iloc[0])
        if not len(expected):  # no recursions are known
            expected = np.full(means.shape[1], np.nan)
        for left_out in (-1, *range(len(means))):
            rows.append(
                dict(zip(("kind", "width", "quantity", "block"), key, strict=True))
                | {"left_out": left_out, "seeds": len(means)}
                | distance(np.delete(means, left_out, 0) if left_out >= 0 else means, expected)
                | {"accuracy": part["accuracy"].iloc[0]}
            )
    return pd.DataFrame(rows)


def distance(means, expected):
    """Squared distance of batch means (batches, entries) from what is expected, without the part
    that is noise, which is `noise`; `size`: the squared norm expected. By kind of entry the means:
    diagonal, off-diagonal (a contact term has no other entries than the diagonal).
    """
    count, mean = len(means), means.mean(0)
    noise = means.var(0, ddof=1).sum() / count
    side = round(((8 * len(expected) + 1) ** 0.5 - 1) / 2)
    triangle = side * (side + 1) // 2 == len(expected)
    on = np.equal(*np.triu_indices(side)) if triangle else np.ones(len(expected), bool)
    result = {
        "square": ((mean - expected) ** 2).sum() - noise,
        "noise": noise,
        "size": (expected**2).sum(),
    }
    for name, chosen in (("diagonal", on), ("off", ~on)):
        for suffix, values in (("", mean), ("_expected", expected)):
            result[name + suffix] = values[chosen].mean() if chosen.any() else 0.0
    return result


def over_blocks(data: Data):
    """Sums over blocks of what `errors` needs: (kind, quantity, batch left out) -> widths, and
    array (widths, [square, noise, size])."""
    keys = ["kind", "quantity", "left_out"]
    sums = data.groupby([*keys, "width"])[["square", "noise", "size"]].sum()
    rows = sums.groupby(keys).indices
    widths, values = sums.index.get_level_values("width").to_numpy(), sums.to_numpy()
    return {key: (widths[at], values[at]) for key, at in rows.items()}


def errors(sums, kind, quantity, left_out=-1):
    """Widths, relative errors (nan where noise hides them) and their noise, blocks together.

    sums: from `over_blocks`."""
    widths, values = sums[kind, quantity, left_out]
    square, noise, size = values.T
    return widths, np.sqrt(np.where(square > 0, square, np.nan) / size), np.sqrt(noise / size)


def fit(widths, values):
    """Exponent and the fitted value at the largest width; nan where a value is missing."""
    if not np.isfinite(values).all():
        return np.nan, np.nan
    power, intercept = np.polyfit(np.log(widths), np.log(values), 1)
    return power, np.exp(intercept) * widths[-1] ** power


def exponents(data: Data):
    """(kind, quantity) -> exponent, its interval, noise over fitted error at the widest n."""
    seeds, sums = int(data["seeds"].iloc[0]), over_blocks(data)
    found = {}
    for kind in KINDS:
        for quantity in QUANTITIES:
            widths, values, noise = errors(sums, kind, quantity)
            power, last = fit(widths, values)
            without = [fit(*errors(sums, kind, quantity, seed)[:2])[0] for seed in range(seeds)]
            found[kind, quantity] = (power, *left_out_interval(power, without), noise[-1] / last)
    return found


def measure(data: Data, scale: str) -> Measured:
    # The theory gives expectations: batches are averaged, and the noise that is left in the squared
    # error of their mean is subtracted, so only leaving batches out says how sure an exponent is.
    seeds = int(data["seeds"].iloc[0])
    found = exponents(data)
    detail = "; ".join(f"{k} {q}: {v[0]:.2f}" for (k, q), v in found.items())
    noisy = [
        f"{kind} {quantity} {value[3]:.2f}"
        for (kind, quantity), value in found.items()
        if not value[3] < 1 / 3  # so also nan
    ]
    inside = data[data["quantity"].isin(QUANTITIES) & data["kind"].isin(KINDS)]
    detail += f"; attention's expectation: to {inside['accuracy'].max():.1g} an entry"
    problem = f"noise at the widest n over the fitted error: {', '.join(noisy)}" if noisy else ""
    each = [Measurement(a, b, c, seeds, problem) for a, b, c, *_ in found.values()]
    one_over_n = farthest(each, -1.0, detail)
    widths, ratios = contact_ratios(data)
    words = ", ".join(f"{ratio:.3f}" for ratio in ratios[0])
    words = f"ratio {words} at n = {', '.join(f'{n:.0f}' for n in widths)}"
    return {
        "kernels.one-over-n": one_over_n,
        "kernels.contact": Measurement(*contact_exponent(data), seeds, "", words),
    }


def head(data: Data, kind, quantity):
    """Rows of the head's kernel by width, nothing left out."""
    rows = data[(data["kind"] == kind) & (data["quantity"] == quantity) & (data["left_out"] == -1)]
    return rows.set_index("width").sort_index()


def contact_ratios(data: Data):
    """Widths, and what tied outputs get at their own words over n C_WE^2 / (G + eps): (batch left
    out, the first of them none; widths)."""
    rows = data[data["kind"] == "language"]

    def by_width(quantity, value):
        of = rows[rows["quantity"] == quantity]
        return of.pivot(index="left_out", columns="width", values=value)

    plain = by_width("output", "diagonal_expected")
    added = by_width("contact", "diagonal") - plain
    ratios = added / (by_width("contact", "diagonal_expected") - plain)
    return ratios.columns.to_numpy(float), ratios.to_numpy()


def contact_exponent(data: Data) -> tuple[float, float, float]:
    """Exponent in n of |ratio - 1|, and its interval."""
    widths, ratios = contact_ratios(data)
    powers = [slope(np.log(widths), np.log(np.abs(each - 1))) for each in ratios]
    return powers[0], *left_out_interval(powers[0], powers[1:])


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Squared errors and contact terms as a law has them, and other batches.

    The table has no batches but what is left without each; of these their parts are found
    (the jackknife's pseudo-values), given the law's mean and the recorded noise, and taken together
    again.
    """
    recorded = recorded[recorded["kind"].isin(KINDS)]
    count = int(recorded["seeds"].iloc[0])
    keys = ["kind", "width", "quantity", "block"]
    values = ["square", "diagonal"]
    ordered = recorded.sort_values([*keys, "left_out"])
    found = ordered[values].to_numpy().reshape(-1, count + 1, len(values))
    parts = count * found[:, :1] - (count - 1) * found[:, 1:]
    batches = ordered[ordered["left_out"] >= 0].rename(columns={"left_out": "seed"})
    batches = batches.assign(**dict(zip(values, parts.reshape(-1, 2).T, strict=True)))
    design = Design(batches, values, keys, log=False)
    if law in ERRORS:
        set_errors(design, ERRORS[law])
        set_contact_error(design, ERRORS[law])
    else:
        set_contact(design, CONTACTS[law])
    drawn = design.draw(rng)[values].to_numpy().reshape(-1, count, len(values))
    whole = drawn.mean(axis=1, keepdims=True)
    without = (count * whole - drawn) / (count - 1)
    together = np.concatenate([whole, without], axis=1).reshape(-1, len(values))
    ordered = ordered.assign(**dict(zip(values, together.T, strict=True)))
    return ordered.loc[recorded.index]


def set_errors(design, power):
    """Relative errors as a power of the width, in the middle as large as the recorded."""
    table = design.recorded
    for kind in KINDS:
        for quantity in QUANTITIES:
            rows = design.rows(kind=kind, quantity=quantity)
            log_n = np.log(table["width"].to_numpy()[rows])
            size = table["size"].to_numpy()[rows]
            widths = np.unique(log_n)
            square = [design.mean[rows, 0][log_n == n].sum() for n in widths]
            relative = [s / size[log_n == n].sum() for s, n in zip(square, widths, strict=True)]
            positive = [np.log(each) / 2 for each in relative if each > 0]
            middle = np.mean(positive) - power * np.mean(widths)
            design.mean[rows, 0] = size * np.exp(2 * (middle + power * log_n))


def contact(design):
    """Rows of the contact term by width; widths, what 1.84 gives there, and what is added to it,
    as measured and as expected."""
    table = design.recorded
    own, other = (design.rows(kind="language", quantity=name) for name in ("contact", "output"))
    plain, full = (table["diagonal_expected"].to_numpy()[rows] for rows in (other, own))
    return own, table["width"].to_numpy()[own], plain, design.mean[own, 1] - plain, full - plain


def set_contact_error(design, power):
    """The contact term's relative error as a power of the width, in the middle the recorded."""
    own, widths, plain, added, expected = contact(design)
    error = added / expected - 1
    log_n = np.log(widths)
    middle = np.log(np.abs(error)).mean() - power * log_n.mean()
    wrong = np.sign(error.mean()) * np.exp(middle + power * log_n)
    design.mean[own, 1] = plain + expected * (1 + wrong)


def set_contact(design, power):
    """The contact term as a power of the width, at the least one as recorded."""
    own, widths, plain, added, _ = contact(design)
    first = np.argmin(widths)
    design.mean[own, 1] = plain + added[first] * (widths / widths[first]) ** power


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    networks = _further.names(data, KINDS)
    figure, axes = drawing.panels(len(networks), 3, width=4.8, height=3.1)
    found = exponents(data)
    for column, (kind, name) in zip(axes.T, networks.items(), strict=True):
        titles = ["kernels by block", "error of the means", "outputs"]
        draw_blocks(column[0], data, kind)
        if _further.solved(data, kind):
            draw_errors(column[1], data, kind, found, drawing)
        else:
            titles[1] = "$G$ against the width"
            _further.draw_growth(column[1], data, kind, "G")
        if kind in KINDS:
            draw_head(column[2], data, kind, drawing)
            titles[2] = "pooled head" if kind == "vision" else "tied head"
        else:
            _further.draw_growth(column[2], data, kind, "output")
        for axis, title in zip(column, titles, strict=True):
            axis.set_title(f"{name}: {title}", fontsize=9)
    return figure


def draw_blocks(axes, data: Data, kind):
    """Mean entries of G and F by block at the extreme widths, and the recursions."""
    rows = data[(data["kind"] == kind) & (data["left_out"] == -1)]
    widths = sorted(rows["width"].unique())
    series = (
        ("G", "diagonal", "-", r"$G$, same token"),
        ("G", "off", "--", r"$G$, two tokens"),
        ("F", "off", "--", r"$F$, two tokens"),
    )
    for quantity, entry, line, words in series:
        color = COLORS[quantity]
        of = rows[rows["quantity"] == quantity]
        if of.empty:  # a network without layer_norms
            axes.axis("off")
            return
        for n, marker, shift in ((widths[0], "x", -0.08), (widths[-1], "o", 0.08)):
            at = of[of["width"] == n].sort_values("block")
            axes.plot(at["block"] + shift, at[entry], marker, ms=4, color=color, mfc="none")
        means = at[f"{entry}_expected"].fillna(at[entry])  # where nothing is expected, the widest
        axes.plot(at["block"], means, line, lw=1, color=color, label=words)
    for n, marker in ((widths[0], "x"), (widths[-1], "o")):
        axes.plot([], [], marker, ms=4, color="0.3", mfc="none", label=f"measured, $n = {n}$")
    axes.set_xlabel(r"block $\ell$")
    axes.set_ylabel("kernel, mean over tokens")
    axes.set_xticks(sorted(of["block"].unique()))
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.5 * (high - low))  # room for the legend
    axes.legend(loc="upper left", fontsize=8)


def draw_errors(axes, data: Data, kind, found, drawing):
    """Relative errors against width, their noise and fitted powers. found: from `exponents`."""
    series = {"G": r"$G$", "F": r"$F$", "output": "output"}
    highest = 0.0
    for (quantity, label), marker in zip(series.items(), "os^", strict=True):
        color = COLORS[quantity]
        widths, values, noise = errors(over_blocks(data), kind, quantity)
        power, last = fit(widths, values)
        text = f"{label}: exponent {power:.2f}" if np.isfinite(power) else label
        if np.isfinite(power) and (kind, quantity) in found:
            text += " [{:.2f}, {:.2f}]".format(*found[kind, quantity][1:3])
        axes.errorbar(widths, values, noise, fmt=marker, ms=4, lw=1, color=color, label=text)
        if np.isfinite(power):
            axes.plot(widths, last * (widths / widths[-1]) ** power, "-", lw=0.8, color=color)
        axes.plot(widths, noise, ":", lw=0.8, color=color)
        highest = np.fmax(highest, values[0])
    axes.plot([], [], ":", lw=0.8, color="0.4", label="standard error")
    paper = "paper: $n^{-1}$"
    rivals = {"$n^{-1/2}$": -0.5, "a term\nmissing": 0.0}
    if highest:
        drawing.guides(axes, widths, 1.5 * highest, {paper: -1.0, **rivals}, paper)
    width_axis(axes, drawing)
    axes.set_ylabel("|mean - recursion| / |recursion|")
    low, high = axes.get_ylim()
    axes.set_ylim(low / (high / low) ** 0.45, high)  # room for the legend
    axes.legend(loc="lower left", fontsize=8)


def draw_head(axes, data: Data, kind, drawing):
    """Kernel of the outputs against width, and the contact term of a tied head."""
    rows = head(data, kind, "output")
    names = ("same image", "two images") if kind == "vision" else ("same token", "two tokens")
    color = COLORS["output"]
    for entry, name, line in zip(("diagonal", "off"), names, ("-", "--"), strict=True):
        style = {"ms": 4, "color": color, "mfc": color if line == "-" else "white"}
        axes.plot(rows.index, rows[f"{entry}_expected"], line, lw=1, color=color)
        axes.plot(rows.index, rows[entry], "o", label=f"output kernel, {name}", **style)
    if kind == "language":
        own = head(data, kind, "contact")
        color = COLORS["contact"]
        label = "at the words read in"
        axes.plot(own.index, own["diagonal"], "s", ms=4, color=color, label=label)
        axes.plot(own.index, own["diagonal_expected"], "-", lw=1, color=color)
        words = "its error: exponent {:.2f} [{:.2f}, {:.2f}]".format(*contact_exponent(data))
        axes.plot([], [], " ", label=words)
        n, plain = own.index.to_numpy(float), rows["diagonal_expected"].to_numpy()
        for power in (0.5, 0.0):  # the rivals'
            added = (own["diagonal"].iloc[0] - plain[0]) * (n / n[0]) ** power
            axes.plot(n, plain + added, "--", lw=1, color="0.6", zorder=1)
        axes.plot([], [], "--", lw=1, color="0.6", label="rivals: as $n^{1/2}$, of order one")
    width_axis(axes, drawing)
    if kind == "vision":
        axes.set_yscale("linear")
        axes.set_ylim(0, 1.25 * rows[["diagonal", "off"]].to_numpy().max())
    else:
        low, high = axes.get_ylim()
        axes.set_ylim(low, high * (high / low) ** 0.7)  # room for the legend
    axes.set_ylabel(r"$\mathbb{E}[z_{1} z_{2}]$ of the outputs")
    axes.legend(loc="upper left", fontsize=8)


def width_axis(axes, drawing):
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    drawing.log2_axis(axes.xaxis)
    axes.set_xlabel("width $n$")


FIGURE = Figure(
    title="Section I.1. Kernels of Transformers at initialization and their recursions",
    outcome="Kernels of width n approach their recursions as n^{kernels.one-over-n}",
    caption=(
        "Means of the kernels G and F and of the output's over random initializations of a Vision "
        "Transformer and of a language encoder with a tied head, against the recursions at leading "
        "order in 1/n (Dinan, Yaida & Zhang, equations 1.41 to 1.84). Top and bottom: marks "
        "measured, lines the recursions, dashed for two tokens or images. Middle: relative error "
        "against width, lines its fitted powers of n, in brackets 95 % intervals, bars and dotted "
        "lines one standard error. Dashed grey: the rivals that the claims are held against."
    ),
    studies=(GRID,),
    view=View("block", "diagonal", {"quantity": "G", "width": 64, "left_out": -1}),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
