"""Curves and sweeps of one architecture under the protocol: Figures 2 and 4 to 11, their claims."""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from repro.judge.claims import Claim, above, below, over_seeds, reported, within, without_interval
from repro.suite import registry, search
from repro.suite.spec import override
from repro.tasks import TASKS

LEVEL = "start.level"
COLUMNS = [
    "study",
    "stage",
    "lr",
    LEVEL,
    "seed",
    "step",
    "train_loss",
    "valid_loss",
    "valid_accuracy",
    "outside",
    "inside",
]
TRAINED = ("reduced", "paper")
WIDE = {
    "base": "base",
    "scratch": "wide, from scratch",
    "upscaled": "upscaled",
    "upscaled_without_noise": "upscaled, zero noise,\nat its own best rate",
}
BASELINES = {
    "scratch_tuned": "wide, from scratch,\nat its own best rate, one run",
    "scratch_long": "the same, base's steps added",
}
QUIET = "quiet"  # Sweep 2's runs without noise
SWEEPS = {
    "tune": ("Sweep 1", ["lr"]),
    "tune_upscaled": ("Sweep 2", ["lr", LEVEL]),
    "tune_upscaled_code": ("Sweep 2 with the code's noise", ["lr", LEVEL]),
    QUIET: ("Sweep 2 at zero noise", ["lr"]),
    "scratch_rates": ("the rates from scratch", ["lr"]),
}
OURS = (  # beside the paper's claims: id, statement, loss, baseline, what below 1 means
    (
        "upscaled-wins-tuned",
        "from scratch at its own best learning rate",
        "training",
        " at its best rate",
        "still wins",
    ),
    (
        "upscaled-wins-long",
        "from scratch at its best rate, given the base's epochs as well",
        "training",
        " with the base's steps added",
        "still wins",
    ),
    (
        "validation",
        "what the lower training loss is worth on held-out data",
        "validation",
        "",
        "generalises",
    ),
)
LOSS = {"train_loss": "training", "valid_loss": "validation"}
MEANING = (
    "Mean, and range over seeds (band), against steps; a training loss is the mean since the last "
    "point. Solid: the paper's runs and upscaling without noise at its own best rate. Dashed, "
    "ours: from scratch at its own best rate, the one run of the sweep over rates, and the same "
    "with the base's steps added."
)
SWEPT = (
    "Heatmaps: final {} loss of the small upscaled system over learning rate and noise, one seed, "
    "the best starred; colours end at the 80 % quantile. Right: training loss, a mean since the "
    "last point, at the best rate, one curve a noise level; where a first point lies far above "
    "the rest, the axis is cut and the legend gives it ({})."
)


@dataclass(frozen=True)
class Setting:
    """One architecture and optimizer under the protocol.

    selected: the paper's learning rate of Sweep 1, and rate and noise of Sweep 2 as they are on
        its grids (ROUNDED: as it prints them), the noise in its code's convention.
    end_to_end: its speed-up with the base's cost charged (F.4).
    metric: what the sweeps select by. noise: the noise axis in words.
    """

    key: str
    words: str
    study: str
    selected: tuple[float, float, float]
    end_to_end: float
    metric: str = "train_loss"
    noise: str = r"noise $\bar\sigma_\Delta$"


ROUNDED = {0.0125: "0.013", 0.0025: "0.003", 2.0**-8: "0.0039", 2.0**-9: "0.0020"}
SETTINGS = {
    each.key: each
    for each in (
        Setting("mlp-sgd", "MLP with SGD", "upscaling/mlp_sgd", (0.4, 0.1, 5.0), 8.5),
        Setting("mlp", "MLP with AdamW", "upscaling/mlp_adamw", (0.1, 0.0125, 4.0), 3.0),
        Setting(
            "resnet",
            "ResNet-18 with SGD",
            "upscaling/resnet",
            (0.01, 0.0025, 0.4),
            1.3,
            noise="relative noise $t$",
        ),
        Setting(
            "gpt2",
            "GPT-2 with AdamW",
            "upscaling/gpt2",
            (2.0**-8, 2.0**-9, 0.005),
            2.2,
            metric="valid_loss",
        ),
    )
}


