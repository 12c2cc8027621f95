"""What the figures of curves claim where a setting is tuned at the target too: regret, what noise
is worth there, and where upscaling starts from."""

import numpy as np

from figures.upscaling._runs import (
    LEVEL,
    METRICS,
    TARGET,
    TARGET_QUIET,
    best,
    carried_from,
    difference,
    diverged,
    edges,
    ends,
    losses,
    mean_of,
    point,
    ratio,
    share,
    shared,
)
from repro.core.study import OVERNIGHT
from repro.verdicts.answers import (
    STATED,
    TRAINING,
    Reading,
    Test,
    above,
    below,
    over_arms,
    over_seeds,
    trained_scales,
)
from repro.verdicts.intervals import joined
from repro.verdicts.run_sweeps import at_end

# At the default scale's seeds their planned power is below 0.9: readings there.
UNTOLD = {
    "fig10.noise-nonzero",
    "fig10.jump-gone",
    "resnet_target.initial-jump",
    "resnet_target.jump-above-base",
}


def scales(claim, expectation):
    """Where it is judged."""
    return trained_scales(expectation, OVERNIGHT if claim in UNTOLD else "reduced")


def claims(figure, setting):
    """The claims of one figure."""
    return (*at_target(figure, setting), *jumps(figure, setting))


def at_target(figure, setting):
    """Those of Sweep 2 at the target."""
    both = LEVEL in setting.target
    return (
        Reading(
            id=f"{figure}.regret",
            words="share of upscaling's gain over training from scratch, in final training "
            "loss, that the transferred setting loses against the one "
            + ("tuned at the target" if both else "whose rate is tuned at the target"),
            beside="0 if nothing is lost",
        ),
        Reading(
            id=f"{figure}.regret-nats",
            words="final training loss, transferred minus tuned at the target",
            beside="0 if nothing is lost",
        ),
        Test(
            id=f"{figure}.noise-at-target",
            kind=TRAINING,
            statement="noise-at-target",
            column=setting.name,
            quantity=f"final training loss, {setting.over}, with noise minus without, each at its "
            "best rate at the target",
            expected=setting.where(below(0), "target_lr_quiet"),
        ),
    )


def jumps(figure, setting):
    """Those of where upscaling starts."""

    def where(claim, bound):
        return setting.where(bound, "starts", OVERNIGHT if claim in UNTOLD else "reduced")

    return (
        Test(
            id=f"{figure}.initial-jump",
            kind=TRAINING,
            statement="jump",
            column=setting.name,
            quantity="training loss of the first batch, with noise over without",
            expected=where(f"{figure}.initial-jump", above(1, STATED)),
            conditions=carried_from(setting),
        ),
        Test(
            id=f"{figure}.jump-above-base",
            kind=TRAINING,
            statement="jump",
            column=setting.name,
            quantity=f"training loss of the first batch, over the base's final one, {setting.over}",
            expected=where(f"{figure}.jump-above-base", above(1, STATED)),
            conditions=carried_from(setting),
        ),
        Test(
            id=f"{figure}.jump-gone",
            kind=TRAINING,
            statement="jump-gone",
            column=setting.name,
            quantity="training loss over the second window of steps, over the base's final one, "
            f"{setting.over}",
            expected=where(f"{figure}.jump-gone", below(1, STATED)),
            conditions=carried_from(setting),
        ),
    )


def measure(figure, stages, setting, used, tuning):
    """Test id -> Measurement, for `claims`, where they are run. used: what Sweep 2 selects at the
    small width; tuning: why it is no optimum."""
    at_target = "upscaled_tuned" in stages
    found = measured_at_target(stages, setting, used, tuning) if at_target else {}
    if "upscaled_start" in stages:
        found |= measured_jumps(stages, tuning)
    return {f"{figure}.{name}": value for name, value in found.items()}


def measured_at_target(stages, setting, used, tuning):
    """Name -> Measurement, of Sweep 2 at the target."""
    up, scratch, tuned = (
        losses(stages, name) for name in ("upscaled", "scratch", "upscaled_tuned")
    )
    at_target = edges(stages, setting, TARGET)
    chosen = best(ends(stages, TARGET), list(setting.target), setting.metric_of(TARGET))
    words = f"transferred {point(used)}; tuned at the target {point(chosen)}"
    found = {
        "regret": over_seeds(
            share(up, tuned, scratch),
            shared(up, tuned, scratch),
            joined(tuning, at_target, diverged(stages, "scratch", "upscaled_tuned")),
            joined(words, diverged(stages, "upscaled")),
        ),
        "regret-nats": over_seeds(
            difference(up, tuned),
            shared(up, tuned),
            joined(tuning, at_target, diverged(stages, "upscaled_tuned")),
            joined(words, diverged(stages, "upscaled")),
        ),
    }
    if "upscaled_tuned_without_noise" not in stages:
        return found
    quiet = losses(stages, "upscaled_tuned_without_noise")
    return found | {
        "noise-at-target": over_seeds(
            difference(tuned, quiet),
            shared(tuned, quiet),
            joined(
                at_target,
                edges(stages, setting, TARGET_QUIET),
                diverged(stages, "upscaled_tuned_without_noise"),
            ),
            f"without noise {quiet.mean():.4g}, with {tuned.mean():.4g}",
        ),
    }


def measured_jumps(stages, tuning):
    """Name -> Measurement, of where upscaling starts."""
    start, quiet = (
        losses(stages, name) for name in ("upscaled_start", "upscaled_without_noise_start")
    )
    base, soon = losses(stages, "base"), after(stages, "upscaled")
    problem = joined(tuning, diverged(stages, "base"))
    return {
        "initial-jump": over_seeds(
            ratio(start, quiet),
            shared(start, quiet),
            tuning,
            f"without noise {quiet.mean():.4g}, with {start.mean():.4g}",
        ),
        "jump-above-base": over_base(start, base, problem),
        "jump-gone": over_base(
            soon, base, problem, f"steps to {second_window(stages, 'upscaled'):g}"
        ),
    }


def over_base(ours, base, problem, words=""):
    """Mean of an arm over that of the base models: paired where both have the same seeds, else with
    Welch's interval."""
    first, second = mean_of(ours), mean_of(base)
    words = joined(words, f"{ours.mean():.4g} over the base's {base.mean():.4g}")
    if {*ours.index} == {*base.index}:
        return over_seeds(ratio(ours, base), ours.index, problem, words)
    return over_arms(
        lambda arms: first(arms["ours"]) / second(arms["base"]),
        {"ours": ours.index, "base": base.index},
        problem,
        words,
    )


def second_window(stages, name):
    """The step at which a stage's second window ends; its last where it has not as many, and of no
    window that of the second evaluation."""
    steps = np.unique(stages[name]["step"])
    last = 2 * (stages.window or steps[0])
    return steps[steps <= max(last, steps[0])][-1]


def after(stages, name):
    """Seed -> mean training loss over a stage's second window of steps."""
    rows = stages[name]
    rows = rows[rows["step"] <= second_window(stages, name)]
    return at_end(rows, stages.window, METRICS).set_index("seed")["train_loss"]
