"""Figure 3: the optimal embedding learning rate where the vocabulary grows with width."""

from dataclasses import replace

import numpy as np

from figures.embedding_lr import _laws, _sweep
from repro.judge.claims import (
    CONTROL,
    TRAINING,
    Claim,
    at_most,
    below,
    reported,
    trained_scales,
    within,
)
from repro.judge.tables import last_step

TITLE = "Figure 3. Optimal embedding learning rate against width, vocabulary m = 8d"
CAPTION = (
    "Left: training loss against the embedding learning rate, mean and range (band) over seeds; "
    "crosses at the top: diverged. Right: its optimum against width. Dots: vertex of a parabola "
    "through five rates around the best, bars: 95 % interval over seeds; grey band: rates of "
    "near-best loss (edge: it meets the grid's end); crosses, and the dots at paper scale: the "
    "paper's rule, geometric mean of the grid's rates within 20 %; guides: from the first dot; "
    "controls: embeddings of std 1, one vocabulary (Hayou & Liu, Figure 3)."
)
MAIN, UNIT, FIXED = (
    f"embedding_lr/{name}" for name in ("width_and_vocabulary", "unit_init", "fixed_vocabulary")
)
STUDIES = (MAIN, UNIT, FIXED)
CLAIMS = (
    Claim(
        id="fig3.sqrt-d-rule",
        kind=TRAINING,
        statement="The optimal embedding learning rate falls with width (the paper: as d^-1/2)",
        source="Figure 3; Section 4.1",
        quantity="slope of log eta_E* against log d, m = 8d",
        expected={"reduced": below(-0.2), "paper": within(-0.5, 0.25)},
    ),
    Claim(
        id="fig3.near-optimal",
        kind=TRAINING,
        statement="eta_E proportional to d^-1/2 is near the optimum at every width",
        source="Figure 3; Section 4.1",
        quantity="largest distance, in octaves, of the sqrt(d) rule from the optimum",
        expected=trained_scales(at_most(1)),
    ),
    Claim(
        id="fig3.control-unit-init",
        kind=CONTROL,
        statement="Control, ours: embeddings of standard deviation 1 at every width",
        source="suite",
        quantity="slope of log eta_E* against log d, m = 8d, embedding std 1",
        expected=trained_scales(reported("no bound: the fall left without the d^-1/2 init")),
    ),
    Claim(
        id="fig3.control-fixed-vocabulary",
        kind=CONTROL,
        statement="Control, ours: one vocabulary for every width",
        source="suite",
        quantity="slope of log eta_E* against log d, m fixed",
        expected=trained_scales(reported("no bound: 0 if m alone made the fall")),
    ),
)
LAWS = dict.fromkeys(("fig3.sqrt-d-rule", "fig3.near-optimal"), _laws.FALLS)


def reduce(runs):
    import pandas as pd

    parts = [last_step(runs[name]).assign(study=name.split("/")[1]) for name in STUDIES]
    return pd.concat(parts, ignore_index=True).drop(columns="step")


def part(data, study):
    """The rows of one study, without the columns that only describe it."""
    rows = data[data["study"] == study.split("/")[1]]
    return rows[[_sweep.WIDTH, _sweep.LR, "seed", "train_loss"]]


def sweep_of(data, study):
    return _sweep.Sweep(part(data, study))


def rule_distances(sweep, seeds, window):
    """Width -> (octaves from the optimum to the sqrt(d) rule, to muP's constant).

    Both rules pass through the optimum at the smallest width.
    """
    found = _sweep.optima(sweep, seeds, window)
    widths = sorted(found)
    first = found[widths[0]].log2
    return {
        d: (
            abs(first - 0.5 * np.log2(d / widths[0]) - found[d].log2),
            abs(first - found[d].log2),
        )
        for d in widths[1:]
    }


def loss_excess(sweep, window):
    """Width -> relative loss above the best at the sqrt(d) rule and at muP's constant."""
    found = _sweep.optima(sweep, sweep.seeds, window)
    widths = sorted(found)
    first = found[widths[0]].log2
    result = {}
    for d in widths[1:]:
        x, curve = np.log2(sweep.rates[d]), sweep.curve(d, sweep.seeds)
        at = [first - 0.5 * np.log2(d / widths[0]), first]
        result[d] = np.interp(at, x, curve) / found[d].best_loss - 1
    return result


def measure(data, scale):
    window = _sweep.WINDOW[scale]
    main = sweep_of(data, MAIN)
    excess = ", ".join(
        f"d={d}: {rule:.2%} against {mup:.2%}"
        for d, (rule, mup) in loss_excess(main, window).items()
    )
    detail = f"loss above the best, sqrt(d) rule against muP's constant, {excess}"

    def largest(sweep, sample):
        return max(rule for rule, _ in rule_distances(sweep, sample, window).values())

    near = _sweep.measured(main, largest, window, detail)
    mup = max((mup for _, mup in rule_distances(main, main.seeds, window).values()), default=0)
    if near.value <= 1 and mup <= 1:
        words = "muP's constant is within 1 octave as well: the widths span too little"
        near = replace(near, problem=near.problem or words)

    return {
        "fig3.sqrt-d-rule": _sweep.slope_measurement(main, window),
        "fig3.near-optimal": near,
        "fig3.control-unit-init": _sweep.slope_measurement(sweep_of(data, UNIT), window),
        "fig3.control-fixed-vocabulary": _sweep.slope_measurement(sweep_of(data, FIXED), window),
    }


def simulate(law, recorded, scale, rng):
    """The controls, of which nothing is claimed, stay as they are."""
    drawn = recorded.copy()
    main = part(recorded, MAIN)
    drawn.loc[main.index, "train_loss"] = _laws.simulate_sweep(law, main, scale, rng)["train_loss"]
    return drawn


def draw(data, scale):
    from repro.judge import drawing

    window = _sweep.WINDOW[scale]
    reached = data.groupby([_sweep.WIDTH, "study"])["vocab_reached"].max()
    figure, axes = drawing.panels(2, height=_sweep.HEIGHT)
    _sweep.draw_losses(
        axes[0, 0],
        sweep_of(data, MAIN),
        lambda width: f"d = {width}, m = {reached[width, MAIN.split('/')[1]]}",
    )
    controls = (
        (MAIN, "m = 8d", "black", "o", True),
        (UNIT, "control, unit init", drawing.COLORS[3], "s", False),
        (
            FIXED,
            f"control, m = {reached.xs(FIXED.split('/')[1], level=1).max()}",
            drawing.COLORS[4],
            "^",
            False,
        ),
    )
    for study, label, color, marker, guides in controls:
        _sweep.draw_optima(
            axes[0, 1], sweep_of(data, study), window, label, color, marker, guides=guides
        )
    return figure
