"""Laws of Figures 1 and 3: how the optimal embedding learning rate goes with width."""

import math

import numpy as np

from figures.embedding_lr._sweep import LR, WIDTH, WINDOW, optima, shared, sweeps
from repro.theory import sign_sgd
from repro.verdicts.answers import Prediction
from repro.verdicts.figure import Data, Generator
from repro.verdicts.noise import Design
from repro.verdicts.power import Laws

# Exponents of d. muP's rate is a constant (its Table), SP has one rate for all layers, 1/d. The
# paper's, which is -1/2 in the limit, `slopes` has at the sizes of a sweep.
RULE = "sqrt(d) rule"
SLOPES = {"muP": 0.0, "SP": -1.0, "sign flipped": 0.5}
HALF_WAY = "half way to muP's 0 and to SP's -1"  # of a slope of -1/2 within 1/4
FALLS = Laws(RULE, ("muP", "SP", "sign flipped"))
# Of a claim that the sqrt(d) rule costs less than another: only laws under which that is false.
# Where rates are right by muP, the sqrt(d) rule does cost less than SP's.
CHEAPER = {
    "muP": Laws(RULE, ("muP", "sign flipped")),
    "SP": Laws(RULE, ("SP",)),
}


def predicted(table: Data, init: float = 0.0) -> Prediction:
    """Theorem 1's slope of log eta_E* against log d at the widths and vocabularies of a table,
    between that for the rarest token and that for the most frequent one, which the paper takes to
    matter more: eta_E* is eta_W delta_W / delta_E, and eta_W goes as 1/d.

    init: exponent of d in sigma_E / sigma_W.
    """
    sizes = table[[WIDTH, "vocab_reached"]].drop_duplicates().to_numpy().T
    rare, frequent = (sign_sgd.ratio_slope(*sizes, rank=rank) - 1 + init for rank in (-1, 0))
    return Prediction(rare, frequent, init - 0.5, "Theorem 1 with eta_W as 1/d")


def slopes(table: Data, init: float = 0.0) -> dict[str, float]:
    """Law -> exponent of d, at the sizes of a table; as `predicted`, for the most frequent."""
    return SLOPES | {RULE: predicted(table, init).high}


def simulate_sweep(power, table, scale: str, rng: Generator, beside=None):
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


def places(table, scale: str):
    """Width -> log2 of its optimum, mean over seeds."""
    whole = sweeps(table)
    paired, fitted = shared(whole), whole.optima("joint")
    return {
        d: fitted[d] if math.isfinite(fitted[d]) else optimum.centre
        for d, optimum in optima(paired, paired.seeds, WINDOW[scale]).items()
    }
