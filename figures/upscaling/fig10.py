"""Figure 10: base, from scratch and upscaled, GPT-2 with AdamW."""

from figures.upscaling import _claims, _drawing, _laws
from figures.upscaling._laws import simulate
from figures.upscaling._runs import SETTINGS, reduce
from repro.verdicts.figure import Data, Drawn, Figure, Measured

SETTING = SETTINGS["gpt2"]
ANSWERS = _claims.curve_claims("fig10", SETTING)
LAWS = _laws.curve_laws("fig10", SETTING)


def measure(data: Data, scale: str) -> Measured:
    return _claims.measure_curves("fig10", data, SETTING, scale)


def draw(data: Data, scale: str) -> Drawn:
    return _drawing.draw_curves(data, SETTING, scale)


FIGURE = Figure(
    title="Figure 10. Upscaling against training from scratch, GPT-2 with AdamW",
    outcome=(
        "Noise changes the final training loss by {fig10.noise-nonzero} nats at the transferred "
        "rates, by {fig10.noise-at-target} at the target's own"
    ),
    caption=f"{_drawing.MEANING} {_drawing.final(SETTING)} (Ma et al., Figure 10.)",
    studies=(SETTING.study,),
    view=_drawing.CURVES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
