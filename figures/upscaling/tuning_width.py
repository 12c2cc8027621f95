"""What the target loses by the width of the model that rate and noise were tuned on, MLP with
AdamW."""

from figures.upscaling import _runs
from figures.upscaling._runs import LEVEL, SETTINGS
from repro.core import discovery
from repro.statistics import t_interval
from repro.verdicts.answers import (
    STATED,
    TRAINING,
    Reading,
    Test,
    above,
    over_seeds,
    trained_scales,
)
from repro.verdicts.figure import Figure, View
from repro.verdicts.intervals import joined
from repro.verdicts.noise import Design
from repro.verdicts.power import SIDES, SIGN

SETTING = SETTINGS["mlp"]
OTHERS = tuple(f"upscaling/mlp_adamw_tuned_{place}" for place in ("second", "third", "fourth"))
STUDIES = (SETTING.study, *OTHERS)
STAGES = ("tune", "base", "tune_upscaled", "upscaled")
BESIDE = ("scratch", "tune_target", "upscaled_tuned")
NAMES = dict(zip(STUDIES, ("first", "second", "third", "fourth"), strict=True))
SMALL = "tuned at"
ANSWERS = (
    Test(
        id="tuning_width.shrinks",
        kind=TRAINING,
        statement="tuning-width",
        column=SETTING.name,
        quantity=f"final training loss at the target, {SETTING.over}, tuned on the narrowest model "
        "minus tuned on the widest",
        expected=trained_scales(above(0, STATED)),
    ),
    *(
        Reading(
            id=f"tuning_width.lost-{name}",
            words="share of upscaling's gain over training from scratch, in final training "
            "loss, that the setting tuned on it loses against the one tuned at the target",
            beside="0 if nothing is lost",
        )
        for name in NAMES.values()
    ),
)
LAWS = {"tuning_width.shrinks": SIGN}


def width(study, scale):
    """Width of a study's small model at a scale."""
    return discovery.study(f"{study}/tune").settings(scale)["model"]["width"]


def by_study(data, scale):
    """Study -> its stages, from the narrowest small model to the widest."""
    order = sorted(STUDIES, key=lambda study: width(study, scale))
    return {study: _runs.by_stage(data[data["study"] == study], scale) for study in order}


def measure(data, scale):
    of = by_study(data, scale)
    stages, ends = of[SETTING.study], {s: _runs.losses(t, "upscaled") for s, t in of.items()}
    scratch, tuned = (_runs.losses(stages, name) for name in ("scratch", "upscaled_tuned"))
    target = _runs.edges(stages, SETTING, _runs.TARGET)
    narrow, *_, wide = ends
    tuning = {
        study: joined(
            _runs.edges(tables, SETTING, "tune", "tune_upscaled"),
            _runs.diverged(tables, "upscaled"),
        )
        for study, tables in of.items()
    }
    chosen = {
        s: _runs.best(_runs.ends(t, "tune_upscaled"), ["lr", LEVEL], "train_loss")
        for s, t in of.items()
    }
    words = "; ".join(
        f"at {width(s, scale)}: {_runs.point(chosen[s])}, {ends[s].mean():.4g}" for s in of
    )
    found = {
        "shrinks": over_seeds(
            _runs.difference(ends[narrow], ends[wide]),
            _runs.shared(ends[narrow], ends[wide]),
            joined(*dict.fromkeys((tuning[narrow], tuning[wide]))),
            words,
        )
    }
    for name, study in zip(NAMES.values(), ends, strict=True):
        found[f"lost-{name}"] = over_seeds(
            _runs.share(ends[study], tuned, scratch),
            _runs.shared(ends[study], tuned, scratch),
            joined(tuning[study], target, _runs.diverged(stages, "scratch", "upscaled_tuned")),
            f"{SMALL} {width(study, scale)}",
        )
    return {f"tuning_width.{name}": value for name, value in found.items()}


def simulate(law, recorded, scale, rng):
    """The narrowest's end above the widest's, upon it or below it."""
    design = Design(recorded, ["train_loss"], ["study", "stage", "lr", LEVEL, "step"])
    narrow, *_, wide = by_study(recorded, scale)
    rows = (design.rows(study=study, stage="upscaled") for study in (wide, narrow))
    design.set_apart(*rows, SIDES[law])
    return design.draw(rng)


def draw(data, scale):
    from repro.verdicts import drawing

    figure, axes = drawing.panels(2, width=4.8)
    curves, last = axes[0]
    of = by_study(data, scale)
    widths = {study: width(study, scale) for study in of}
    colors = drawing.ramp([*widths.values()])
    for study, tables in of.items():
        mean = tables["upscaled"].groupby("step")["train_loss"].mean()
        color = colors[widths[study]]
        curves.plot(mean.index, mean, color=color, label=f"{SMALL} {widths[study]}")
        found = t_interval(_runs.losses(tables, "upscaled"))
        drawing.bars(last, [widths[study]], [found], color=color)
    stages = of[SETTING.study]
    for name, words in (("scratch", "from scratch"), ("upscaled_tuned", "tuned at the target")):
        level = float(_runs.losses(stages, name).mean())
        last.axhline(level, ls="--", lw=1, color="C1" if name == "scratch" else "0.4")
        last.annotate(words, (max(widths.values()), level), ha="right", va="bottom", fontsize=8)
    curves.set_xlabel("step")
    curves.set_ylabel("training loss (nats)")
    curves.set_yscale("log")
    drawing.legend_above(curves, 2)
    last.set_xscale("log", base=2)
    last.set_xlabel("width of the small model")
    last.set_ylabel("final training loss at the target (nats)")
    return figure


FIGURE = Figure(
    title="What the width of the tuned model costs the target, MLP with AdamW",
    outcome="Tuned on the narrowest model the target ends {tuning_width.shrinks} nats higher",
    caption=(
        "One MLP, upscaled with the rate and the noise that were tuned on small models of four "
        "widths. Left: its training loss, mean over seeds. Right: where it ends, "
        f"{SETTING.over}, mean and 95 % interval over seeds; dashed: from scratch, and upscaled "
        "with both tuned at the target. (Ours, on Ma et al., Section 4.)"
    ),
    studies=(
        *(f"{SETTING.study}/{stage}" for stage in (*STAGES, *BESIDE)),
        *(f"{study}/{stage}" for study in OTHERS for stage in STAGES),
    ),
    view=View("step", "train_loss", {"stage": ("upscaled",)}),
    answers=ANSWERS,
    laws=LAWS,
    reduce=_runs.reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
