"""Figure 3: learning rate and noise transfer across widths of upscaled models."""

import math

import numpy as np

from repro.judge.claims import (
    TOLERANCE,
    TRAINING,
    Claim,
    at_most,
    exact,
    over_seeds,
    trained_scales,
)
from repro.judge.intervals import half_step, no_finer_than
from repro.judge.noise import Design
from repro.judge.optimum import parabola_optimum, search_optimum
from repro.judge.power import AS_CLAIMED, Laws
from repro.judge.sweep import by_name, gathered
from repro.judge.tables import last_step
from repro.statistics import t_interval
from repro.suite import registry

TITLE = "Figure 3. Hyperparameter transfer of upscaled models"
CAPTION = (
    "Final training loss, a mean since the last evaluation, against the learning rate at fixed "
    "noise (top) and against the noise at a fixed rate (bottom), one curve a target width. "
    "Mean, and range over seeds (band). Stars: lowest mean, with the 95 % interval of the seeds' "
    "best, at least half a step of the grid to both sides. Crosses: where a rival would have it, "
    "from the narrowest's: SP's rate, as 1/n (top), or noise of one standard deviation at every "
    "width, a level as n^1/2 (bottom). Arrows at the top edge: a mean above the panel, or a seed "
    "that diverged. (Ma et al., Figure 3.)"
)
# Name in ids -> in words, study, how its stages end.
MODELS = {
    "gpt2": ("GPT-2 with AdamW", "upscaling/gpt2_transfer", ""),
    "mlp-sgd": ("MLP with SGD", "upscaling/mlp_sgd_transfer", ""),
    "mlp": ("MLP with AdamW", "upscaling/mlp_adamw_transfer", ""),
}
# Beside the paper's settings, at its scale: base rate and noise as the released code has them.
CODE = {
    f"{key}-code": (f"{words}, settings of the code", study, "_code")
    for key, (words, study, _) in MODELS.items()
    if key != "gpt2"
}
# And the fixed noise as printed, 0.75 and 1, read in Algorithm 2's convention; the sweep of the
# noise has these levels anyway.
PRINTED = {
    f"{key}-printed": (f"{words}, noise as printed", study, "_printed")
    for key, (words, study, _) in MODELS.items()
    if key != "gpt2"
}
MODELS |= CODE | PRINTED
LEVEL, WIDTH = "start.level", "model.width"
SWEEPS = {
    "lr": ("by_lr", "lr", "learning rate", "the best learning rate", 1),
    "noise": ("by_noise", LEVEL, "noise level", "the best noise", 2),
}
SERIES = [(key, sweep) for key in MODELS for sweep in SWEEPS if sweep == "lr" or key not in PRINTED]
STUDIES = tuple(f"{MODELS[key][1]}/{SWEEPS[sweep][0]}{MODELS[key][2]}" for key, sweep in SERIES)
GENERALLY = "'generally transfer' read as an octave of rates or two of noise, round figures"
CLAIMS = tuple(
    Claim(
        id=f"fig3.transfer-{sweep}-{key}",
        kind=TRAINING,
        statement=f"{MODELS[key][0]}: {SWEEPS[sweep][3]} does not depend on the target width",
        source="Figure 3; Appendix F.5",
        quantity=f"spread over target widths of log2 of {SWEEPS[sweep][3]}",
        expected=trained_scales(at_most(SWEEPS[sweep][4], TOLERANCE, GENERALLY))
        if MODELS[key][2] == ""
        else {"paper": at_most(SWEEPS[sweep][4], TOLERANCE, GENERALLY)},
    )
    for key, sweep in SERIES
)
# How a law's optimum goes with the target width: a power of it.
POWERS = {AS_CLAIMED: 0.0, "SP": -1.0, "one std at every width": 0.5}
RIVAL = {"lr": "SP", "noise": "one std at every width"}
LAWS = {f"fig3.transfer-{sweep}-{key}": Laws(AS_CLAIMED, (RIVAL[sweep],)) for key, sweep in SERIES}


def reduce(runs):
    """Final losses of every run."""
    label = lambda name: {"study": name.module, "stage": name.stage}  # noqa: E731
    columns = ["study", "stage", WIDTH, "lr", LEVEL, "seed", "step", "train_loss", "valid_loss"]
    return gathered(runs, label, last=True).reindex(columns=columns)


def rows_of(data, key, sweep):
    """The rows of a model's sweep; none of CODE and PRINTED but at paper scale."""
    _, study, end = MODELS[key]
    return data[(data["study"] == study) & (data["stage"] == f"{SWEEPS[sweep][0]}{end}")]


def log2_places(values):
    """Value -> its log2, of a grid; zero lies one step below the smallest other value."""
    values = sorted(values)
    positive = [math.log2(v) for v in values if v > 0]
    step = positive[1] - positive[0] if len(positive) > 1 else 1.0
    zeros = [positive[0] - step] * (len(values) - len(positive))
    return dict(zip(values, zeros + positive, strict=True))


