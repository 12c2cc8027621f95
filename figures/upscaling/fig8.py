"""Figure 8: base, from scratch and upscaled, ResNet-18 with SGD."""

import numpy as np

from figures.upscaling import _claims, _drawing, _laws, _runs
from figures.upscaling._runs import SETTINGS, reduce
from repro.core.study import OVERNIGHT
from repro.verdicts.answers import TRAINING, Test, below, over_seeds, trained_scales
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured
from repro.verdicts.intervals import joined
from repro.verdicts.power import SIDES, SIGN

SETTING = SETTINGS["resnet"]
ANSWERS = (
    *_claims.curve_claims("fig8", SETTING),
    Test(
        id="fig8.generalisation",
        kind=TRAINING,
        statement="mirrors",
        column=SETTING.name,
        quantity=f"final validation accuracy, {SETTING.over}, upscaled minus from scratch",
        expected=trained_scales(below(0), OVERNIGHT),
    ),
)
LAWS = _laws.curve_laws("fig8", SETTING) | {"fig8.generalisation": SIGN}


def measure(data: Data, scale: str) -> Measured:
    stages = _runs.by_stage(data, scale)
    ours, scratch = (
        _runs.losses(stages, name, "valid_accuracy") for name in ("upscaled", "scratch")
    )
    gain = over_seeds(
        lambda s: float(ours[list(s)].mean() - scratch[list(s)].mean()),
        ours.index,
        joined(
            _runs.edges(stages, SETTING, "tune", "tune_upscaled"),
            _runs.diverged(stages, "upscaled", "scratch"),
        ),
    )
    return _claims.measure_curves("fig8", data, SETTING, scale) | {"fig8.generalisation": gain}


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    return _laws.simulate(law, recorded, scale, rng, less_accurate)


def less_accurate(law: str, design):
    """Upscaled less accurate than from scratch, as accurate, or more: in the paper its accuracy
    lies where its loss would have it not."""
    rows = (design.rows(study=SETTING.study, stage=stage) for stage in ("scratch", "upscaled"))
    loss = design.mean.copy()
    design.set_apart(*rows, np.array([1, 1, -1]) * SIDES[law])
    design.mean[:, :2] = loss[:, :2]


def draw(data: Data, scale: str) -> Drawn:
    return _drawing.draw_curves(data, SETTING, scale)


FIGURE = Figure(
    title="Figure 8. Upscaling against training from scratch, ResNet-18 with SGD",
    outcome="Noise changes the final training loss by {fig8.noise-nonzero} nats",
    caption=f"{_drawing.MEANING} {_drawing.ENDS} {_drawing.final(SETTING)} (Ma et al., Figure 8.)",
    studies=(SETTING.study,),
    view=_drawing.CURVES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