def reduce(runs):
    """Every stage's records in one table; a search's rounds belong to their stage."""
    import pandas as pd

    parts = []
    for name, table in runs.items():
        study, _, stage_name = name.rpartition("/")
        parts.append(table.assign(study=study, stage=stage_name.partition("+")[0]))
    return pd.concat(parts, ignore_index=True).reindex(columns=COLUMNS)


def stage(data, name, metric="train_loss"):
    """The rows of one stage, their losses infinite where a run diverged; `scratch_tuned` is the
    best run of `scratch_rates`, QUIET the runs of `tune_upscaled` without noise."""
    if name == "scratch_tuned":
        rows = stage(data, "scratch_rates")
        return rows[rows["lr"] == best(rows, ["lr"], metric)["lr"]]
    if name == QUIET:
        rows = stage(data, "tune_upscaled")
        return rows[rows[LEVEL] == 0]
    return data[data["stage"] == name].fillna({"valid_loss": math.inf})


def final(rows):
    """The last evaluation of every run."""
    return rows[rows["step"] == rows["step"].max()]


def best(rows, axes, metric, how="final"):
    """The settings with the lowest metric, at the end or at its minimum."""
    losses = final(rows).set_index(axes)[metric]
    if how == "minimum":
        losses = rows.groupby(axes)[metric].min()
    found = losses.idxmin()
    return dict(zip(axes, found if isinstance(found, tuple) else (found,), strict=True))


def edges(rows, axes, metric):
    """Why a tuned value is no optimum: every run diverged, or neighbours of it were not tried;
    "" when it is one."""
    losses = final(rows).set_index(axes)[metric]
    if not np.isfinite(losses.min()):
        return "every run diverged"
    points = {p if isinstance(p, tuple) else (p,): float(v) for p, v in losses.items()}
    if not search.missing(points):
        return ""
    chosen = best(rows, axes, metric)
    words = ", ".join(f"{axis} = {value:.3g}" for axis, value in chosen.items())
    return f"search limit, the optimum is at the grid's edge: {words}"


def limits(data, setting, *sweeps):
    """`edges` of some of SWEEPS."""
    found = {
        SWEEPS[name][0]: edges(stage(data, name), SWEEPS[name][1], setting.metric)
        for name in sweeps
    }
    return joined(*(f"{words}: {why}" for words, why in found.items() if why))


def diverged(data, *names):
    """Stages of which runs diverged, and how many."""
    lost = {name: ~np.isfinite(losses(data, name)) for name in names}
    return joined(
        *(f"{s.sum()} of {len(s)} runs of {name} diverged" for name, s in lost.items() if s.any())
    )


def joined(*words):
    """Those of some words that are not empty."""
    return "; ".join(filter(None, words))


def code_sweep(data):
    """Sweep 2 in the released code's convention where there is one, for the paper's selection."""
    return "tune_upscaled_code" if "tune_upscaled_code" in set(data["stage"]) else "tune_upscaled"


def losses(data, name, metric="train_loss"):
    """Seed -> final training loss, or another metric."""
    return final(stage(data, name)).set_index("seed")[metric]


@cache
def flops_ratio(study, scale):
    """Training operations of the base run over those of the wide one."""

    def flops(stage_name):
        declared = registry.study(f"{study}/{stage_name}")
        return TASKS[declared.task].cost(override(declared.spec, declared.scales[scale].spec)).flops

    return flops("base") / flops("scratch")


