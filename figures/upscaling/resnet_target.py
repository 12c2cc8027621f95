"""Figure 8 with the learning rate tuned at the target too: what the transferred one costs."""

from dataclasses import replace

from figures.upscaling import _drawing, _fair, _laws, _runs, _target
from figures.upscaling._laws import simulate
from figures.upscaling._runs import LEVEL, SETTINGS, reduce
from repro.verdicts.figure import Data, Drawn, Figure, Measured
from studies.upscaling import resnet_at_target

SETTING = replace(
    SETTINGS["resnet"],
    study="upscaling/resnet_at_target",
    scales=resnet_at_target.SCALES,
    target=("lr",),
)
NAME = "resnet_target"
ANSWERS = (*_target.claims(NAME, SETTING), *_fair.claims(NAME, SETTING))
LAWS = _laws.target_laws(NAME) | _laws.fair_laws(NAME, SETTING)


def measure(data: Data, scale: str) -> Measured:
    stages = _runs.by_stage(data, scale)
    used = _runs.best(_runs.ends(stages, "tune_upscaled"), ["lr", LEVEL], "train_loss")
    tuning = _runs.edges(stages, SETTING, "tune", "tune_upscaled")
    found = _target.measure(NAME, stages, SETTING, used, tuning)
    return found | _fair.measure(NAME, stages, SETTING, scale)


def draw(data: Data, scale: str) -> Drawn:
    return _drawing.draw_curves(data, SETTING, scale)


FIGURE = Figure(
    title="ResNet-18 with SGD: the learning rate tuned at the target too",
    outcome=(
        "Tuning the small model loses a share of {resnet_target.regret} of what upscaling gains"
    ),
    caption=(
        f"As Figure 8, on other seeds. {_drawing.ARMS} with the rate tuned at the target, at the "
        f"noise that was transferred. {_drawing.ENDS} {_drawing.final(SETTING)} "
        "(Ours, on Ma et al., Figure 8.)"
    ),
    studies=(SETTING.study,),
    view=_drawing.CURVES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
