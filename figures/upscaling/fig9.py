"""Figure 9: Sweep 2 over learning rate and noise, ResNet-18 with SGD."""

from figures.upscaling import _claims, _drawing, _laws
from figures.upscaling._laws import simulate_sweep as simulate  # noqa: F401
from figures.upscaling._runs import LOSS, SETTINGS, reduce  # noqa: F401

SETTING = SETTINGS["resnet"]
TITLE = "Figure 9. Sweep over learning rate and noise, ResNet-18 with SGD"
CAPTION = _drawing.SWEPT.format(LOSS[SETTING.metric], "Ma et al., Figure 9")
STUDIES = (f"{SETTING.study}/tune_upscaled",)
CLAIMS = _claims.sweep_claims("fig9", "Figure 9; F.2", SETTING)
LAWS = _laws.sweep_laws("fig9")


def measure(data, scale):
    return _claims.measure_sweep("fig9", data, SETTING)


def draw(data, scale):
    return _drawing.draw_sweep(data, SETTING)
