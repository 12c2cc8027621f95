"""Figure 4: base, from scratch and upscaled, MLP with SGD."""

from figures.upscaling import _protocol
from figures.upscaling._protocol import reduce  # noqa: F401

TITLE = "Figure 4. Upscaling against training from scratch, MLP with SGD"
CAPTION = (
    "Training and validation curves of the base, the wide model from scratch and the upscaled "
    "one, mean and range over seeds, with baselines of ours (Ma et al., Figure 4)."
)
STUDIES = ("upscaling/mlp_sgd",)
CLAIMS = _protocol.curve_claims("fig4", "Figure 4; F.1", (0.4, 0.1, 5.0))


def measure(data, scale):
    return _protocol.measure_curves("fig4", data)


def draw(data, scale):
    return _protocol.draw_curves(data)