def by_width(rows, axis):
    """Width -> table of final training losses, a row a value of the axis, a column a seed."""
    last = last_step(rows).fillna({"train_loss": math.inf})
    return {
        int(width): group.pivot(index=axis, columns="seed", values="train_loss")
        for width, group in last.groupby(WIDTH)
    }


def optima(curves, seeds):
    """Width -> optimum along an axis, mean over seeds. curves: from `by_width`."""
    found = {}
    for width, curve in curves.items():
        losses = curve.to_numpy()[:, curve.columns.get_indexer(list(seeds))].mean(axis=1)
        points = ((value,) for value in curve.index)
        found[width] = search_optimum(dict(zip(points, losses.tolist(), strict=True)))
    return found


def measure(data, scale):
    return {
        f"fig3.transfer-{sweep}-{key}": spread_of(rows_of(data, key, sweep), SWEEPS[sweep][1])
        for key, sweep in SERIES
    }


def spread_of(rows, axis):
    """How far apart the best values of an axis are over widths, in octaves."""
    if rows.empty:
        return exact(math.nan, 0, "these settings are run at paper scale")
    seeds = sorted(int(s) for s in rows["seed"].unique())
    log2, curves = log2_places(rows[axis].unique()), by_width(rows, axis)

    def places(sample):
        """log2 of each width's best value, nan where a seed diverged at all of them."""
        return [
            log2[best.point[0]] if math.isfinite(best.loss) else math.nan
            for best in optima(curves, sample).values()
        ]

    def spread(sample):
        return float(np.ptp(places(sample)))

    best = optima(curves, seeds)
    outside = [str(n) for n, optimum in best.items() if optimum.untried]
    lost = [str(n) for n, optimum in best.items() if not math.isfinite(optimum.loss)]
    problems = {"at the grid's edge": outside, "a seed diverged at every value": lost}
    problem = by_name(
        {why: f"width {', '.join(which)}" for why, which in problems.items() if which}
    )
    in_words = ", ".join(
        f"2^{place:.3g} at width {n}"
        for n, place in zip(best, places(seeds), strict=True)
        if str(n) not in lost
    )
    found = over_seeds(spread, seeds, problem, f"best: {in_words}")
    # Both ends of the spread are known to half a step of the grid.
    return no_finer_than(found, 2 * half_step(rows[axis].unique()), lowest=0)


def simulate(law, recorded, scale, rng):
    """Every width's curve with its optimum where a law has it, their mean that of the recorded."""
    design = Design(recorded, ["train_loss"], ["study", "stage", WIDTH, "lr", LEVEL])
    for claim, laws in LAWS.items():
        if law in laws.names:
            sweep, key = claim.removeprefix("fig3.transfer-").split("-", 1)
            rows = rows_of(recorded, key, sweep)
            if not rows.empty:
                set_optima(design, rows, SWEEPS[sweep][1], POWERS[law])
    return design.draw(rng)


def set_optima(design, rows, axis, power):
    """Move one sweep's curves until their optima are as a power of the width."""
    x = design.recorded[axis].map(log2_places(rows[axis].unique())).to_numpy()
    curves = {
        width: design.recorded.index.get_indexer(part.index) for width, part in rows.groupby(WIDTH)
    }
    found = {}
    for width, at in curves.items():
        grid, first = np.unique(x[at], return_index=True)
        curve = design.mean[at[first], 0]
        vertex = parabola_optimum(2.0**grid, curve, 3)
        found[width] = vertex if math.isfinite(vertex) else grid[np.argmin(curve)]
    powers = {width: power * math.log2(width) for width in curves}
    middle = np.mean([found[width] - powers[width] for width in curves])
    for width, at in curves.items():
        design.move(at, x, middle + powers[width] - found[width])


def draw(data, scale):
    from repro.judge import drawing

    shown = [key for key in MODELS if len(rows_of(data, key, "lr"))]
    figure, axes = drawing.panels(len(shown), len(SWEEPS))
    for column, key in zip(axes.T, shown, strict=True):
        words, study, end = MODELS[key]
        for panel, (sweep, (stage, axis, label, *_)) in zip(column, SWEEPS.items(), strict=True):
            if (key, sweep) not in SERIES:
                panel.axis("off")
                continue
            rows = rows_of(data, key, sweep)
            draw_panel(panel, rows, axis, width_colors(rows))
            mark_optima(panel, rows, axis, width_colors(rows), RIVAL[sweep])
            panel.set_xlabel(f"{label} (base constant)")
            panel.set_ylabel("final training loss (nats)")
            declared = registry.study(f"{study}/{stage}{end}").scales[scale].spec
            fixed = {"by_lr": ("noise", LEVEL), "by_noise": ("learning rate", "lr")}[stage]
            panel.set_title(f"{words}, {fixed[0]} {declared[fixed[1]]:.3g}", fontsize=9)
    return figure


