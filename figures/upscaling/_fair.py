"""Upscaled against from scratch where both are tuned at the target: at equal steps, at equal
operations with the base's counted, and with the base's steps added. Ours.

With constant rates a longer run from scratch was every shorter one before, so that one arm serves
all three: `scratch_long`, read at the first evaluation not before the steps that are meant.
"""

import numpy as np

from figures.upscaling._runs import (
    FAIR,
    METRICS,
    TARGET,
    difference,
    diverged,
    edges,
    ends,
    flops_ratio,
    ratio,
    shared,
    window,
)
from repro.core.study import OVERNIGHT, in_window
from repro.verdicts import run_sweeps
from repro.verdicts.answers import CONTROL, OURS, Test, above, below, over_seeds
from repro.verdicts.intervals import joined

WHY = "the paper's sign, with both sides tuned"
# Name -> what is equal.
EQUAL = {
    "equal-steps-tuned": "for equal steps of the wide model",
    "equal-flops-tuned": "for equal operations, the base's counted",
    "more-steps-tuned": "where from scratch is given the base's steps as well",
}
STATEMENT = {"equal-flops-tuned": "equal-operations"}
STATEMENT |= {name: name.removesuffix("-tuned") for name in EQUAL if name not in STATEMENT}
LAST = [*EQUAL][-1]
VALIDATION = "-valid"
# Planned too seldom told by the default scale's seeds: readings there.
UNTOLD = {"fig2.equal-flops-tuned-valid-mlp", "fig2.more-steps-tuned-valid-mlp"}


def names(figure, setting):
    """Test id -> (name in EQUAL, metric)."""
    metrics = {"": "train_loss", VALIDATION: setting.validation}
    return {
        f"{figure}.{name}{end}-{setting.key}": (name, metric)
        for name in EQUAL
        for end, metric in metrics.items()
    }


def claims(figure, setting):
    """The claims of one figure."""
    accurate = setting.validation == "valid_accuracy"
    words = {
        "train_loss": f"final training loss, {setting.over}, upscaled over from scratch",
        "valid_loss": f"final validation loss, {setting.over}, upscaled over from scratch",
        "valid_accuracy": f"final validation accuracy, {setting.over}, upscaled minus from scratch",
    }
    return tuple(
        Test(
            id=claim,
            kind=CONTROL,
            statement=STATEMENT[name],
            column=setting.name,
            quantity=f"{words[metric]}, each at its own best rate there",
            expected=setting.where(
                above(0, OURS, WHY) if accurate and metric != "train_loss" else below(1, OURS, WHY),
                "target_lr",
                OVERNIGHT if claim in UNTOLD else "reduced",
            ),
        )
        for claim, (name, metric) in names(figure, setting).items()
    )


def step_of(stages, name, share):
    """The step of the first evaluation from scratch not before the one that a name of EQUAL means.
    share: the base's operations over those of the wide run."""
    times = dict(zip(EQUAL, (1.0, 1.0 + share, 2.0), strict=True))[name]
    steps = np.unique(stages["scratch_long"]["step"])
    whole = stages["upscaled_tuned"]["step"].max()
    return steps[min(np.searchsorted(steps, times * whole - 1e-9), len(steps) - 1)]


def measure(figure, stages, setting, scale: str):
    """Test id -> Measurement, for `claims`, where they are run."""
    if any(name not in stages for name in FAIR):
        return {}
    share = flops_ratio(setting.study, scale)
    problem = joined(
        edges(stages, setting, TARGET, "scratch_rates"), diverged(stages, "scratch_long")
    )
    ours, long = ends(stages, "upscaled_tuned"), stages["scratch_long"]
    found = {}
    for claim, (name, metric) in names(figure, setting).items():
        step = step_of(stages, name, share)
        read = run_sweeps.at_end(long[long["step"] <= step], stages.window, METRICS)
        up, scratch = (rows.set_index("seed")[metric] for rows in (ours, read))

        words = (
            f"from scratch after {step:g} steps {scratch.mean():.4g}, upscaled after "
            f"{ours['step'].max():g} {up.mean():.4g}; the base's operations are {share:.3g} of the "
            f"wide run's"
        )
        statistic = (difference if metric == "valid_accuracy" else ratio)(up, scratch)
        found[claim] = over_seeds(
            statistic,
            shared(up, scratch),
            problem,
            joined(diverged(stages, "upscaled_tuned"), words),
        )
    return found


def window_mean(design, rows, last, over):
    """A curve's values over the window that ends at a step. rows: positions of its rows."""
    step = design.recorded["step"].to_numpy()[rows]
    steps, first = np.unique(step, return_index=True)
    steps, first = steps[steps <= last], first[steps <= last]
    shares = in_window(steps.tolist(), over) if over else [1.0]
    return np.array(shares) @ design.mean[rows[first[-len(shares) :]]]


def set_apart(design, stages, side, study, scale: str):
    """Put upscaled, tuned, and from scratch apart at each of EQUAL by the recorded distance, on one
    side or the other, or upon each other. stages: name -> positions of its rows."""
    step = design.recorded["step"].to_numpy()
    long, ours = stages["scratch_long"], stages["upscaled_tuned"]
    tables = {
        name: design.recorded.iloc[stages[name]] for name in ("scratch_long", "upscaled_tuned")
    }
    share, over = flops_ratio(study, scale), window(study, scale)
    sides = side * np.array([1, 1, -1])  # losses, and an accuracy

    places = {name: step_of(tables, name, share) for name in EQUAL}
    whole = step[ours].max()

    def gap(last):
        ended = window_mean(design, ours, whole, over)
        return window_mean(design, long, last, over) - ended

    gaps = {name: gap(last) for name, last in places.items()}
    # Upscaled is moved for the last of them, from scratch piece by piece for those before.
    design.mean[ours] += gaps[LAST] - sides * np.abs(gaps[LAST])
    before = 0.0
    for name, last in places.items():
        if name == LAST or last <= before:
            continue
        piece = long[(step[long] > before) & (step[long] <= last)]
        counted = min(1.0, (last - before) / over) if over else 1.0  # how much of the window
        design.mean[piece] += (sides * np.abs(gaps[name]) - gap(last)) / counted
        before = last
