"""Figure 3: learning rate and noise transfer across widths of upscaled models."""

import math
from functools import partial

import numpy as np

from figures.upscaling._runs import ASKED, too_narrow
from figures.upscaling._transfer import (
    FITS,
    LEVEL,
    WIDTH,
    asymmetry,
    log2_places,
    lost,
    nothing,
    slope_of,
    sweeps,
)
from repro.core import discovery
from repro.core.study import OVERNIGHT
from repro.statistics import t_interval
from repro.verdicts.answers import (
    TOLERANCE,
    TRAINING,
    Condition,
    Measurement,
    Reading,
    Test,
    above,
    trained_scales,
    within,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.noise import Design
from repro.verdicts.power import AS_CLAIMED, SIDES, SIGN, Laws
from repro.verdicts.run_sweeps import gathered

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
SWEEPS = {
    "lr": ("by_lr", "lr", "learning rate", "the best learning rate"),
    "noise": ("by_noise", LEVEL, "noise level", "the best noise"),
}
FACTOR = 2  # by which every target is wider than its base
STATEMENT = {"lr": "rate", "noise": "noise-level"}
# GPT-2's rates also have a stage a width, where the widths have seeds of their own.
ARMS = {("gpt2", "lr"): ("by_lr_narrow", "by_lr_wide")}
SERIES = [(key, sweep) for key in MODELS for sweep in SWEEPS if sweep == "lr" or key not in PRINTED]
HALF_WAY = (
    "half way to 1/2, the slope of a noise of one standard deviation at every width; a quarter of "
    "the way to -1, that of SP's rate"
)


# At reduced scale there are runs enough for these; the others are drawn there, with few seeds.
JUDGED = (("gpt2", "lr"), ("mlp", "lr"))
# Down to the least noise there is no best one: at no width does a curve have a minimum.
PAPER_ONLY = ("mlp-sgd", "noise")


def scales_of(key, sweep, expectation):
    """Where a claim about a model binds: settings of the code, and as printed, at paper scale."""
    if MODELS[key][2] or (key, sweep) == PAPER_ONLY:
        return {"paper": expectation}
    return trained_scales(expectation, "reduced" if (key, sweep) in JUDGED else OVERNIGHT)


def narrowest_base(key, sweep, data, scale):
    """That the narrowest model that a sweep widens has fewer units than the paper asks for."""
    return too_narrow(rows_of(data, key, sweep)[WIDTH].min() / FACTOR)


ANSWERS = (
    *(
        Test(
            id=f"fig3.transfer-{sweep}-{key}",
            kind=TRAINING,
            statement=STATEMENT[sweep],
            column=MODELS[key][0],
            quantity=f"slope of log2 of {SWEEPS[sweep][3]} against log2 of the target width",
            expected=scales_of(key, sweep, within(0, 0.25, TOLERANCE, HALF_WAY)),
            conditions=(Condition(ASKED, partial(narrowest_base, key, sweep)),),
        )
        for key, sweep in SERIES
    ),
    *(
        Reading(
            id=f"fig3.lost-{sweep}-{key}",
            words="training loss of the widest at the narrowest's best value minus at its own, "
            "nats; both chosen on the other half of the seeds",
            beside="the paper prints no loss",
        )
        for key, sweep in SERIES
        if MODELS[key][2] == ""
    ),
    *(
        Test(
            id=f"fig3.asymmetric-{key}",
            kind=TRAINING,
            statement="optimal-noise",
            column=MODELS[key][0],
            quantity="training loss an octave above the best noise minus an octave below it, "
            "nats, mean over target widths; the best is that of the other seeds' mean",
            expected=scales_of(key, "noise", above(0)),
        )
        for key in MODELS
        if MODELS[key][2] == ""
    ),
)
# How a law's optimum goes with the target width: a power of it.
POWERS = {AS_CLAIMED: 0.0, "SP": -1.0, "one std at every width": 0.5}
RIVAL = {"lr": "SP", "noise": "one std at every width"}
LAWS = {
    **{f"fig3.transfer-{sweep}-{key}": Laws(AS_CLAIMED, (RIVAL[sweep],)) for key, sweep in SERIES},
    **{claim.id: SIGN for claim in ANSWERS if claim.id.startswith("fig3.asymmetric")},
}


def reduce(runs: Runs) -> Data:
    """Final losses of every run."""

    def label(name):
        return {"study": name.module, "stage": name.stage}

    columns = ["study", "stage", WIDTH, "lr", LEVEL, "seed", "step", "train_loss", "valid_loss"]
    return gathered(runs, label, last=True).reindex(columns=columns)


def rows_of(data: Data, key, sweep):
    """The rows of a model's sweep; none of CODE and PRINTED but at paper scale."""
    return data[(data["study"] == MODELS[key][1]) & data["stage"].isin(stages_of(key, sweep))]


def names_of(key, sweep):
    """The claims about a model's sweep, settings of the paper's."""
    profile = [f"fig3.asymmetric-{key}"] if sweep == "noise" else []
    return [f"fig3.transfer-{sweep}-{key}", f"fig3.lost-{sweep}-{key}", *profile]


def stages_of(key, sweep):
    """The stages of a model's sweep."""
    return (f"{SWEEPS[sweep][0]}{MODELS[key][2]}", *ARMS.get((key, sweep), ()))


def measure(data: Data, scale: str) -> Measured:
    found: dict[str, Measurement] = {}
    for key, sweep in SERIES:
        rows, axis = rows_of(data, key, sweep), SWEEPS[sweep][1]
        if rows.empty and MODELS[key][2] == "":
            words = "it is not run at this scale"
            found |= {name: nothing(words) for name in names_of(key, sweep)}
            continue
        found[f"fig3.transfer-{sweep}-{key}"] = slope_of(rows, axis)
        if MODELS[key][2] == "":
            found[f"fig3.lost-{sweep}-{key}"] = lost(rows, axis)
        if MODELS[key][2] == "" and sweep == "noise":
            found[f"fig3.asymmetric-{key}"] = asymmetry(rows)
    return found


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Every width's curve with its optimum where a law has it, their mean that of the recorded; or
    the noise's profile as it is, even, or turned round."""
    design = Design(recorded, ["train_loss"], ["study", "stage", WIDTH, "lr", LEVEL])
    for claim, laws in LAWS.items():
        if law in laws.names and claim.startswith("fig3.transfer-"):
            sweep, key = claim.removeprefix("fig3.transfer-").split("-", 1)
            rows = rows_of(recorded, key, sweep)
            if not rows.empty:
                set_optima(design, rows, SWEEPS[sweep][1], POWERS[law])
        elif law in laws.names and law != SIGN.paper:
            rows = rows_of(recorded, claim.removeprefix("fig3.asymmetric-"), "noise")
            if not rows.empty:
                set_profile(design, rows, SIDES[law])
    return design.draw(rng)


def set_optima(design, rows, axis, power):
    """Move one sweep's curves until their optima are as a power of the width."""
    x = design.recorded[axis].map(log2_places(rows[axis].unique())).to_numpy()
    curves = {
        width: design.recorded.index.get_indexer(part.index) for width, part in rows.groupby(WIDTH)
    }
    found = {}
    for width, at in curves.items():
        value, first = np.unique(design.recorded[axis].to_numpy()[at], return_index=True)
        value, curve = value[value > 0], design.mean[at[first], 0][value > 0]
        vertex = FITS[axis][0].vertex(value, curve)
        found[width] = vertex if math.isfinite(vertex) else math.log2(value[np.argmin(curve)])
    powers = {width: power * math.log2(width) for width in curves}
    middle = np.mean([found[width] - powers[width] for width in curves])
    for width, at in curves.items():
        design.move(at, x, middle + powers[width] - found[width])


def set_profile(design, rows, side):
    """Mirror one sweep's curves about their best noise (side -1), or make them even (0)."""
    for _, part in rows.groupby(WIDTH):
        at = design.recorded.index.get_indexer(part[part[LEVEL] > 0].index)
        x, first = np.unique(np.log2(design.recorded[LEVEL].to_numpy()[at]), return_index=True)
        curve = design.mean[at[first], 0]
        mirrored = np.interp(2 * x[np.argmin(curve)] - x, x, curve)
        new = mirrored if side < 0 else (mirrored + curve) / 2
        design.mean[at, 0] = new[np.searchsorted(x, np.log2(design.recorded[LEVEL].to_numpy()[at]))]


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    shown = [key for key in MODELS if len(rows_of(data, key, "lr"))]
    swept = [s for s in SWEEPS if any(len(rows_of(data, key, s)) for key in shown)]
    figure, axes = drawing.panels(len(shown), len(swept))
    for column, key in zip(axes.T, shown, strict=True):
        words, study, end = MODELS[key]
        for panel, sweep in zip(column, swept, strict=True):
            stage, axis, label, _ = SWEEPS[sweep]
            rows = rows_of(data, key, sweep)
            if rows.empty:
                panel.axis("off")
                continue
            panel.set_ylabel("final training loss (nats)")
            declared = discovery.study(f"{study}/{stage}{end}").scales[scale].spec
            fixed = {"by_lr": ("noise", LEVEL), "by_noise": ("learning rate", "lr")}[stage]
            # Without an interval: the one that is judged is calibrated, and stands in the caption.
            slope = slope_of(rows, axis).value
            found = "no slope" if math.isnan(slope) else f"slope against width {slope:z.2f}"
            panel.set_title(f"{words}: {found}", fontsize=9)
            panel.set_xlabel(f"{label}, at {fixed[0]} {declared[fixed[1]]:.3g} (base constants)")
            draw_panel(panel, rows, axis, width_colors(rows))
            mark_optima(panel, rows, axis, width_colors(rows), RIVAL[sweep])
    return figure


def small(data: Data, scale: str) -> Drawn:
    """The loss of the first model against its rate."""
    from repro.verdicts import drawing

    figure, ((panel,),) = drawing.panels(1, width=drawing.SMALL_INCHES, height=2.7)
    key = next(key for key in MODELS if len(rows_of(data, key, "lr")))
    rows = rows_of(data, key, "lr")
    draw_panel(panel, rows, SWEEPS["lr"][1], width_colors(rows))
    mark_optima(panel, rows, SWEEPS["lr"][1], width_colors(rows), RIVAL["lr"])
    panel.set_xlabel(f"learning rate, upscaled {MODELS[key][0]}")
    panel.set_ylabel("final training loss (nats)")
    return figure


def width_colors(rows):
    """Target width -> its colour."""
    from repro.verdicts import drawing

    return drawing.ramp(rows[WIDTH])


def mark_optima(panel, rows, axis, colors, rival):
    """The best value with its interval at each width of `colors`, and where a rival law would have
    it."""
    from repro.verdicts import drawing

    limits, first, marks = panel.get_xlim(), None, {"*": "best, 95 %"}
    for width, color in colors.items():
        curve = sweeps(rows, axis)[width]
        x, y = curve.log2[curve.rates > 0], curve.mean()[curve.rates > 0]
        finite = np.isfinite(y)
        vertices = [*FITS[axis][0].vertices(curve).values()]
        if not vertices or not finite.any():
            continue
        best, low, high = t_interval(vertices)
        height = np.interp(best, x[finite], y[finite])
        told = high - low < x[-1] - x[0]  # else a line across the panel, which looks like a guide
        if math.isfinite(low) and told:
            ends = np.array([[2.0**best - 2.0**low], [2.0**high - 2.0**best]])
            panel.errorbar(2.0**best, height, xerr=ends, fmt="none", ecolor="black", lw=1)
        panel.plot(2.0**best, height, "*", color=color, ms=11, mec="black", mew=0.5)
        first = first or (width, best)
        there = first[1] + POWERS[rival] * math.log2(width / first[0])
        if width != first[0] and x[finite][0] <= there <= x[finite][-1]:
            height = np.interp(there, x[finite], y[finite])
            panel.plot(2.0**there, height, "X", color=color, ms=6, mec="black", mew=0.5)
            marks["X"] = "rival law"
    panel.set_xlim(limits)  # an interval of two seeds may be far wider than the grid
    look = {"ls": "none", "color": "0.7", "mec": "black", "mew": 0.5}
    for marker, words in marks.items():
        panel.plot([], [], marker, **look, ms={"*": 9, "X": 6}[marker], label=words)
    drawing.legend_above(panel, 3, fontsize=6.5, handlelength=1.2)


def draw_panel(panel, rows, axis, colors, grid=None):
    """One curve a target width of `colors`, its optimum marked; zero noise at the left end.

    grid: all values that the panel will show, where they are more than those of the rows.
    """
    from repro.verdicts import drawing

    grid = sorted(rows[axis].unique()) if grid is None else grid
    places = {value: 2.0**place for value, place in log2_places(grid).items()}
    curves = {}
    for width, color in colors.items():
        of_width = rows[rows[WIDTH] == width]
        losses = of_width.groupby(axis)["train_loss"].agg(["mean"])
        losses.index = losses.index.map(places)
        curves[width] = curve = losses.where(np.isfinite(losses["mean"]))
        style = {"ms": 2.5, "lw": 1.2, "color": color, "label": f"n = {int(width)}"}
        shown = of_width[of_width[axis].map(places).isin(curve["mean"].dropna().index)]
        x, y = shown[axis].map(places), shown["train_loss"]
        drawing.band(panel, x, y, marker="o", **style)
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
    panel.legend(fontsize=6.5)


def draw_arrows(panel, curves, colors, top):
    """An arrow at the top edge, side by side, for every mean above it or not finite."""
    edge = {"xycoords": panel.get_xaxis_transform(), "textcoords": "offset points"}
    style = {"ha": "center", "va": "center", "fontsize": 8, "annotation_clip": False}
    if any((~(curve["mean"] <= top)).any() for curve in curves.values()):
        panel.plot([], [], "^", ms=5, color="0.5", label="above, or diverged")
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


FIGURE = Figure(
    title="Figure 3. Hyperparameter transfer of upscaled models",
    outcome=(
        "The best rate goes as target width^{fig3.transfer-lr-gpt2} (GPT-2), "
        "width^{fig3.transfer-lr-mlp} (MLP, AdamW)"
    ),
    caption=(
        "Final training loss, a mean over the last 20 steps (100 for GPT-2 and 232 at paper "
        "scale), against the learning rate at fixed noise (top) and against the noise at a fixed "
        "rate (bottom), one curve a target width n. Mean, and range over seeds (band). Stars: "
        "lowest point of a parabola (rates) or a cubic (noise) around each seed's best, mean over "
        "seeds with its 95 % interval, unless it is wider than the grid. Crosses: where a rival "
        "would have it, from the narrowest's: SP's rate, as 1/n (top), or noise of one standard "
        "deviation at all widths, a level as n^1/2 (bottom). In the titles: the slope of these "
        "against the target width, as it is judged; at the default scale only rates of GPT-2 and "
        "of the MLP with AdamW are. Arrows at the top edge: a mean above the panel, or a seed that "
        "diverged. (Ma et al., Figure 3.)"
    ),
    studies=tuple(
        f"{MODELS[key][1]}/{stage}" for key, sweep in SERIES for stage in stages_of(key, sweep)
    ),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    small=small,
    simulate=simulate,
)