def curve_claims(figure, where, setting):
    """Claims of a figure of curves: what the sweeps select, and that noise helps."""
    first, second, noise = setting.selected
    selected = (
        ("lr", f"Sweep 1 selects {printed(first)}", "Sweep 1's rate", first),
        ("lr-upscaled", f"Sweep 2 selects the rate {printed(second)}", "Sweep 2's rate", second),
        ("noise", f"Sweep 2 selects noise {noise:g}", "Sweep 2's noise, as in the code", noise),
    )
    return (
        *(
            Claim(
                id=f"{figure}.selected-{name}",
                statement=statement,
                source=where,
                quantity=quantity,
                expected={"paper": within(value, value / 20)},
            )
            for name, statement, quantity, value in selected
        ),
        Claim(
            id=f"{figure}.noise-nonzero",
            statement="Noise makes the upscaled model better than going on without it",
            source="Section 4; " + where,
            quantity="final training loss with noise minus without, each at its own best rate",
            expected=dict.fromkeys(TRAINED, below(0)),
        ),
    )


def printed(rate):
    """A rate as the paper prints it, and where that is rounded as it is on the grid."""
    return f"{ROUNDED[rate]} ({rate:.4g} on its grid)" if rate in ROUNDED else f"{rate:g}"


def win_claims(figure, where, setting):
    """Claims of the upscaled model against the wide one from scratch."""
    end = f"{figure}.%s-{setting.key}"
    return (
        Claim(
            id=end % "upscaled-wins",
            statement=f"{setting.words}: upscaled ends below from scratch, for equal epochs",
            source=where,
            quantity="final training loss, upscaled over from scratch",
            expected=dict.fromkeys(TRAINED, below(1)),
        ),
        *(
            Claim(
                id=end % name,
                statement=f"Ours: {statement}",
                source="suite",
                quantity=f"final {loss} loss, upscaled over from scratch{how}",
                expected=dict.fromkeys(TRAINED, reported(f"no bound: below 1 if it {what}")),
            )
            for name, statement, loss, how, what in OURS
        ),
        Claim(
            id=end % "faster",
            statement=f"{setting.words}: upscaled reaches the from-scratch final loss early",
            source=where,
            quantity="steps to the from-scratch final loss over all steps",
            expected=dict.fromkeys(TRAINED, below(1)),
        ),
        Claim(
            id=end % "end-to-end",
            statement=f"{setting.words}: {setting.end_to_end:g} times cheaper than from scratch, "
            "base included",
            source="Appendix F.4",
            quantity="operations from scratch over those of the base and of the upscaled model "
            "until the from-scratch loss",
            expected={
                "reduced": reported("no bound: above 1 if it pays"),
                "paper": within(setting.end_to_end, 0.1 * setting.end_to_end),
            },
        ),
    )


def measure_curves(figure, data, setting):
    """Claim id -> Measurement, for `curve_claims`."""
    metric = setting.metric
    name = code_sweep(data)
    sweep = stage(data, name)
    tune = stage(data, "tune")
    first = best(tune, ["lr"], metric)
    second = best(sweep, ["lr", LEVEL], metric)
    used = best(stage(data, "tune_upscaled"), ["lr", LEVEL], metric)
    by_minimum = best(sweep, ["lr", LEVEL], metric, "minimum")
    lowest = best(tune, ["lr"], metric, "minimum")
    words = "by the minimum over the run the sweep would select "
    first_detail = words + ("the same" if lowest == first else f"{lowest['lr']:.4g}")
    detail = words + ("the same" if by_minimum == second else _point(by_minimum))
    if name != "tune_upscaled":
        detail += f"; in Algorithm 2's convention it selects {_point(used)}"
    problem = limits(data, setting, "tune", name)
    up, quiet = losses(data, "upscaled"), losses(data, "upscaled_without_noise")
    return {
        f"{figure}.selected-lr": without_interval(first["lr"], 1, problem, first_detail),
        f"{figure}.selected-lr-upscaled": without_interval(second["lr"], 1, problem, detail),
        f"{figure}.selected-noise": without_interval(second[LEVEL], 1, problem, detail),
        f"{figure}.noise-nonzero": over_seeds(
            lambda s: float(up[list(s)].mean()) - float(quiet[list(s)].mean()),
            up.index,
            joined(
                limits(data, setting, "tune", "tune_upscaled", QUIET),
                diverged(data, "upscaled_without_noise"),
            ),
            shown(data, setting),
        ),
    }


