"""Figure 6: base, from scratch and upscaled, MLP with AdamW; and AdamW beside SGD."""

import numpy as np

from figures.upscaling import _claims, _drawing, _laws, _runs
from figures.upscaling._runs import SETTINGS, reduce
from repro.core.study import OVERNIGHT
from repro.verdicts.answers import (
    STATED,
    TRAINING,
    Reading,
    Test,
    above,
    of_one_run,
    over_arms,
    over_seeds,
    trained_scales,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, View
from repro.verdicts.intervals import joined
from repro.verdicts.power import SIDES, SIGN

SETTING, SGD = SETTINGS["mlp"], SETTINGS["mlp-sgd"]
ANSWERS = (
    *_claims.curve_claims("fig6", SETTING),
    Test(
        id="fig6.overfits",
        kind=TRAINING,
        statement="adamw",
        column="MLP with AdamW",
        quantity="validation loss of the upscaled model, at the end over after half of the steps",
        expected=trained_scales(above(1, STATED), OVERNIGHT),
    ),
    Test(
        id="fig6.more-accurate",
        kind=TRAINING,
        statement="adamw",
        column="MLP with AdamW",
        quantity="final validation accuracy of the upscaled MLP, AdamW minus SGD",
        expected=trained_scales(above(0), OVERNIGHT),
    ),
    Reading(
        id="fig6.more-stable",
        words="share of Sweep 2's runs that diverge, SGD minus AdamW, each on its own grid",
        beside="above 0 if AdamW is more stable",
    ),
)
LAWS = _laws.curve_laws("fig6", SETTING) | {"fig6.overfits": SIGN, "fig6.more-accurate": SIGN}


def measure(data: Data, scale: str) -> Measured:
    ours, sgd = (_runs.by_stage(data[data["study"] == s.study], scale) for s in (SETTING, SGD))
    half_way = _runs.by_stage(halved(data), scale)
    end, half = (_runs.losses(steps, "upscaled", "valid_loss") for steps in (ours, half_way))
    accuracy, of_sgd = (
        _runs.losses(stages, "upscaled", "valid_accuracy") for stages in (ours, sgd)
    )
    tuning = _runs.edges(ours, SETTING, "tune", "tune_upscaled")
    lost = [lost_share(stages) for stages in (ours, sgd)]
    own = data[data["study"] == SETTING.study]
    return _claims.measure_curves("fig6", own, SETTING, scale) | {
        "fig6.overfits": over_seeds(
            _runs.ratio(end, half),
            end.index,
            joined(tuning, _runs.diverged(ours, "upscaled")),
            f"after half of the steps {half.mean():.4g}, at the end {end.mean():.4g}",
        ),
        # Two studies, each with seeds of its own.
        "fig6.more-accurate": over_arms(
            lambda seeds: (
                _runs.mean_of(accuracy)(seeds["AdamW"]) - _runs.mean_of(of_sgd)(seeds["SGD"])
            ),
            {"AdamW": accuracy.index, "SGD": of_sgd.index},
            joined(
                tuning,
                _runs.edges(sgd, SGD, "tune_upscaled"),
                _runs.diverged(ours, "upscaled"),
                _runs.diverged(sgd, "upscaled"),
            ),
            f"AdamW {accuracy.mean():.4g}, SGD {of_sgd.mean():.4g}",
        ),
        "fig6.more-stable": of_one_run(
            lost[1] - lost[0], detail=f"AdamW {lost[0]:.1%}, SGD {lost[1]:.1%}"
        ),
    }


def halved(data: Data):
    """The upscaled runs up to half of their steps."""
    rows = data[(data["study"] == SETTING.study) & (data["stage"] == "upscaled")]
    return rows[rows["step"] <= rows["step"].max() / 2]


def lost_share(stages):
    """Share of Sweep 2's runs that diverged."""
    return float(np.mean(~np.isfinite(_runs.ends(stages, "tune_upscaled")["train_loss"])))


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    return _laws.simulate(law, recorded, scale, rng, beside_sgd)


def beside_sgd(law: str, design):
    """SGD less accurate, as accurate, or more; validation losses that rise, stay or fall."""
    ours, sgd = (design.rows(study=s.study, stage="upscaled") for s in (SETTING, SGD))
    # Below AdamW in accuracy; its losses are no claim's.
    design.set_apart(sgd, ours, np.array([1, 1, SIDES[law]]))
    step, column = design.recorded["step"].to_numpy(), design.values.index("valid_loss")
    half = step[ours][step[ours] <= step[ours].max() / 2].max()
    last = ours[step[ours] == step[ours].max()]
    at_half = design.mean[ours[step[ours] == half][0], column]
    rise = abs(design.mean[last[0], column] - at_half)
    design.mean[last, column] = at_half + SIDES[law] * rise


def draw(data: Data, scale: str) -> Drawn:
    return _drawing.draw_curves(data[data["study"] == SETTING.study], SETTING, scale)


FIGURE = Figure(
    title="Figure 6. Upscaling against training from scratch, MLP with AdamW",
    outcome=(
        "Noise changes the final training loss by {fig6.noise-nonzero} nats; the validation loss "
        "ends at {fig6.overfits} times that half way"
    ),
    caption=f"{_drawing.MEANING} {_drawing.ENDS} {_drawing.final(SETTING)} (Ma et al., Figure 6.)",
    studies=(SETTING.study, f"{SGD.study}/tune_upscaled", f"{SGD.study}/upscaled"),
    view=View(
        "step", "train_loss", {"study": SETTING.study, "stage": _drawing.CURVES.only["stage"]}
    ),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
