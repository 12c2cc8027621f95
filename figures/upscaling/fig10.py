"""Figure 10: base, from scratch and upscaled, GPT-2 with AdamW."""

from figures.upscaling import _claims, _drawing, _laws
from figures.upscaling._laws import simulate  # noqa: F401
from figures.upscaling._runs import SETTINGS, reduce  # noqa: F401

SETTING = SETTINGS["gpt2"]
TITLE = "Figure 10. Upscaling against training from scratch, GPT-2 with AdamW"
OUTCOME = (
    "Noise changes the final training loss by {fig10.noise-nonzero} nats at the transferred "
    "rates, by {fig10.noise-at-target} at the target's own"
)
CAPTION = f"{_drawing.MEANING} (Ma et al., Figure 10.)"
STUDIES = (SETTING.study,)
VIEW = _drawing.CURVES
CLAIMS = _claims.curve_claims("fig10", "Figure 10; F.3", SETTING)
LAWS = _laws.curve_laws("fig10", SETTING)


def measure(data, scale):
    return _claims.measure_curves("fig10", data, SETTING)


def draw(data, scale):
    return _drawing.draw_curves(data, SETTING)
