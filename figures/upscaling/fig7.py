"""Figure 7: Sweep 2 over learning rate and noise, MLP with AdamW."""

from figures.upscaling import _drawing, _laws, _sweep
from figures.upscaling._laws import simulate
from figures.upscaling._runs import SETTINGS, reduce
from repro.verdicts.figure import Figure

SETTING = SETTINGS["mlp"]
ANSWERS = _sweep.claims("fig7", SETTING)
LAWS = _laws.sweep_laws("fig7")


def measure(data, scale):
    return _sweep.measure("fig7", data, SETTING, scale)


def draw(data, scale):
    return _drawing.draw_sweep(data, SETTING, scale)


FIGURE = Figure(
    title="Figure 7. Sweep over learning rate and noise, MLP with AdamW",
    outcome=(
        "Noise at the ends of its grid ends at {fig7.optimal-noise} times the best loss, or more"
    ),
    caption=_drawing.SWEPT.format(_drawing.final(SETTING), "Ma et al., Figure 7"),
    studies=_sweep.studies(SETTING, "tune_upscaled_code"),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
