"""Figure 7: Sweep 2 over learning rate and noise, MLP with AdamW."""

from figures.upscaling import _claims, _drawing, _laws
from figures.upscaling._laws import simulate  # noqa: F401
from figures.upscaling._runs import SETTINGS, reduce  # noqa: F401

SETTING = SETTINGS["mlp"]
TITLE = "Figure 7. Sweep over learning rate and noise, MLP with AdamW"
OUTCOME = "Noise at the ends of its grid ends at {fig7.optimal-noise} times the best loss, or more"
CAPTION = _drawing.SWEPT.format("Ma et al., Figure 7")
STUDIES = _claims.sweep_studies(SETTING, "tune_upscaled_code")
CLAIMS = _claims.sweep_claims("fig7", "Figure 7; F.1")
LAWS = _laws.sweep_laws("fig7")


def measure(data, scale):
    return _claims.measure_sweep("fig7", data, SETTING)


def draw(data, scale):
    return _drawing.draw_sweep(data, SETTING)
