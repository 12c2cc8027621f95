"""Figure 6: base, from scratch and upscaled, MLP with AdamW."""

from figures.upscaling import _claims, _drawing, _laws
from figures.upscaling._laws import simulate  # noqa: F401
from figures.upscaling._runs import SETTINGS, reduce  # noqa: F401

SETTING = SETTINGS["mlp"]
TITLE = "Figure 6. Upscaling against training from scratch, MLP with AdamW"
CAPTION = f"{_drawing.MEANING} (Ma et al., Figure 6.)"
STUDIES = (SETTING.study,)
VIEW = _drawing.CURVES
CLAIMS = _claims.curve_claims("fig6", "Figure 6; F.1", SETTING)
LAWS = _laws.curve_laws("fig6")


def measure(data, scale):
    return _claims.measure_curves("fig6", data, SETTING)


def draw(data, scale):
    return _drawing.draw_curves(data, SETTING)
