"""Figure 4: base, from scratch and upscaled, MLP with SGD."""

from figures.upscaling import _protocol
from figures.upscaling._protocol import SETTINGS, reduce  # noqa: F401

SETTING = SETTINGS["mlp-sgd"]
TITLE = "Figure 4. Upscaling against training from scratch, MLP with SGD"
CAPTION = f"{_protocol.MEANING} (Ma et al., Figure 4.)"
STUDIES = (SETTING.study,)
CLAIMS = (
    *_protocol.curve_claims("fig4", "Figure 4; F.1", SETTING),
    *_protocol.win_claims("fig4", "Figure 4; F.1", SETTING),
)


def measure(data, scale):
    return _protocol.measure_curves("fig4", data, SETTING) | _protocol.measure_wins(
        "fig4", data, SETTING, scale
    )


def draw(data, scale):
    return _protocol.draw_curves(data, SETTING)
