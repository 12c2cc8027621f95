"""Laws of the figures under the protocol: what upscaling and its noise may do, and tables of it.

The paper says which side a difference has, not how large it is at another size, so that is the
recorded one: a law has it, has none of it, or has it on the other side.
"""

import numpy as np

from figures.upscaling._runs import LEVEL
from repro.judge.noise import Design
from repro.judge.power import AS_CLAIMED, SIDES, SIGN

VALUES = ["train_loss", "valid_loss"]


def curve_laws(figure):
    """LAWS of `_claims.curve_claims`."""
    return {f"{figure}.noise-nonzero": SIGN}


def win_laws(figure, setting):
    """LAWS of `_claims.win_claims`."""
    return {f"{figure}.{name}-{setting.key}": SIGN for name in ("upscaled-wins", "faster")}


def sweep_laws(figure):
    """LAWS of `_claims.sweep_claims`."""
    return {f"{figure}.optimal-noise": SIGN}


def simulate(law, recorded, scale, rng):
    """Curves: upscaled as recorded; from scratch, and upscaled without noise, above it, upon it or
    below it."""
    design = Design(recorded, VALUES, ["study", "stage", "lr", LEVEL, "step"])
    stages = recorded.groupby(["study", "stage"]).indices
    for study in recorded["study"].unique():
        for other in ("scratch", "upscaled_without_noise"):
            arms = [stages.get((study, stage), ()) for stage in (other, "upscaled")]
            if all(map(len, arms)):
                design.set_apart(*arms, -SIDES[law])
    return design.draw(rng)


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
