"""Figure 8 with the learning rate tuned at the target too: what the transferred one costs."""

from dataclasses import replace

from figures.upscaling import _drawing, _laws, _runs, _target
from figures.upscaling._laws import simulate  # noqa: F401
from figures.upscaling._runs import LEVEL, SETTINGS, reduce  # noqa: F401

SETTING = replace(SETTINGS["resnet"], study="upscaling/resnet_at_target", target=("lr",))
TITLE = "ResNet-18 with SGD: the learning rate tuned at the target too"
OUTCOME = "Tuning the small model loses a share of {resnet_target.regret} of what upscaling gains"
CAPTION = (
    f"As Figure 8, on other seeds. {_drawing.ARMS} with the rate tuned at the target, at the noise "
    f"that was transferred. {_drawing.ENDS} (Ours, on Ma et al., Figure 8.)"
)
STUDIES = (SETTING.study,)
VIEW = _drawing.CURVES
NAME = "resnet_target"
CLAIMS = _target.claims(NAME, "suite, on Figure 8", SETTING)
LAWS = _laws.target_laws(NAME)


def measure(data, scale):
    stages = _runs.by_stage(data)
    used = _runs.best(_runs.stage_rows(stages, "tune_upscaled"), ["lr", LEVEL], "train_loss")
    tuning = _runs.edges(stages, SETTING, "tune", "tune_upscaled")
    return _target.measure(NAME, stages, SETTING, used, tuning)


def draw(data, scale):
    return _drawing.draw_curves(data, SETTING)
