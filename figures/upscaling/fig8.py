"""Figure 8: base, from scratch and upscaled, ResNet-18 with SGD."""

from figures.upscaling import _claims, _drawing, _laws, _runs
from figures.upscaling._laws import simulate
from figures.upscaling._runs import SETTINGS, reduce
from repro.judge.claims import TRAINING, Claim, below, over_seeds, reported
from repro.judge.figure import Figure
from repro.judge.intervals import joined

SETTING = SETTINGS["resnet"]
CLAIMS = (
    *_claims.curve_claims("fig8", "Figure 8; F.2", SETTING),
    Claim(
        id="fig8.generalisation",
        kind=TRAINING,
        statement="The upscaled ResNet generalises worse, though its training loss is lower",
        source="Section 4; Figure 8",
        quantity="final validation accuracy, upscaled minus from scratch",
        expected={"reduced": reported("no bound: below 0 in the paper"), "paper": below(0)},
    ),
)
LAWS = _laws.curve_laws("fig8", SETTING)


def measure(data, scale):
    stages = _runs.by_stage(data, scale)
    ours, scratch = (
        _runs.losses(stages, name, "valid_accuracy") for name in ("upscaled", "scratch")
    )
    gain = over_seeds(
        lambda s: float(ours[list(s)].mean() - scratch[list(s)].mean()),
        ours.index,
        joined(
            _runs.edges(stages, SETTING, "tune", "tune_upscaled"),
            _runs.diverged(stages, "upscaled", "scratch"),
        ),
    )
    return _claims.measure_curves("fig8", data, SETTING, scale) | {"fig8.generalisation": gain}


def draw(data, scale):
    return _drawing.draw_curves(data, SETTING, scale)


FIGURE = Figure(
    title="Figure 8. Upscaling against training from scratch, ResNet-18 with SGD",
    outcome="Noise changes the final training loss by {fig8.noise-nonzero} nats",
    caption=f"{_drawing.MEANING} {_drawing.ENDS} (Ma et al., Figure 8.)",
    studies=(SETTING.study,),
    view=_drawing.CURVES,
    claims=CLAIMS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