def _point(chosen):
    return f"lr {chosen['lr']:.4g}, noise {chosen[LEVEL]:.4g}"


def shown(data, setting):
    """Upscaled runs that diverged, and mean final training losses in words."""
    names = {"upscaled_without_noise": "zero noise", "scratch_long": "scratch, base's steps added"}
    names = {n: n for n in ("base", "scratch", "upscaled")} | names
    names |= {"scratch_tuned": "scratch, best rate"}
    means = {
        words: final(stage(data, name, setting.metric))["train_loss"].mean()
        for name, words in names.items()
    }
    ends = ", ".join(f"{words} {mean:.4g}" for words, mean in means.items())
    return joined(diverged(data, "upscaled"), ends)


def measure_wins(figure, data, setting, scale):
    """Claim id -> Measurement, for `win_claims`.

    A baseline that diverged is no loss to be below: such a claim is not judged. Upscaled runs that
    diverged where the baseline's did not make their mean infinite, which is a loss.
    """
    up, scratch, long = (losses(data, n) for n in ("upscaled", "scratch", "scratch_long"))
    valid_up, valid_scratch = (losses(data, n, "valid_loss") for n in ("upscaled", "scratch"))
    tuned = float(final(stage(data, "scratch_tuned", setting.metric))["train_loss"].iloc[0])
    base_share = flops_ratio(setting.study, scale)
    detail = shown(data, setting)
    tuning = limits(data, setting, "tune", "tune_upscaled")
    problem = joined(tuning, diverged(data, "scratch"))
    own_rate = joined(tuning, limits(data, setting, "scratch_rates"))
    curve = stage(data, "upscaled").pivot(index="step", columns="seed", values="train_loss")

    def steps_needed(sample):
        mean, target = curve[list(sample)].mean(axis=1), scratch[list(sample)].mean()
        reached = mean.index[mean <= target]
        if not np.isfinite([target, mean.iloc[-1]]).all() or reached.empty:
            return math.inf
        return float(reached[0] / mean.index[-1])

    def ratio(ours, other):
        return lambda s: float(ours[list(s)].mean()) / float(other[list(s)].mean())

    measured = {
        "upscaled-wins": over_seeds(ratio(up, scratch), up.index, problem, detail),
        "upscaled-wins-tuned": over_seeds(
            lambda s: float(up[list(s)].mean()) / tuned, up.index, own_rate, detail
        ),
        "upscaled-wins-long": over_seeds(
            ratio(up, long), up.index, joined(own_rate, diverged(data, "scratch_long")), detail
        ),
        "validation": over_seeds(
            ratio(valid_up, valid_scratch),
            up.index,
            problem,
            joined(
                diverged(data, "upscaled"),
                f"scratch {valid_scratch.mean():.4g}, upscaled {valid_up.mean():.4g}",
            ),
        ),
        "faster": over_seeds(steps_needed, up.index, problem, diverged(data, "upscaled")),
        "end-to-end": over_seeds(
            lambda s: 1 / (base_share + steps_needed(s)),
            up.index,
            problem,
            f"the base costs {base_share:.3g} of the wide run",
        ),
    }
    return {f"{figure}.{name}-{setting.key}": found for name, found in measured.items()}


def spread(data, name, metric, setting):
    """Mean and range over all seeds by step; nothing where a seed has diverged."""
    found = stage(data, name, setting.metric).groupby("step")[metric]
    found = found.agg([lambda values: values.mean(skipna=False), "min", "max"])
    found.columns = ["mean", "min", "max"]
    return found.where(np.isfinite(found["mean"]))


def draw_curve(panel, data, metric, label, setting):
    """Base, from scratch and upscaled with baselines against steps: mean, and range over seeds."""
    from repro.judge import drawing

    for color, (name, words) in zip(drawing.COLORS, (WIDE | BASELINES).items(), strict=False):
        curve = spread(data, name, metric, setting)
        style = "--" if name in BASELINES else "-"
        panel.plot(curve.index, curve["mean"], style, color=color, label=words, lw=1.4)
        panel.fill_between(curve.index, curve["min"], curve["max"], color=color, alpha=0.2, lw=0)
    panel.set_xlabel("step")
    panel.set_ylabel(label)


