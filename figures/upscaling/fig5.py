"""Figure 5: Sweep 2 over learning rate and noise, MLP with SGD."""

from figures.upscaling import _claims, _drawing, _laws
from figures.upscaling._laws import simulate  # noqa: F401
from figures.upscaling._runs import SETTINGS, reduce  # noqa: F401

SETTING = SETTINGS["mlp-sgd"]
TITLE = "Figure 5. Sweep over learning rate and noise, MLP with SGD"
OUTCOME = "Noise at the ends of its grid ends at {fig5.optimal-noise} times the best loss, or more"
CAPTION = _drawing.SWEPT.format("Ma et al., Figure 5")
STUDIES = _claims.sweep_studies(SETTING, "tune_upscaled_code")
CLAIMS = _claims.sweep_claims("fig5", "Figure 5; F.1")
LAWS = _laws.sweep_laws("fig5")


def measure(data, scale):
    return _claims.measure_sweep("fig5", data, SETTING)


def draw(data, scale):
    return _drawing.draw_sweep(data, SETTING)
