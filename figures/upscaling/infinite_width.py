"""E.3 and E.4 measured: deep linear networks of growing width against their limit."""

import math
from functools import partial

import numpy as np

from figures.upscaling._powers import POWERS, draw_laws, draw_points, draw_power, finish_power
from repro.core import discovery
from repro.statistics import slope
from repro.theory import upscaling_limit
from repro.verdicts.answers import (
    THEORY,
    TOLERANCE,
    Test,
    all_scales,
    at_most,
    exact,
    over_batches,
    within,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs, View
from repro.verdicts.intervals import farthest
from repro.verdicts.noise import Design
from repro.verdicts.power import AS_CLAIMED, Laws

GRID = "upscaling/deep_linear_widths"
ALONE = "upscaling/deep_linear_zero_noise"
EXAMPLES = {3: "E.3, three layers", 4: "E.4, four layers"}
HIDDEN, EVERY, RULE = "hidden", "every", "rule"
NOISES = {
    HIDDEN: r"noise on trained weights, $\gamma_\mathrm{up} = \gamma$",
    EVERY: r"noise on all weights, $\gamma_\mathrm{up} = \gamma$",
    RULE: r"noise on all weights, $\gamma_\mathrm{up}$ by the rule",
}
NO_RIVAL = "a round figure; the nearest rival, n^-1/4, is outside"
EXPONENT = {"smoke": within(-0.5, 0.2, TOLERANCE, NO_RIVAL)}
EXPONENT |= dict.fromkeys(("reduced", "paper"), within(-0.5, 0.06, TOLERANCE, NO_RIVAL))
LEFT_OUT = "what this many draws can tell; a term of eq. 30 left out moves y_t by 0.4 % to 2 %"
ANSWERS = (
    Test(
        id="infinite_width.limit",
        kind=THEORY,
        statement="infinite-width",
        column="convergence",
        quantity="exponent in n of the RMS of y_t - limit, the farthest from -1/2 over E.3, E.4, "
        "last step before and after, noises; n batches of networks",
        expected=EXPONENT,
    ),
    Test(
        id="infinite_width.mean",
        kind=THEORY,
        statement="infinite-width",
        column="mean",
        quantity="|mean of y_t - limit| / limit at the largest width, the largest over the same",
        expected={
            "smoke": at_most(0.1, TOLERANCE, LEFT_OUT),
            "reduced": at_most(0.01, TOLERANCE, LEFT_OUT),
            "workstation": at_most(0.01, TOLERANCE, LEFT_OUT),
            "paper": at_most(0.003, TOLERANCE, LEFT_OUT),
        },
    ),
    Test(
        id="infinite_width.equal-dynamics",
        kind=THEORY,
        statement="infinite-width",
        column="three layers",
        quantity="exponent in n of the RMS of y_t - y'_(t-1), last step, the farthest from -1/2 "
        "over noise on B alone and on all weights under the rule",
        expected=EXPONENT,
    ),
    Test(
        id="infinite_width.altered-dynamics",
        kind=THEORY,
        statement="infinite-width",
        column="four layers",
        quantity="mean of y_t - y'_(t-1) at the largest width, last step, over that of the limits "
        "(not 0), the farthest from 1 over noises",
        expected=all_scales(
            within(
                1,
                0.2,
                TOLERANCE,
                "a round figure; 0, an unaltered limit, and terms left out are outside",
            )
        ),
    ),
    Test(
        id="infinite_width.zero-noise",
        kind=THEORY,
        statement="infinite-width",
        column="no noise",
        quantity="largest |y_t - y'_(t-1)| over networks, steps, 3 and 4 layers, k = 2 and 3, "
        "every matrix trained in float64",
        expected=all_scales(at_most(1e-12, TOLERANCE, "rounding of float64")),
    ),
)
CONVERGES = Laws(AS_CLAIMED, ("n^-1/4", "n^-1"))
NO_FACTOR, NO_OUTER, UNALTERED = "no 1/k terms", "outer noise left out", "limit unaltered"
NOT_CONFINED = "as with noise"
LAWS = {
    "infinite_width.limit": CONVERGES,
    "infinite_width.equal-dynamics": CONVERGES,
    "infinite_width.mean": Laws(AS_CLAIMED, (NO_FACTOR, NO_OUTER)),
    "infinite_width.altered-dynamics": Laws(AS_CLAIMED, (NO_FACTOR, NO_OUTER, UNALTERED)),
    "infinite_width.zero-noise": Laws(AS_CLAIMED, (NOT_CONFINED,)),
}


def reduce(runs: Runs) -> Data:
    import pandas as pd

    grid, alone = runs[GRID], runs[ALONE]
    rule = grid["lr_up"] != grid["lr_up"].mode()[0]
    quiet = [noise["A"] == 0 for noise in grid["noise"]]
    kind = np.where(rule, RULE, np.where(quiet, HIDDEN, EVERY))
    parts = [grid.assign(noise=kind, study="grid"), alone.assign(noise="none", study="zero noise")]
    return pd.concat(parts, ignore_index=True).drop(columns="lr_up")


def curve(table, layers, noise, step):
    """Rows of one network at one step, by width and seed; noise: None for any of them."""
    rows = table[(table["layers"] == layers) & (table["step"] == step)]
    return rows[rows["noise"] == (noise or EVERY)]


def last_steps(table):
    """Last step before upscaling and last step of all."""
    return tuple(int(table.loc[table["phase"] == p, "step"].max()) for p in ("before", "after"))


def lines(table):
    """(layers, noise, step) of every curve of `infinite_width.limit`; none has noise yet before."""
    before, after = last_steps(table)
    return [
        (layers, noise, step)
        for layers in EXAMPLES
        for noise, step in ((EVERY, before), *((noise, after) for noise in NOISES))
    ]


def by_seed(table, points, value):
    """Array (seeds, points, widths) of a column and the widths; points: (layers, noise, step)."""
    chosen = table.groupby(["layers", "noise", "step"]).indices
    widths, width = np.unique(table["width"], return_inverse=True)
    seeds, seed = np.unique(table["seed"], return_inverse=True)
    values = table[value].to_numpy()
    found = np.full((len(seeds), len(points), len(widths)), np.nan)
    for i, point in enumerate(points):
        rows = chosen[point]
        found[seed[rows], i, width[rows]] = values[rows]
    return found, widths


def exponent(widths, rms):
    """Exponent in n of root mean squares, the farthest from -1/2. rms: (seeds, points, widths)."""

    def of(squares):
        return slope(np.log(widths), np.log(squares) / 2)

    return farthest([over_batches(row**2, of) for row in np.moveaxis(rms, 1, 0)], -0.5)


def _share_off(limit: float, mean: float) -> float:
    return float(abs(mean / limit - 1))


def measure(data: Data, scale: str) -> Measured:
    grid = data[data["study"] == "grid"]
    last = last_steps(grid)[1]
    rms, widths = by_seed(grid, lines(grid), "rms")
    mean, _ = by_seed(grid, lines(grid), "mean")
    limit = by_seed(grid, lines(grid), "limit")[0][0, :, -1]

    equal = [(3, noise, last) for noise in (HIDDEN, RULE)]
    altered = [(4, noise, last) for noise in NOISES]
    equal_rms, _ = by_seed(grid, equal, "gap_rms")
    gap = by_seed(grid, altered, "gap")[0][:, :, -1]
    ends, _ = by_seed(grid, altered, "limit")
    alone, _ = by_seed(grid, altered, "limit_alone")
    expected = (ends - alone)[0, :, -1]
    zero = float(data.loc[data["study"] == "zero noise", "gap_max"].max())
    # The limits are of expectations: draws are averaged before a ratio or a logarithm is taken.
    return {
        "infinite_width.limit": exponent(widths, rms),
        "infinite_width.mean": farthest(
            [
                over_batches(values, partial(_share_off, to))
                for values, to in zip(mean[:, :, -1].T, limit, strict=True)
            ],
            0.0,
        ),
        "infinite_width.equal-dynamics": exponent(widths, equal_rms),
        "infinite_width.altered-dynamics": farthest(
            [over_batches(ratio, float) for ratio in (gap / expected).T],
            1.0,
            "; ".join(
                f"{noise}: limits differ by {value:.3f}"
                for noise, value in zip(NOISES, expected, strict=True)
            ),
        ),
        "infinite_width.zero-noise": exact(zero),
    }


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    axes = ["study", "layers", "noise", "width", "step", "factor"]
    drawn = recorded.copy()
    if law in POWERS:
        design = at_power(POWERS[law], Design(recorded, ["rms", "gap_rms"], axes))
        drawn[design.values] = design.draw(rng)[design.values]
    if law in (AS_CLAIMED, NO_FACTOR, NO_OUTER, UNALTERED):
        design = at_limits(law, scale, Design(recorded, ["mean", "gap"], axes, log=False))
        drawn[design.values] = design.draw(rng)[design.values]
    if law == NOT_CONFINED:
        quiet = recorded["study"] == "zero noise"
        most = recorded["gap_max"][~quiet].max()
        drawn["gap_max"] = recorded["gap_max"].where(~quiet, most)
    return drawn


def at_limits(law: str, scale: str, design):
    """Means at the limits of a law."""
    table = design.recorded
    for (layers, noise), rows in table.groupby(["layers", "noise"]).indices.items():
        if noise in NOISES:
            limit = limit_by(law, layers, noise, scale)[table["step"].to_numpy()[rows]]
            design.mean[rows, 0] = limit
            design.mean[rows, 1] = limit - table["limit_alone"].to_numpy()[rows]
    return design


def at_power(power, design):
    """Root mean squares as a power of the width, as large in the middle as recorded."""
    keys = ["study", "layers", "noise", "step", "factor"]
    for rows in design.recorded.groupby(keys, dropna=False).indices.values():
        log_n = np.log(design.recorded["width"].to_numpy()[rows])
        middle = design.mean[rows].mean(axis=0)
        with np.errstate(invalid="ignore"):
            design.mean[rows] = middle + power * (log_n - log_n.mean())[:, None]
    return design


def limit_by(law: str, layers, noise, scale: str):
    """The limits of y_t, as they are or with a part of the equations left out."""
    study = discovery.study(GRID)
    own = [network for network in study.grid["network"] if network["layers"] == layers]
    settings = study.settings(scale) | dict(zip(NOISES, own, strict=True))[noise]
    if law == UNALTERED:
        settings |= {"noise": dict.fromkeys(settings["noise"], 0.0), "lr_up": settings["lr"]}
    if law == NO_OUTER:
        outer = {name: 0.0 for name in (settings["noise"].keys() & {"A", "C", "D"})}
        outer.pop("C") if layers == 4 else None
        settings |= {"noise": settings["noise"] | outer}
    if law == NO_FACTOR:
        settings |= {"factor": math.inf}
    names = ("steps_before", "steps_after", "factor", "x", "target", "sigma", "lr", "lr_up")
    kept = {name: settings[name] for name in (*names, "noise")}
    return upscaling_limit.limit(layers, **kept)


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    grid = data[data["study"] == "grid"]
    figure, axes = drawing.panels(2, 3, width=4.8, height=3.2)
    for column, (layers, example) in zip(axes.T, EXAMPLES.items(), strict=True):
        draw_outputs(column[0], grid, layers, drawing)
        draw_deviations(column[1], grid, layers, drawing)
        draw_gaps(column[2], grid, layers, drawing)
        noise = rf"{example}: noise on all weights, $\gamma_\mathrm{{up}} = \gamma$"
        titles = [noise, f"{example}: distance from the limit"]
        titles.append(f"{example}: distance from the narrow network")
        for panel, title in zip(column, titles, strict=True):
            panel.set_title(title, fontsize=9)
    return figure


def draw_outputs(axes, grid, layers, drawing):
    """Mean and standard deviation of y_t for three widths, and the limits."""
    rows = grid[(grid["layers"] == layers) & (grid["noise"] == EVERY)]
    before, _ = last_steps(rows)
    limits = rows.groupby("step")[["limit", "limit_alone"]].first()
    for phase in (slice(None, before), slice(before + 1, None)):
        axes.plot(limits.loc[phase, "limit"], "-", color="black", lw=1.2)
    axes.plot([], [], "-", color="black", lw=1.2, label="limit")
    alone = limits.loc[before + 1 :, "limit_alone"]
    axes.plot(alone, "--", color="black", lw=1.2, label="limit without upscaling")
    widths = sorted(rows["width"].unique())
    colors = drawing.ramp((widths[0], widths[len(widths) // 2], widths[-1]))
    for i, (n, color) in enumerate(colors.items()):
        of_width = rows[rows["width"] == n].groupby("step")
        mean = of_width["mean"].mean()
        spread = of_width["spread"].apply(lambda s: np.sqrt(np.mean(s**2)))
        axes.errorbar(
            mean.index + 0.22 * (i - 1),
            mean,
            spread,
            fmt="os^"[i],
            ms=3,
            lw=1,
            color=color,
            label=f"$n = {n}$",
        )
    axes.axvline(before + 0.5, color="0.6", lw=0.8, ls=":")
    axes.text(
        before + 0.45,
        1.0,
        "widened ",
        ha="right",
        va="top",
        fontsize=8,
        color="0.4",
        transform=axes.get_xaxis_transform(),
    )
    axes.set_xlabel("step $t$")
    axes.set_ylabel("output $y_t$, mean and std")
    axes.legend(loc="upper left", fontsize=7)


def draw_deviations(axes, grid, layers, drawing):
    """RMS of y_t - limit against n with fitted exponents, last step before and after."""
    before, last = last_steps(grid)
    labels = {(EVERY, before): "before upscaling"} | {(k, last): v for k, v in NOISES.items()}
    colors = ("black", *drawing.COLORS)
    for (point, label), color, marker in zip(labels.items(), colors, "Xos^", strict=False):
        values, widths = by_seed(grid, [(layers, *point)], "rms")
        draw_power(axes, widths, values[:, 0], label, color, marker)
    draw_laws(axes, drawing, widths)
    finish_power(axes, drawing, "RMS of $y_t$ - limit, last step")


def draw_gaps(axes, grid, layers, drawing):
    """RMS of y_t - y'_(t-1) against n, and the difference of the limits."""
    _, last = last_steps(grid)
    for (noise, label), color, marker in zip(NOISES.items(), drawing.COLORS, "os^", strict=False):
        values, widths = by_seed(grid, [(layers, noise, last)], "gap_rms")
        rows = curve(grid, layers, noise, last)
        difference = abs(float((rows["limit"] - rows["limit_alone"]).iloc[0]))
        if difference > 1e-9:
            ends = [*widths[[0, -1]]]  # beyond them stand the laws' names
            axes.plot(ends, [difference] * 2, color=color, lw=0.8, ls="--")
            draw_points(axes, widths, values[:, 0], label, color, marker)
        else:
            draw_power(axes, widths, values[:, 0], label, color, marker)
    if layers == 3:  # with four none of the limits is that of the narrow network
        draw_laws(axes, drawing, widths)
    axes.plot([], [], "--", color="0.4", lw=0.8, label="difference of the limits, where not 0")
    finish_power(axes, drawing, "RMS of $y_t - y'_{t-1}$, last step")


FIGURE = Figure(
    title="Appendix E.3, E.4. Upscaled deep linear networks and their infinite-width limit",
    outcome="Networks of width n approach their limit as n^{infinite_width.limit}",
    caption=(
        "Deep linear networks trained, widened twofold, perturbed and trained on. Above: mean and "
        "standard deviation (bars) of the output over networks, beside the recursions of infinite "
        "width. Middle and below: root mean squares over networks with their fitted exponents of n "
        "and 95 % intervals; where the limits differ (dashed) there is no power law and none is "
        "fitted. Dashed from one point: the paper's power, and in grey its rivals'. (Ma et al., "
        "equations 24 to 30.)"
    ),
    studies=(GRID, ALONE),
    view=View("step", "mean", {"study": "grid", "noise": "hidden", "layers": 3, "phase": "before"}),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