def rates(data, setting):
    """The learning rates behind the curves, in words, and what diverged."""
    scratch, tuned, up, quiet = (
        stage(data, name, setting.metric)["lr"].iloc[0]
        for name in ("scratch", "scratch_tuned", "upscaled", "upscaled_without_noise")
    )
    own = "the same" if tuned == scratch else f"{tuned:.3g}"
    words = f"rates: from scratch {scratch:.3g}, its own best {own},\n"
    words += f"upscaled {up:.3g}, at zero noise {quiet:.3g}"
    lost = diverged(data, *WIDE, "scratch_long")
    return f"{words}\n{lost}" if lost else words


def legend_beside(panel):
    """One legend for a row of panels, beside the last."""
    panel.legend(loc="upper left", bbox_to_anchor=(1.02, 1), fontsize=7)


def zoomed(data, setting):
    """Limits that show where the training losses end; None where they would show most of all."""
    curves = [spread(data, n, "train_loss", setting).dropna() for n in WIDE | BASELINES]
    curves = [curve for curve in curves if len(curve)]
    if not curves:
        return None
    ends = [curve["mean"].iloc[-1] for curve in curves]
    bottom, top = min(c["min"].min() for c in curves), max(c["max"].max() for c in curves)
    room = 0.25 * (max(ends) - min(ends)) + 1e-3 * max(ends)
    low, high = max(bottom, min(ends) - room), min(top, max(ends) + 3 * room)
    return (low - 0.03 * (high - low), high) if high - low < 0.6 * (top - bottom) else None


def draw_curves(data, setting):
    """Training loss (whole, and zoomed on the end where that shows more), validation loss and
    accuracy."""
    from repro.judge import drawing

    zoom = zoomed(data, setting)
    shown_as = [("train_loss", "training loss (nats)", None)]
    shown_as += [("train_loss", "training loss (nats), zoomed", zoom)] if zoom else []
    shown_as += [("valid_loss", "validation loss (nats)", None)]
    shown_as += [("valid_accuracy", "validation accuracy", None)]
    figure, axes = drawing.panels(len(shown_as), width=4.1)
    for panel, (metric, label, ends) in zip(axes[0], shown_as, strict=True):
        draw_curve(panel, data, metric, label, setting)
        if ends:
            panel.set_ylim(*ends)
    axes[0, 0].set_title(rates(data, setting), fontsize=7.5)
    legend_beside(axes[0, -1])
    return figure


def sweep_claims(figure, where, setting):
    """The claim of a figure of a sweep."""
    return (
        Claim(
            id=f"{figure}.optimal-noise",
            statement="An optimal noise level exists: less and more of it both end higher",
            source=where,
            quantity=f"final {LOSS[setting.metric]} loss, one seed, small width: the smaller of "
            "zero and the largest noise, each at its best rate, over the best",
            expected=dict.fromkeys(TRAINED, above(1)),
        ),
    )


def measure_sweep(figure, data, setting):
    """Claim id -> Measurement, for `sweep_claims`; one seed."""
    rows = stage(data, "tune_upscaled")
    by_level = final(rows).groupby(LEVEL)[setting.metric].min()
    ends = by_level.iloc[[0, -1]]
    lowest = float(by_level.min())
    gains = ", ".join(
        f"{1 - lowest / loss:.1%} below {name}" if np.isfinite(loss) else f"{name} diverged"
        for name, loss in zip(("zero noise", "the largest"), ends, strict=True)
    )
    problem = limits(data, setting, "tune_upscaled", QUIET)
    words = f"{_point(best(rows, ['lr', LEVEL], setting.metric))}: {lowest:.4g}, {gains}"
    value = float(ends.min()) / lowest
    return {f"{figure}.optimal-noise": without_interval(value, 1, problem, words)}


