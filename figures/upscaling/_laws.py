"""Laws of the figures under the protocol: what upscaling and its noise may do, and tables of it.

The paper says which side a difference has, not how large it is at another size, so that is the
recorded one: a law has it, has none of it, or has it on the other side. Of a share of upscaling's
gain the laws are shares: what a transferred setting loses of it, and what of it goes where the
model from scratch has its own best rate.
"""

import numpy as np

from figures.upscaling._claims import MIRRORS
from figures.upscaling._runs import LEVEL
from repro.judge.noise import Design
from repro.judge.power import SIDES, SIGN, Laws

VALUES = ["train_loss", "valid_loss", "valid_accuracy"]
SHARES = {"all of the gain left": 0.0, "half of it": 0.5, "none of it": 1.0}
LEFT = Laws("all of the gain left", ("half of it",))
KEPT = Laws("all of the gain left", ("half of it", "none of it"))
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
    signs = {f"{figure}.{name}": SIGN for name in ("noise-at-target", "initial-jump")}
    return signs | {f"{figure}.regret": KEPT}


def win_laws(figure, setting):
    """LAWS of `_claims.win_claims`."""
    signs = ["upscaled-wins", "faster"] + (["mirrors"] if setting.key in MIRRORS else [])
    laws = dict.fromkeys(signs, SIGN) | {"baseline-near-optimal": LEFT}
    return {f"{figure}.{name}-{setting.key}": law for name, law in laws.items()}


def sweep_laws(figure):
    """LAWS of `_claims.sweep_claims`."""
    return {f"{figure}.optimal-noise": SIGN}


def simulate(law, recorded, scale, rng, more=None):
    """Curves and sweeps as recorded, but the arms a law is about.

    By sign: the arms of ABOVE above the other, upon it or below it, accuracies the other way round,
    and the start with noise above the one without. By share: the transferred setting that much of
    the gain above the one tuned at the target, and the runs from scratch over rates so that the
    best ends that much of the gain below the seeds from scratch.

    more: what a figure adds, of the law and the design.
    """
    design = Design(recorded, VALUES, ["study", "stage", "lr", LEVEL, "step"])
    stages = recorded.groupby(["study", "stage"]).indices
    for study in recorded["study"].unique():
        found = {stage: rows for (of, stage), rows in stages.items() if of == study}
        if law in SIDES:
            set_sides(design, found, SIDES[law])
        elif law in SHARES:
            set_shares(design, found, SHARES[law])
    if more:
        more(law, design)
    return design.draw(rng)


def set_sides(design, stages, side):
    """Put the arms that a sign is about apart; stages: name -> positions of its rows."""
    for other, ours in ABOVE:
        if other in stages and ours in stages:
            design.set_apart(stages[other], stages[ours], np.array([-1, -1, 1]) * side)
    if "upscaled_start" in stages:
        quiet = stages["upscaled_without_noise_start"]
        design.set_apart(quiet, stages["upscaled_start"], side)


def set_shares(design, stages, part):
    """Put the arms that a share of the gain is about apart."""
    if "upscaled_tuned" in stages:
        up, tuned, scratch = (stages[n] for n in ("upscaled", "upscaled_tuned", "scratch"))
        design.set_between(up, tuned, scratch, part)
    if "scratch_rates" in stages:
        scratch, up, rates = (stages[n] for n in ("scratch", "upscaled", "scratch_rates"))
        ends = [end(design, rows) for rows in (scratch, up)]
        design.mean[rates, 0] += ends[0] + part * (ends[1] - ends[0]) - end(design, rates)


def end(design, rows):
    """log of the lowest final training loss of a stage's points."""
    step = design.recorded["step"].to_numpy()[rows]
    return design.mean[rows[step == step.max()], 0].min()
