"""Figure 7: Sweep 2 over learning rate and noise, MLP with AdamW."""

from figures.upscaling import _protocol
from figures.upscaling._protocol import reduce  # noqa: F401

TITLE = "Figure 7. Sweep over learning rate and noise, MLP with AdamW"
CAPTION = (
    "Final training loss of the small upscaled system over learning rate and noise, and curves "
    "per noise level at the best rate (Ma et al., Figure 7)."
)
STUDIES = ("upscaling/mlp_adamw/tune", "upscaling/mlp_adamw/tune_upscaled")
CLAIMS = _protocol.sweep_claims("fig7", "Figure 7; F.1")


def measure(data, scale):
    return _protocol.measure_sweep("fig7", data)


def draw(data, scale):
    return _protocol.draw_sweep(data, r"noise $\bar\sigma_\Delta$")
