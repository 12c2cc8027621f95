"""What the target loses by the width of the model that rate and noise were tuned on, MLP with
AdamW."""

import math
from dataclasses import replace

from figures.upscaling import _runs
from figures.upscaling._runs import LEVEL, SETTINGS
from repro.core import discovery
from repro.statistics import t_interval
from repro.verdicts.answers import (
    STATED,
    TRAINING,
    Condition,
    Reading,
    Test,
    above,
    of_one_run,
    over_seeds,
    trained_scales,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, View
from repro.verdicts.intervals import joined
from repro.verdicts.noise import Design
from repro.verdicts.power import SIDES, SIGN

SETTING = replace(SETTINGS["mlp"], study="upscaling/mlp_adamw_asked")
NARROW = "upscaling/mlp_adamw_narrow"
# Study and stage of where the target ends -> what was tuned on the narrow model.
ARMS = {
    (SETTING.study, "upscaled"): "nothing",
    (NARROW, "upscaled"): "rate and noise",
    (NARROW, "upscaled_base"): "the base's rate too",
}
WIDE, SWEEP_2, SWEEP_1 = ARMS


def units(study: str, scale: str) -> float:
    """Units of the small model that a study is tuned on."""
    return discovery.study(f"{study}/tune").settings(scale)["model"]["width"]


def same_base(data: Data, scale: str) -> str:
    """How the targets that are compared grow from bases of different rates."""
    rows = data[data["stage"] == "base"]
    rates = sorted(rows["lr"].dropna().unique())
    return f"bases at rates {', '.join(f'{lr:.4g}' for lr in rates)}" if len(rates) > 1 else ""


def wide_enough(data: Data, scale: str) -> str:
    """That the wider of the tuned models has fewer units than the paper asks for."""
    return _runs.too_narrow(units(SETTING.study, scale))


CONDITIONS = (
    Condition("one base for both tuned widths", same_base),
    Condition(_runs.ASKED, wide_enough),
)
ANSWERS = (
    Test(
        id="tuning_width.shrinks",
        kind=TRAINING,
        statement="tuning-width",
        column=f"{SETTING.name}, Sweep 2",
        quantity=f"final training loss at the target, {SETTING.over}, rate and noise tuned on the "
        "narrow model minus on the wide one, from one base",
        # At the default scale a pilot's Sweep 2 chose the same on both, so that there is no test.
        expected={"paper": above(0, STATED)},
        conditions=CONDITIONS,
    ),
    Test(
        id="tuning_width.base",
        kind=TRAINING,
        statement="tuning-width",
        column=f"{SETTING.name}, Sweep 1",
        quantity=f"final training loss at the target, {SETTING.over}, the base's rate tuned on the "
        "narrow model minus on the wide one",
        expected=trained_scales(above(0, STATED)),
        conditions=CONDITIONS,
    ),
    Reading(
        id="tuning_width.both",
        words="final training loss at the target, both sweeps on the narrow model minus on the "
        "wide one",
        beside="above 0 if too few units cost something",
    ),
)
LAWS = {"tuning_width.shrinks": SIGN, "tuning_width.base": SIGN}


def ends(data: Data, scale: str):
    """Arm -> seed -> final training loss; and a study's stages by its name."""
    tables = {
        study: _runs.by_stage(data[data["study"] == study], scale)
        for study in (SETTING.study, NARROW)
    }
    return {(of, stage): _runs.losses(tables[of], stage) for of, stage in ARMS}, tables


def measure(data: Data, scale: str) -> Measured:
    of, tables = ends(data, scale)
    tuning = joined(
        *dict.fromkeys(
            joined(
                _runs.edges(stages, SETTING, "tune", "tune_upscaled"),
                _runs.diverged(stages, "upscaled"),
            )
            for stages in tables.values()
        )
    )
    words, chosen = [], []
    for study, stages in tables.items():
        first = _runs.best(_runs.ends(stages, "tune"), ["lr"], "train_loss")["lr"]
        chosen.append(_runs.best(_runs.ends(stages, "tune_upscaled"), ["lr", LEVEL], "train_loss"))
        point = _runs.point(chosen[-1])
        words.append(f"at {units(study, scale):g} units: base at {first:.4g}, {point}")
    words += [f"{word} tuned narrow {of[arm].mean():.4g}" for arm, word in ARMS.items()]

    def between(ours, other):
        return over_seeds(
            _runs.difference(of[ours], of[other]),
            _runs.shared(of[ours], of[other]),
            tuning,
            "; ".join(words),
        )

    same = "Sweep 2 chooses the same on both, so that the runs are the same"
    return {
        "tuning_width.shrinks": of_one_run(0.0, same, "; ".join(words))
        if chosen[0] == chosen[1]
        else between(SWEEP_2, WIDE),
        "tuning_width.base": between(SWEEP_1, SWEEP_2),
        "tuning_width.both": between(SWEEP_1, WIDE),
    }


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """What is tuned narrow ends above the rest, upon it or below it."""
    design = Design(recorded, ["train_loss"], ["study", "stage", "lr", LEVEL, "step"])
    rows = {arm: design.rows(study=arm[0], stage=arm[1]) for arm in ARMS}
    apart = design.mean[rows[SWEEP_1]] - design.mean[rows[SWEEP_2]]
    design.set_apart(rows[WIDE], rows[SWEEP_2], SIDES[law])
    design.mean[rows[SWEEP_1]] = design.mean[rows[SWEEP_2]] + apart
    design.set_apart(rows[SWEEP_2], rows[SWEEP_1], SIDES[law])
    return design.draw(rng)


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, axes = drawing.panels(2, width=4.8)
    curves, last = axes[0]
    of, tables = ends(data, scale)
    for row, ((arm, words), color) in enumerate(zip(ARMS.items(), ("C0", "C2", "C3"), strict=True)):
        study, stage = arm
        mean = tables[study][stage].groupby("step")["train_loss"].mean()
        curves.plot(mean.index, mean, color=color, label=words)
        found = t_interval(of[arm])
        if math.isfinite(found[0]):
            drawing.bars(last, [row], [found], color=color, across=True)
    curves.set_xlabel("step")
    curves.set_ylabel("training loss (nats)")
    curves.set_yscale("log")
    title = f"tuned on {units(NARROW, scale):g} units, not {units(SETTING.study, scale):g}"
    drawing.legend_above(curves, 3, title=title)
    last.set_yticks(range(len(ARMS)), ARMS.values())
    last.set_ylim(len(ARMS) - 0.5, -0.5)
    last.set_xlabel("final training loss at the target (nats)")
    return figure


FIGURE = Figure(
    title="What the width of the tuned model costs the target, MLP with AdamW",
    outcome=(
        "With the base's rate tuned on a quarter of the units the target ends "
        "{tuning_width.base} nats higher; with what upscaling takes tuned there, "
        "{tuning_width.shrinks}"
    ),
    caption=(
        "One MLP, upscaled with the rate and the noise that were tuned on small models of two "
        "widths; every seed grows from a base of its own. First two arms: the same bases, so that "
        "nothing differs but what Sweep 2 chose; last: bases at the rate that Sweep 1 chose on the "
        "narrow model. Left: training loss, mean over seeds. Right: where it ends, "
        f"{SETTING.over}, mean and 95 % interval over seeds. (Ours, on Ma et al., Section 4.)"
    ),
    studies=(
        *SETTING.stages(("tune", "base", "tune_upscaled", "upscaled")),
        *(f"{NARROW}/{stage}" for stage in ("tune", "tune_upscaled", "base", "base_narrow")),
        *(f"{NARROW}/{stage}" for stage in ("upscaled", "upscaled_base")),
    ),
    view=View("step", "train_loss", {"stage": ("upscaled", "upscaled_base")}),
    answers=ANSWERS,
    laws=LAWS,
    reduce=_runs.reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
