"""Laws of the figures under the protocol: what upscaling and its noise may do, and tables of it.

The paper says which side a difference has, not how large it is at another size, so that is the
recorded one: a law has it, has none of it, or has it on the other side. Of a share of upscaling's
gain the laws are shares.
"""

import numpy as np

from figures.upscaling._claims import MIRRORS
from figures.upscaling._runs import LEVEL
from repro.judge.noise import Design
from repro.judge.power import AS_CLAIMED, SIDES, SIGN, Laws

VALUES = ["train_loss", "valid_loss", "valid_accuracy"]
# Law -> what goes of upscaling's gain where the model from scratch has its own best rate.
SHARES = {"all of the gain left": 0.0, "half of it": 0.5}
SHARE = Laws("all of the gain left", ("half of it",))


def curve_laws(figure):
    """LAWS of `_claims.curve_claims`."""
    return {f"{figure}.noise-nonzero": SIGN}


def win_laws(figure, setting):
    """LAWS of `_claims.win_claims`."""
    signs = ["upscaled-wins", "faster"] + (["mirrors"] if setting.key in MIRRORS else [])
    laws = dict.fromkeys(signs, SIGN) | {"baseline-near-optimal": SHARE}
    return {f"{figure}.{name}-{setting.key}": law for name, law in laws.items()}


def sweep_laws(figure):
    """LAWS of `_claims.sweep_claims`."""
    return {f"{figure}.optimal-noise": SIGN}


def simulate(law, recorded, scale, rng, more=None):
    """Curves: upscaled as recorded; from scratch, and upscaled without noise, above it, upon it or
    below it, accuracies the other way round. By share: the runs from scratch over rates so that
    the best ends that much of the gain below the seeds from scratch.

    more: what a figure adds, of the law and the design.
    """
    design = Design(recorded, VALUES, ["study", "stage", "lr", LEVEL, "step"])
    stages = recorded.groupby(["study", "stage"]).indices
    for study in recorded["study"].unique():
        if law in SIDES:
            sides = np.array([-1, -1, 1]) * SIDES[law]
            for other in ("scratch", "upscaled_without_noise"):
                arms = [stages.get((study, stage), ()) for stage in (other, "upscaled")]
                if all(map(len, arms)):
                    design.set_apart(*arms, sides)
        elif (study, "scratch_rates") in stages:
            scratch, up, rates = (
                stages[study, stage] for stage in ("scratch", "upscaled", "scratch_rates")
            )
            ends = [end(design, rows) for rows in (scratch, up)]
            aim = ends[0] + SHARES[law] * (ends[1] - ends[0])
            design.mean[rates, 0] += aim - end(design, rates)
    if more:
        more(law, design)
    return design.draw(rng)


def end(design, rows):
    """log of the lowest final training loss of a stage's points."""
    step = design.recorded["step"].to_numpy()[rows]
    return design.mean[rows[step == step.max()], 0].min()


def simulate_sweep(law, recorded, scale, rng):
    """Sweep 2 as recorded, or with no effect of noise, or one that grows with the level and ends
    where the recorded best lies below zero noise. One seed: there is no noise between seeds."""
    design = Design(recorded, VALUES, ["study", "stage", "lr", LEVEL, "step"])
    if law == AS_CLAIMED:
        return design.draw(rng)
    level = recorded[LEVEL].to_numpy()
    for rows in recorded.groupby(["study", "stage", "lr", "step"], dropna=False).indices.values():
        quiet = rows[np.argmin(level[rows])]
        harm = design.mean[quiet] - design.mean[rows].min(axis=0)
        share = -min(SIDES[law], 0) * level[rows] / level[rows].max()
        design.mean[rows] = design.mean[quiet] + share[:, None] * harm
    return design.draw(rng)
