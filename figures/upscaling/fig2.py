"""Figure 2: base, from scratch and upscaled, three architectures."""

from figures.upscaling import _protocol
from figures.upscaling._protocol import SETTINGS, reduce  # noqa: F401

SHOWN = [SETTINGS[key] for key in ("mlp", "resnet", "gpt2")]
TITLE = "Figure 2. Upscaled models against wide ones trained from scratch"
CAPTION = (
    "Training (top) and validation loss (bottom) of the base, the wide model from scratch and the "
    "upscaled one, mean and range over seeds, with baselines of ours (Ma et al., Figure 2)."
)
STUDIES = tuple(setting.study for setting in SHOWN)
CLAIMS = tuple(
    claim for s in SHOWN for claim in _protocol.win_claims("fig2", "Figure 2; Section 4", s)
)


def measure(data, scale):
    measured = {}
    for setting in SHOWN:
        rows = data[data["study"] == setting.study]
        measured |= _protocol.measure_wins("fig2", rows, setting, scale)
    return measured


def draw(data, scale):
    from repro import drawing

    figure, axes = drawing.panels(len(SHOWN), 2)
    for (top, bottom), setting in zip(axes.T, SHOWN, strict=True):
        rows = data[data["study"] == setting.study]
        _protocol.draw_curve(top, rows, "train_loss", "training loss (nats)", setting)
        _protocol.draw_curve(bottom, rows, "valid_loss", "validation loss (nats)", setting)
        top.set_title(setting.words)
    axes[0, 0].legend(fontsize=6.5)
    return figure
