"""Laws of Figures 1 and 3: how the optimal embedding learning rate goes with width."""

import math

import numpy as np

from figures.embedding_lr._sweep import LR, WIDTH, WINDOW, optima, shared, sweeps
from repro.verdicts.noise import Design
from repro.verdicts.power import Laws

# Exponents of d. muP's rate is a constant (its Table), SP has one rate for all layers, 1/d.
SLOPES = {"sqrt(d) rule": -0.5, "muP": 0.0, "SP": -1.0, "sign flipped": 0.5}
HALF_WAY = "half way to muP's 0 and to SP's -1"  # of a slope of -1/2 within 1/4
FALLS = Laws("sqrt(d) rule", ("muP", "SP", "sign flipped"))
# Of a claim that the sqrt(d) rule costs less than another: only laws under which that is false.
# Where rates are right by muP, the sqrt(d) rule does cost less than SP's.
CHEAPER = {
    "muP": Laws("sqrt(d) rule", ("muP", "sign flipped")),
    "SP": Laws("sqrt(d) rule", ("SP",)),
}


def simulate_sweep(power, table, scale, rng, beside=None):
    """The sweep with every width's curve moved to where a law has its optimum, at d^power.

    table: as `sweeps` takes it. The curves, and the optima's mean over widths, are the
    recorded ones; over those of `beside`, another table, where one is given.
    """
    axes = [c for c in table.columns if c not in ("seed", "train_loss")]
    design = Design(table, ["train_loss"], axes)
    found = places(table, scale)
    whole = found if beside is None else places(beside, scale)
    middle = np.mean(list(whole.values())) - power * np.mean(np.log2(list(whole)))
    log2_lr = np.log2(table[LR].to_numpy())
    for rows in table.groupby([a for a in axes if a != LR], dropna=False).indices.values():
        width = int(table[WIDTH].iloc[rows[0]])
        if width in found:  # not every run diverged
            by = middle + power * np.log2(width) - found[width]
            design.move(rows, log2_lr, by)
    return design.draw(rng, curve=WIDTH)


def places(table, scale):
    """Width -> log2 of its optimum, mean over seeds."""
    whole = sweeps(table)
    paired, fitted = shared(whole), whole.optima("joint")
    return {
        d: fitted[d] if math.isfinite(fitted[d]) else optimum.centre
        for d, optimum in optima(paired, paired.seeds, WINDOW[scale]).items()
    }
