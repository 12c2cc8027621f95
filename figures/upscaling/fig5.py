"""Figure 5: Sweep 2 over learning rate and noise, MLP with SGD."""

from figures.upscaling import _protocol
from figures.upscaling._protocol import LOSS, SETTINGS, reduce  # noqa: F401

SETTING = SETTINGS["mlp-sgd"]
TITLE = "Figure 5. Sweep over learning rate and noise, MLP with SGD"
CAPTION = _protocol.SWEPT.format(LOSS[SETTING.metric], "Ma et al., Figure 5")
STUDIES = (f"{SETTING.study}/tune_upscaled", f"{SETTING.study}/tune_upscaled_code")
CLAIMS = _protocol.sweep_claims("fig5", "Figure 5; F.1", SETTING)


def measure(data, scale):
    return _protocol.measure_sweep("fig5", data, SETTING)


def draw(data, scale):
    return _protocol.draw_sweep(data, SETTING)
