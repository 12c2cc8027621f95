"""Laws of the figures under the protocol: what upscaling and its noise may do, and tables of it.

The paper says which side a difference has, not how large it is at another size, so that is the
recorded one: a law has it, has none of it, or has it on the other side.
"""

import numpy as np

from figures.upscaling import _fair
from figures.upscaling._claims import LONG, MIRRORS, PAID
from figures.upscaling._fair import window_mean
from figures.upscaling._runs import LEVEL, window
from repro.verdicts.figure import Data, Generator
from repro.verdicts.noise import Design
from repro.verdicts.power import SIDES, SIGN

VALUES = ["train_loss", "valid_loss", "valid_accuracy"]
TARGET = ("noise-at-target", "initial-jump", "jump-above-base", "jump-gone")
# (arm, the one it ends above).
ABOVE = (
    ("scratch", "upscaled"),
    ("upscaled_without_noise", "upscaled"),
    ("upscaled_tuned_without_noise", "upscaled_tuned"),
    ("small_without_noise", "small_upscaled"),
    ("small_most_noise", "small_upscaled"),
)


def curve_laws(figure, setting):
    """LAWS of `_claims.curve_claims`."""
    return {f"{figure}.noise-nonzero": SIGN} | (target_laws(figure) if setting.target else {})


def target_laws(figure):
    """LAWS of `_target.claims`."""
    return {f"{figure}.{name}": SIGN for name in TARGET}


def win_laws(figure, setting):
    """LAWS of `_claims.win_claims`."""
    signs = ["upscaled-wins", LONG] + (["mirrors"] if setting.key in MIRRORS else [])
    signs += ["cheaper"] if f"{figure}.cheaper-{setting.key}" in PAID else []
    return {f"{figure}.{name}-{setting.key}": SIGN for name in signs} | fair_laws(figure, setting)


def fair_laws(figure, setting):
    """LAWS of `_fair.claims`."""
    return dict.fromkeys(_fair.names(figure, setting), SIGN) if setting.target else {}


def sweep_laws(figure):
    """LAWS of `_sweep.claims`."""
    return {f"{figure}.{name}": SIGN for name in ("optimal-noise", "nonzero-selected")}


def simulate(law: str, recorded: Data, scale: str, rng: Generator, more=None):
    """Curves and sweeps as recorded, but the arms a law is about: those of ABOVE above the other,
    upon it or below it, accuracies the other way round, and the start with noise above the one
    without.

    more: what a figure adds, of the law and the design.
    """
    design = Design(recorded, VALUES, ["study", "stage", "lr", LEVEL, "step"])
    stages = recorded.groupby(["study", "stage"]).indices
    for study in recorded["study"].unique():
        found = {stage: rows for (of, stage), rows in stages.items() if of == study}
        set_sides(design, found, SIDES[law], study, scale)
    if more:
        more(law, design)
    return design.draw(rng)


def set_sides(design, stages, side, study, scale: str):
    """Put the arms that a sign is about apart; stages: name -> positions of its rows."""
    if "scratch_long" in stages and "upscaled" in stages:  # as a whole: it has twice the steps
        step, over = design.recorded["step"].to_numpy(), window(study, scale)
        long, ours = (
            window_mean(design, stages[name], step[stages[name]].max(), over)[0]
            for name in ("scratch_long", "upscaled")
        )
        design.mean[stages["scratch_long"], 0] += side * abs(long - ours) - (long - ours)
    if {"scratch_long", "upscaled_tuned"} <= {*stages}:
        _fair.set_apart(design, stages, side, study, scale)
    if {"base", "upscaled_start"} <= {*stages}:
        set_jump(design, stages, side, window(study, scale))
    for other, ours in ABOVE:
        if other in stages and ours in stages:
            design.set_apart(stages[other], stages[ours], np.array([-1, -1, 1]) * side)
    if "upscaled_start" in stages:
        quiet = stages["upscaled_without_noise_start"]
        design.set_apart(quiet, stages["upscaled_start"], side)


def set_jump(design, stages, side, over):
    """Put where upscaling starts above the base's end, upon it or below it, and where it is soon
    after on the other side. over: the window."""
    step = design.recorded["step"].to_numpy()
    end = window_mean(design, stages["base"], step[stages["base"]].max(), over)[0]
    start, up = stages["upscaled_start"], stages["upscaled"]
    gap = window_mean(design, start, step[start].max(), over)[0] - end
    design.mean[start, 0] += side * abs(gap) - gap
    steps = np.unique(step[up])
    last = steps[steps <= max(2 * (over or steps[0]), steps[0])][-1]
    begin = last - over if over else steps[steps < last].max(initial=0)
    gap = window_mean(design, up, last, over)[0] - end
    soon = up[(step[up] > begin) & (step[up] <= last)]
    design.mean[soon, 0] -= side * abs(gap) + gap
