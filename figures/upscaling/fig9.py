"""Figure 9: Sweep 2 over learning rate and noise, ResNet-18 with SGD."""

from figures.upscaling import _claims, _drawing
from figures.upscaling._runs import LOSS, SETTINGS, reduce  # noqa: F401

SETTING = SETTINGS["resnet"]
TITLE = "Figure 9. Sweep over learning rate and noise, ResNet-18 with SGD"
CAPTION = _drawing.SWEPT.format(LOSS[SETTING.metric], "Ma et al., Figure 9")
STUDIES = (f"{SETTING.study}/tune_upscaled",)
CLAIMS = _claims.sweep_claims("fig9", "Figure 9; F.2", SETTING)


def measure(data, scale):
    return _claims.measure_sweep("fig9", data, SETTING)


def draw(data, scale):
    return _drawing.draw_sweep(data, SETTING)