def draw_sweep(data, setting):
    """Sweep 2 as heatmaps, one a noise convention, and curves at the best rate."""
    from repro.judge import drawing

    conventions = {"tune_upscaled": "Algorithm 2's noise", "tune_upscaled_code": "the code's noise"}
    found = [name for name in conventions if name in set(data["stage"])]
    titles = conventions if len(found) > 1 else {"tune_upscaled": "Sweep 2"}
    figure, axes = drawing.panels(len(found) + 1, width=4.6, height=3.8)
    for panel, name in zip(axes[0], found, strict=False):
        draw_heatmap(figure, panel, stage(data, name), setting, titles[name])
    draw_levels(axes[0, -1], stage(data, "tune_upscaled"), setting, titles["tune_upscaled"])
    return figure


def draw_heatmap(figure, panel, rows, setting, title):
    """Final loss over learning rate and noise, the optimum starred, diverged cells empty."""
    from matplotlib.colors import ListedColormap

    metric = setting.metric
    table = final(rows).pivot(index=LEVEL, columns="lr", values=metric)
    values = np.where(np.isfinite(table), table, np.nan)
    chosen = best(rows, ["lr", LEVEL], metric)
    top = np.nanquantile(values, 0.8) if np.isfinite(values).any() else None
    image = panel.imshow(values, origin="lower", aspect="auto", cmap="viridis", vmax=top)
    never = np.where(np.isnan(table), 1.0, np.nan)
    panel.imshow(never, origin="lower", aspect="auto", cmap=ListedColormap(["0.85"]))
    figure.colorbar(image, ax=panel, label=f"final {LOSS[metric]} loss (nats)", extend="max")
    panel.set_xticks(range(len(table.columns)), [f"{v:.3g}" for v in table.columns], rotation=60)
    panel.set_yticks(range(len(table.index)), [f"{v:.3g}" for v in table.index])
    star = table.columns.get_loc(chosen["lr"]), table.index.get_loc(chosen[LEVEL])
    if np.isfinite(values).any():
        panel.plot(*star, "*", color="red", ms=13, mec="white")
    panel.set_xlabel("learning rate (base constant)")
    panel.set_ylabel(setting.noise)
    notes = ["star: best"]
    notes += ["white: diverged"] if np.isinf(table.to_numpy(float)).any() else []
    notes += ["grey: not run"] if np.isfinite(never).any() else []
    panel.set_title(f"{title} ({', '.join(notes)})", fontsize=8)


def draw_levels(panel, rows, setting, title):
    """Training curves at the best learning rate, one a noise level."""
    from repro.judge import drawing

    chosen = best(rows, ["lr", LEVEL], setting.metric)
    at_best = rows[rows["lr"] == chosen["lr"]]
    curves = at_best.pivot(index="step", columns=LEVEL, values="train_loss").sort_index()
    finite = curves.where(np.isfinite(curves))
    highest = finite.iloc[1:].max().max()  # of all but the first points
    cut = [level for level in finite if finite[level].iloc[0] > 2 * highest]
    colors = drawing.sns.color_palette("viridis", len(curves.columns))
    for color, level in zip(colors, curves, strict=True):
        label = f"{level:.3g}"
        if level in cut:
            label += f", from {finite[level].iloc[0]:.3g}"
        if not np.isfinite(curves[level].iloc[-1]):
            label += ": diverged"
        panel.plot(finite.index, finite[level], color=color, label=label)
    low, high = finite.min().min(), highest if cut else finite.max().max()
    if cut:
        panel.set_ylim(low - 0.05 * (high - low), 1.05 * high)
    if high > 10 * low:
        panel.set_yscale("log")
        panel.set_ylim(bottom=0.9 * low)
    panel.set_xlabel("step")
    panel.set_ylabel("training loss (nats)")
    panel.set_title(f"{title}, learning rate {chosen['lr']:.3g}", fontsize=8)
    panel.legend(
        title=setting.noise,
        fontsize=6.5,
        title_fontsize=7,
        loc="upper left",
        bbox_to_anchor=(1.02, 1),
    )
