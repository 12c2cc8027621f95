"""Laws of the figures under the protocol: what upscaling and its noise may do, and tables of it.

The paper says which side a difference has, not how large it is at another size, so that is the
recorded one: a law has it, has none of it, or has it on the other side.
"""

import numpy as np

from figures.upscaling._runs import LEVEL
from repro.judge.noise import Design
from repro.judge.power import Laws

WINS = Laws("upscaling wins", ("no gain", "upscaling loses"))
NOISE = Laws("noise helps", ("no effect of noise", "noise harms"))
OPTIMUM = Laws("an optimum", ("no effect of noise", "noise harms"))
# The side on which a law has the difference, 1 the paper's.
SIDES = dict(zip(WINS.names + NOISE.names, (1, 0, -1, 1, 0, -1), strict=True))
ARMS = dict.fromkeys(WINS.names, ("upscaled", "scratch"))
ARMS |= dict.fromkeys(NOISE.names, ("upscaled", "upscaled_without_noise"))
VALUES = ["train_loss", "valid_loss"]


def curve_laws(figure):
    """LAWS of `_claims.curve_claims`."""
    return {f"{figure}.noise-nonzero": NOISE}


def win_laws(figure, setting):
    """LAWS of `_claims.win_claims`."""
    return {f"{figure}.{name}-{setting.key}": WINS for name in ("upscaled-wins", "faster")}


def sweep_laws(figure):
    """LAWS of `_claims.sweep_claims`."""
    return {f"{figure}.optimal-noise": OPTIMUM}


def simulate(law, recorded, scale, rng):
    """Curves: one arm, the other's mean plus their recorded difference, on a law's side of it."""
    design = Design(recorded, VALUES, ["study", "stage", "lr", LEVEL, "step"])
    stages = recorded.groupby(["study", "stage"]).indices
    for study in recorded["study"].unique():
        ours, other = (stages.get((study, stage), ()) for stage in ARMS[law])
        if len(ours) and len(other):
            design.set_apart(ours, other, SIDES[law])
    return design.draw(rng)


def simulate_sweep(law, recorded, scale, rng):
    """Sweep 2 as recorded, or with no effect of noise, or one that grows with the level and ends
    where the recorded best lies below zero noise. One seed: there is no noise between seeds."""
    design = Design(recorded, VALUES, ["study", "stage", "lr", LEVEL, "step"])
    if law == OPTIMUM.paper:
        return design.draw(rng)
    level = recorded[LEVEL].to_numpy()
    for rows in recorded.groupby(["study", "stage", "lr", "step"], dropna=False).indices.values():
        quiet = rows[np.argmin(level[rows])]
        harm = design.mean[quiet] - design.mean[rows].min(axis=0)
        share = level[rows] / level[rows].max() if law == "noise harms" else np.zeros(len(rows))
        design.mean[rows] = design.mean[quiet] + share[:, None] * harm
    return design.draw(rng)
