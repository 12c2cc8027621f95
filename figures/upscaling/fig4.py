"""Figure 4: base, from scratch and upscaled, MLP with SGD."""

from figures.upscaling import _claims, _drawing, _laws
from figures.upscaling._laws import simulate
from figures.upscaling._runs import SETTINGS, reduce
from repro.verdicts.figure import Data, Drawn, Figure, Measured

SETTING = SETTINGS["mlp-sgd"]
ANSWERS = (
    *_claims.curve_claims("fig4", SETTING),
    *_claims.win_claims("fig4", SETTING),
)
LAWS = _laws.curve_laws("fig4", SETTING) | _laws.win_laws("fig4", SETTING)


def measure(data: Data, scale: str) -> Measured:
    return _claims.measure_curves("fig4", data, SETTING, scale) | _claims.measure_wins(
        "fig4", data, SETTING, scale
    )


def draw(data: Data, scale: str) -> Drawn:
    share = _claims.measure_wins("fig4", data, SETTING, scale)[f"fig4.faster-{SETTING.key}"]
    return _drawing.draw_curves(data, SETTING, scale, share)


FIGURE = Figure(
    title="Figure 4. Upscaling against training from scratch, MLP with SGD",
    outcome=(
        "Upscaled, the MLP ends at {fig4.upscaled-wins-mlp-sgd} times the training loss from "
        "scratch"
    ),
    caption=(
        f"{_drawing.MEANING} {_drawing.EARLY} {_drawing.ENDS} {_drawing.final(SETTING)} "
        "(Ma et al., Figure 4.)"
    ),
    studies=(SETTING.study,),
    view=_drawing.CURVES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
