"""Curves and sweeps of one architecture under the protocol: Figures 2 and 4 to 11, their claims."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from repro import registry, search
from repro.claims import Claim, above, below, over_seeds, reported, within, without_interval
from repro.study import override
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
    "upscaled_without_noise": "upscaled, zero noise",
}
BASELINES = {
    "scratch_tuned": "wide, from scratch, its own best rate",
    "scratch_long": "wide, from scratch, base's epochs added",
}


@dataclass(frozen=True)
class Setting:
    """One architecture and optimizer under the protocol.

    selected: the paper's learning rate of Sweep 1, and rate and noise of Sweep 2, the noise in its
        code's convention. end_to_end: its speed-up with the base's cost charged (F.4).
    metric: what the sweeps select by. noise: the noise axis in words.
    """

    key: str
    words: str
    study: str
    selected: tuple[float, float, float]
    end_to_end: float
    metric: str = "train_loss"
    noise: str = r"noise $\bar\sigma_\Delta$"


SETTINGS = {
    each.key: each
    for each in (
        Setting("mlp-sgd", "MLP with SGD", "upscaling/mlp_sgd", (0.4, 0.1, 5.0), 8.5),
        Setting("mlp", "MLP with AdamW", "upscaling/mlp_adamw", (0.1, 0.013, 4.0), 3.0),
        Setting(
            "resnet",
            "ResNet-18 with SGD",
            "upscaling/resnet",
            (0.01, 0.003, 0.4),
            1.3,
            noise="relative noise $t$",
        ),
        Setting(
            "gpt2",
            "GPT-2 with AdamW",
            "upscaling/gpt2",
            (0.0039, 0.0020, 0.005),
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
    """The rows of one stage; `scratch_tuned` is the best run of `scratch_rates`."""
    if name == "scratch_tuned":
        rows = stage(data, "scratch_rates")
        return rows[rows["lr"] == best(rows, ["lr"], metric)["lr"]]
    return data[data["stage"] == name]


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
    """Why a tuned value is no optimum: neighbours of it that were not tried, "" when none are."""
    losses = final(rows).set_index(axes)[metric]
    points = {p if isinstance(p, tuple) else (p,): float(v) for p, v in losses.items()}
    if not search.missing(points):
        return ""
    chosen = best(rows, axes, metric)
    words = ", ".join(f"{axis} = {value:.3g}" for axis, value in chosen.items())
    return f"search limit, the optimum is at the grid's edge: {words}"


def all_edges(data, setting):
    """`edges` of Sweep 1 and Sweep 2."""
    sweep = sweep_stage(data)
    found = [
        ("Sweep 1", edges(stage(data, "tune"), ["lr"], setting.metric)),
        ("Sweep 2", edges(stage(data, sweep), ["lr", LEVEL], setting.metric)),
    ]
    return "; ".join(f"{name}: {words}" for name, words in found if words)


def sweep_stage(data):
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
        ("lr", f"Sweep 1 selects {first:g}", "Sweep 1's rate", first),
        ("lr-upscaled", f"Sweep 2 selects the rate {second:g}", "Sweep 2's rate", second),
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
        Claim(
            id=end % "upscaled-wins-tuned",
            statement="Ours: from scratch at its own best learning rate",
            source="suite",
            quantity="final training loss, upscaled over from scratch at its best rate",
            expected=dict.fromkeys(TRAINED, reported("no bound: below 1 if it still wins")),
        ),
        Claim(
            id=end % "upscaled-wins-long",
            statement="Ours: from scratch at its best rate, given the base's epochs as well",
            source="suite",
            quantity="final training loss, upscaled over from scratch with the base's steps added",
            expected=dict.fromkeys(TRAINED, reported("no bound: below 1 if it still wins")),
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
    sweep = stage(data, sweep_stage(data))
    first = best(stage(data, "tune"), ["lr"], metric)
    second = best(sweep, ["lr", LEVEL], metric)
    used = best(stage(data, "tune_upscaled"), ["lr", LEVEL], metric)
    by_minimum = best(sweep, ["lr", LEVEL], metric, "minimum")
    same = "the same" if by_minimum == second else _point(by_minimum)
    detail = f"by the minimum over the run the sweep would select {same}"
    if sweep_stage(data) != "tune_upscaled":
        detail += f"; in Algorithm 2's convention it selects {_point(used)}"
    problem = all_edges(data, setting)
    up, quiet = losses(data, "upscaled"), losses(data, "upscaled_without_noise")
    return {
        f"{figure}.selected-lr": without_interval(first["lr"], 1, problem, detail),
        f"{figure}.selected-lr-upscaled": without_interval(second["lr"], 1, problem, detail),
        f"{figure}.selected-noise": without_interval(second[LEVEL], 1, problem, detail),
        f"{figure}.noise-nonzero": over_seeds(
            lambda s: float(up[list(s)].mean() - quiet[list(s)].mean()),
            up.index,
            detail=shown(data),
        ),
    }


def _point(chosen):
    return f"lr {chosen['lr']:.4g}, noise {chosen[LEVEL]:.4g}"


def shown(data):
    """Mean final training losses in words."""
    names = {"upscaled_without_noise": "zero noise", "scratch_long": "scratch, base's steps added"}
    names = {n: n for n in ("base", "scratch", "upscaled")} | names
    names |= {"scratch_tuned": "scratch, best rate"}
    return ", ".join(f"{words} {losses(data, n).mean():.4g}" for n, words in names.items())


def measure_wins(figure, data, setting, scale):
    """Claim id -> Measurement, for `win_claims`."""
    up, scratch, long = (losses(data, n) for n in ("upscaled", "scratch", "scratch_long"))
    (tuned,) = final(stage(data, "scratch_tuned", setting.metric))["train_loss"]
    base_share = flops_ratio(setting.study, scale)
    detail = shown(data)
    at_edge = edges(stage(data, "scratch_rates"), ["lr"], setting.metric)

    def steps_needed(sample):
        curve = stage(data, "upscaled").pivot(index="step", columns="seed", values="train_loss")
        mean = curve[list(sample)].mean(axis=1)
        reached = mean.index[mean <= scratch[list(sample)].mean()]
        return float(reached[0] / mean.index[-1]) if len(reached) else float("inf")

    def ratio(other):
        return lambda sample: float(up[list(sample)].mean() / other[list(sample)].mean())

    measured = {
        "upscaled-wins": over_seeds(ratio(scratch), up.index, detail=detail),
        "upscaled-wins-tuned": over_seeds(
            lambda s: float(up[list(s)].mean() / tuned), up.index, at_edge, detail
        ),
        "upscaled-wins-long": over_seeds(ratio(long), up.index, at_edge, detail),
        "faster": over_seeds(steps_needed, up.index),
        "end-to-end": over_seeds(
            lambda s: 1 / (base_share + steps_needed(s)),
            up.index,
            detail=f"the base costs {base_share:.3g} of the wide run",
        ),
    }
    return {f"{figure}.{name}-{setting.key}": found for name, found in measured.items()}


def draw_curve(panel, data, metric, label, setting, zoom=False):
    """Base, from scratch and upscaled with baselines against steps: mean, and range over seeds."""
    from repro import drawing

    ends = []
    for color, (name, words) in zip(drawing.COLORS, (WIDE | BASELINES).items(), strict=False):
        rows = stage(data, name, setting.metric)
        rows = rows[np.isfinite(rows[metric])]
        if rows.empty:
            continue
        spread = rows.groupby("step")[metric].agg(["mean", "min", "max"])
        style = "--" if name in BASELINES else "-"
        panel.plot(spread.index, spread["mean"], style, color=color, label=words, lw=1.4)
        panel.fill_between(spread.index, spread["min"], spread["max"], color=color, alpha=0.2, lw=0)
        ends.append(spread["mean"].iloc[-1])
    if zoom and ends:
        room = 0.25 * (max(ends) - min(ends)) + 1e-3 * max(ends)
        panel.set_ylim(min(ends) - room, max(ends) + 3 * room)
    panel.set_xlabel("step")
    panel.set_ylabel(label)


def draw_curves(data, setting):
    """Training loss (whole, and zoomed on the end), validation loss and accuracy."""
    from repro import drawing

    figure, axes = drawing.panels(4, width=3.6)
    panels = (
        ("train_loss", "training loss (nats)", False),
        ("train_loss", "training loss (nats), zoomed", True),
        ("valid_loss", "validation loss (nats)", False),
        ("valid_accuracy", "validation accuracy", False),
    )
    for panel, (metric, label, zoom) in zip(axes[0], panels, strict=True):
        draw_curve(panel, data, metric, label, setting, zoom)
    axes[0, 0].legend(fontsize=6.5)
    return figure


def sweep_claims(figure, where):
    """The claim of a figure of a sweep."""
    return (
        Claim(
            id=f"{figure}.optimal-noise",
            statement="An optimal noise level exists: less and more of it both end higher",
            source=where,
            quantity="smaller loss of zero and the largest noise, each at its best rate, over "
            "the best",
            expected=dict.fromkeys(TRAINED, above(1)),
        ),
    )


def measure_sweep(figure, data):
    """Claim id -> Measurement, for `sweep_claims`; one seed."""
    rows = final(stage(data, "tune_upscaled"))
    by_level = rows.groupby(LEVEL)["train_loss"].min()
    ends = by_level.iloc[[0, -1]]
    words = _point(best(rows, ["lr", LEVEL], "train_loss")) + f": {by_level.min():.4g}"
    problem = "" if np.isfinite(by_level.min()) else "every run diverged"
    return {
        f"{figure}.optimal-noise": without_interval(ends.min() / by_level.min(), 1, problem, words)
    }


def draw_sweep(data, setting):
    """Sweep 2 as heatmaps, one a noise convention, and curves at the best rate."""
    from repro import drawing

    conventions = {"tune_upscaled": "Algorithm 2's noise", "tune_upscaled_code": "the code's noise"}
    found = [name for name in conventions if name in set(data["stage"])]
    figure, axes = drawing.panels(len(found) + 1, width=4.6, height=3.8)
    for panel, name in zip(axes[0], found, strict=False):
        title = conventions[name] if len(found) > 1 else "Sweep 2"
        draw_heatmap(figure, panel, stage(data, name), setting, title)
    draw_levels(axes[0, -1], stage(data, "tune_upscaled"), setting)
    return figure


def draw_heatmap(figure, panel, rows, setting, title):
    """Final loss over learning rate and noise, the optimum starred, diverged cells empty."""
    from matplotlib.colors import ListedColormap

    metric = setting.metric
    words = {"train_loss": "training", "valid_loss": "validation"}[metric]
    table = final(rows).pivot(index=LEVEL, columns="lr", values=metric)
    values = np.where(np.isfinite(table), table, np.nan)
    chosen = best(rows, ["lr", LEVEL], metric)
    top = np.nanquantile(values, 0.8) if np.isfinite(values).any() else None
    image = panel.imshow(values, origin="lower", aspect="auto", cmap="viridis", vmax=top)
    never = np.where(np.isnan(table), 1.0, np.nan)
    panel.imshow(never, origin="lower", aspect="auto", cmap=ListedColormap(["0.85"]))
    figure.colorbar(image, ax=panel, label=f"final {words} loss (nats)", extend="max")
    panel.set_xticks(range(len(table.columns)), [f"{v:.3g}" for v in table.columns], rotation=60)
    panel.set_yticks(range(len(table.index)), [f"{v:.3g}" for v in table.index])
    star = table.columns.get_loc(chosen["lr"]), table.index.get_loc(chosen[LEVEL])
    panel.plot(*star, "*", color="red", ms=13, mec="white")
    panel.set_xlabel("learning rate (base constant)")
    panel.set_ylabel(setting.noise)
    notes = ["star: best"]
    notes += ["white: diverged"] if np.isinf(table.to_numpy(float)).any() else []
    notes += ["grey: not run"] if np.isfinite(never).any() else []
    panel.set_title(f"{title} ({', '.join(notes)})", fontsize=8)


def draw_levels(panel, rows, setting):
    """Training curves at the best learning rate, one a noise level."""
    from repro import drawing

    chosen = best(rows, ["lr", LEVEL], setting.metric)
    at_best = rows[rows["lr"] == chosen["lr"]]
    levels = sorted(at_best[LEVEL].unique())
    colors = drawing.sns.color_palette("viridis", len(levels))
    for color, level in zip(colors, levels, strict=True):
        curve = at_best[(at_best[LEVEL] == level) & np.isfinite(at_best["train_loss"])]
        panel.plot(curve["step"], curve["train_loss"], color=color, label=f"{level:.3g}")
    panel.set_yscale("log")
    panel.set_xlabel("step")
    panel.set_ylabel("training loss (nats)")
    panel.set_title(f"learning rate {chosen['lr']:.3g}", fontsize=8)
    panel.legend(title=setting.noise, fontsize=6.5, title_fontsize=7, ncols=2)