def width_colors(rows):
    """Target width -> its colour."""
    from repro.judge import drawing

    widths = sorted(rows[WIDTH].unique())
    return dict(zip(widths, drawing.sns.color_palette("viridis", len(widths)), strict=True))


def mark_optima(panel, rows, axis, colors, rival):
    """The best value with its interval at each width of `colors`, and where a rival law would have
    it."""
    log2, limits = log2_places(rows[axis].unique()), panel.get_xlim()
    first = None
    for width, color in colors.items():
        losses = by_width(rows, axis)[width]
        x, y = losses.index.map(log2).to_numpy(float), losses.mean(axis=1).to_numpy()
        if not np.isfinite(y).any():
            continue
        best = int(np.argmin(y))
        _, low, high = t_interval([x[seed.argmin()] for seed in losses.to_numpy().T])
        reach = max(0.5, (high - low) / 2 if math.isfinite(low) else 0.0)
        ends = (2.0 ** x[best] * (1 - 2.0**-reach), 2.0 ** x[best] * (2.0**reach - 1))
        panel.errorbar(
            2.0 ** x[best], y[best], xerr=np.array(ends)[:, None], fmt="none", ecolor="black", lw=1
        )
        panel.plot(2.0 ** x[best], y[best], "*", color=color, ms=11, mec="black", mew=0.5)
        first = first or (width, x[best])
        there = first[1] + POWERS[rival] * math.log2(width / first[0])
        finite = np.isfinite(y)
        if width != first[0] and x[finite][0] <= there <= x[finite][-1]:
            height = np.interp(there, x[finite], y[finite])
            panel.plot(2.0**there, height, "X", color=color, ms=6, mec="black", mew=0.5)
    panel.set_xlim(limits)  # an interval of two seeds may be far wider than the grid


def draw_panel(panel, rows, axis, colors, grid=None):
    """One curve a target width of `colors`, its optimum marked; zero noise at the left end.

    grid: all values that the panel will show, where they are more than those of the rows.
    """
    grid = sorted(rows[axis].unique()) if grid is None else grid
    places = {value: 2.0**place for value, place in log2_places(grid).items()}
    curves = {}
    for width, color in colors.items():
        losses = rows[rows[WIDTH] == width].groupby(axis)["train_loss"].agg(["mean", "min", "max"])
        losses.index = losses.index.map(places)
        curves[width] = curve = losses.where(np.isfinite(losses["mean"]))
        style = {"ms": 2.5, "lw": 1.2, "color": color, "label": f"{int(width)}"}
        panel.plot(curve.index, curve["mean"], "-o", **style)
        panel.fill_between(curve.index, curve["min"], curve["max"], color=color, alpha=0.2, lw=0)
    ticks = whole_powers([v for v in grid if v > 0])
    labels = [f"$2^{{{k}}}$" for k in ticks]
    if 0.0 in places:
        panel.axvline(places[0.0], color="0.8", lw=0.8, ls=":", zorder=0)
    zero = [places[0.0]] if 0.0 in places else []
    panel.set_xscale("log", base=2)
    panel.set_xticks(zero + [2.0**k for k in ticks], ["0"] * len(zero) + labels, minor=False)
    means = np.concatenate([curve["mean"].dropna() for curve in curves.values()])
    if len(means):
        low, high = means.min(), float(np.quantile(means, 0.85))
        room = high - low
        top = high + 0.3 * room if means.max() > high + 0.6 * room else means.max() + 0.05 * room
        panel.set_ylim(low - 0.05 * (high - low), top)
        draw_arrows(panel, curves, colors, top)
    panel.legend(title="target width", fontsize=6.5, title_fontsize=7)


def draw_arrows(panel, curves, colors, top):
    """An arrow at the top edge, side by side, for every mean above it or not finite."""
    edge = {"xycoords": panel.get_xaxis_transform(), "textcoords": "offset points"}
    style = {"ha": "center", "va": "center", "fontsize": 8, "annotation_clip": False}
    for i, (width, curve) in enumerate(curves.items()):
        aside = 6 * (i - (len(curves) - 1) / 2)
        for x in curve.index[~(curve["mean"] <= top)]:
            panel.annotate(
                "\N{BLACK UP-POINTING TRIANGLE}",
                (x, 1),
                (aside, 0),
                **edge,
                **style,
                color=colors[width],
            ).set_in_layout(False)


def whole_powers(values):
    """Exponents of the powers of two in a range, at most about eight of them."""
    first, last = math.ceil(math.log2(values[0])), math.floor(math.log2(values[-1]))
    return list(range(first, last + 1, max(1, (last - first) // 8 + 1)))
