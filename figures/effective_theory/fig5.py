"""Figure 5: R2C2 untuned, with BART dashed."""

import math

import numpy as np

from figures.effective_theory import _bart
from figures.effective_theory._bart import R2C2, STRATEGIES, reduce  # noqa: F401
from figures.effective_theory._strategies import COLORS
from repro.judge.claims import TRAINING, Claim, below, exact, over_seeds, reported
from repro.judge.view import View

TITLE = "Figure 5. R2C2 under the standard and the neural-tangent strategy, untuned"
CAPTION = (
    "Validation loss against updates: mean over seeds, band: range over seeds (Dinan et al., "
    "Figure 5). Solid: R2C2, at rates taken over from elsewhere; dashed: BART, the runs of Figure "
    "4; colour: the strategy. In brackets the smallest loss along the run, mean over seeds."
)
STUDIES = (R2C2, "effective_theory/bart")
VIEW = View("step", "valid_loss", {"part": "untuned"})
CLAIMS = (
    Claim(
        id="fig5.nt-faster",
        kind=TRAINING,
        statement="The neural-tangent strategy converges faster, at least early in training",
        source="II.2.E; Figure 5",
        quantity="validation loss (nats) at the last common update, neural-tangent minus standard",
        expected={
            "reduced": reported("no bound: below 0 in the paper"),
            "paper": below(0),
        },
    ),
)


def measure(data, scale):
    tables = [
        _bart.rows_of(data, strategy, "untuned", "R2C2").pivot(
            index="step", columns="seed", values="valid_loss"
        )
        for strategy in STRATEGIES
    ]
    finite = [table.index[np.isfinite(table).all(axis=1)] for table in tables]
    common = sorted(set(finite[0]) & set(finite[1]))
    if not common:
        nothing = exact(math.nan, 1, "a strategy diverged from the start")
        return {"fig5.nt-faster": nothing}
    standard, tangent = (table.loc[common[-1]] for table in tables)
    found = over_seeds(
        lambda s: float((tangent[list(s)] - standard[list(s)]).mean()),
        standard.index,
        detail=f"at update {common[-1]}: standard {standard.mean():.4g}, neural-tangent "
        f"{tangent.mean():.4g}",
    )
    return {"fig5.nt-faster": found}


def draw(data, scale):
    from repro.judge import drawing

    figure, axes = drawing.panels(1, width=6, height=4)
    panel = axes[0, 0]
    for strategy in STRATEGIES:
        rows = _bart.rows_of(data, strategy, "untuned", "R2C2")
        lr, decay = (rows[key].iloc[0] for key in ("lr", "optimizer.weight_decay"))
        label = f"R2C2, {strategy}, ({lr:.4g}, {decay:.2g})"
        _bart.draw_curve(panel, rows, label, color=COLORS[strategy])
    for strategy in STRATEGIES:
        lr = _bart.optimum(_bart.rows_of(data, strategy, "sweep")).point[0]
        style = {"color": COLORS[strategy], "ls": "--"}
        label = f"BART, {_bart.pair(scale, strategy, lr)}"
        _bart.draw_curve(panel, _bart.best_runs(data, strategy), label, **style)
    _bart.finish(panel, "R2C2 and BART", "model, strategy, (lr, wd) [smallest loss]")
    return figure
