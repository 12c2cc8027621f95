"""Figure 2: base, from scratch and upscaled, three architectures."""

from dataclasses import replace

from figures.upscaling import _claims, _drawing, _laws
from figures.upscaling._laws import simulate
from figures.upscaling._runs import FAIR, OF_WINS, SETTINGS, by_stage, reduce, rows_of
from repro.verdicts.answers import Measurement
from repro.verdicts.figure import Data, Drawn, Figure, Measured, View
from studies.upscaling import gpt2_own, mlp_adamw_asked, resnet_own

# Of this figure alone: each seed grows from its own base, and the MLP is tuned on 64 units.
STUDIES = {
    "mlp": ("mlp_adamw_asked", mlp_adamw_asked.SCALES),
    "resnet": ("resnet_own", resnet_own.SCALES),
    "gpt2": ("gpt2_own", gpt2_own.SCALES),
}
SHOWN = [
    replace(SETTINGS[key], study=f"upscaling/{name}", scales=scales)
    for key, (name, scales) in STUDIES.items()
]
ANSWERS = tuple(claim for s in SHOWN for claim in _claims.win_claims("fig2", s))
LAWS = {k: v for s in SHOWN for k, v in _laws.win_laws("fig2", s).items()}


def measure(data: Data, scale: str) -> Measured:
    measured: dict[str, Measurement] = {}
    for setting in SHOWN:
        rows = rows_of(data, setting)
        measured |= _claims.measure_wins("fig2", rows, setting, scale)
    return measured


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, axes = drawing.panels(len(SHOWN), 3, width=4.2, height=3.1)
    measured = measure(data, scale)
    for (last, training, validation), setting in zip(axes.T, SHOWN, strict=True):
        stages = by_stage(rows_of(data, setting), scale)
        _drawing.draw_ends(last, stages)
        last.set_title(setting.name, fontsize=9)
        _drawing.draw_curve(training, stages, "train_loss")
        _drawing.mark_early(training, stages, setting, measured[f"fig2.faster-{setting.key}"])
        _drawing.draw_curve(validation, stages, setting.validation)
    return figure


FIGURE = Figure(
    title="Figure 2. Upscaled models against wide ones trained from scratch",
    outcome=(
        "Training loss, upscaled over from scratch: as the paper compares "
        "{fig2.upscaled-wins-mlp} (MLP), {fig2.upscaled-wins-resnet} (ResNet-18), "
        "{fig2.upscaled-wins-gpt2} (GPT-2); both tuned, for equal operations "
        "{fig2.equal-flops-tuned-mlp} (MLP)"
    ),
    caption=(
        "Top: where the training losses end, mean and 95 % interval over seeds; left of it the "
        f"line, name and learning rate of each curve below. {_drawing.MEANING} {_drawing.EARLY} "
        f"{_drawing.final(*SHOWN)} "
        "Last row, as in the paper: validation accuracy, for GPT-2 validation loss. (Ma et al., "
        "Figure 2.)"
    ),
    studies=(
        *SHOWN[0].stages((*OF_WINS, *FAIR)),
        *(stage for setting in SHOWN[1:] for stage in setting.stages(OF_WINS)),
    ),
    view=View("step", "train_loss", {"stage": ("base", *_drawing.COMPARED, "scratch_long")}),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
