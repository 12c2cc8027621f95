"""Figure 2: base, from scratch and upscaled, three architectures."""

from figures.upscaling import _claims, _drawing, _laws
from figures.upscaling._laws import simulate
from figures.upscaling._runs import SETTINGS, by_stage, reduce
from repro.verdicts.figure import Figure

SHOWN = [SETTINGS[key] for key in ("mlp", "resnet", "gpt2")]
ANSWERS = tuple(claim for s in SHOWN for claim in _claims.win_claims("fig2", s))
LAWS = {k: v for s in SHOWN for k, v in _laws.win_laws("fig2", s).items()}


def measure(data, scale):
    measured = {}
    for setting in SHOWN:
        rows = data[data["study"] == setting.study]
        measured |= _claims.measure_wins("fig2", rows, setting, scale)
    return measured


def draw(data, scale):
    from repro.verdicts import drawing

    figure, axes = drawing.panels(len(SHOWN), 3, width=4.2, height=3.1)
    measured = measure(data, scale)
    for (last, training, validation), setting in zip(axes.T, SHOWN, strict=True):
        stages = by_stage(data[data["study"] == setting.study], scale)
        _drawing.draw_ends(last, stages, setting)
        last.set_title(setting.name, fontsize=9)
        _drawing.draw_curve(training, stages, "train_loss", setting)
        _drawing.mark_early(training, stages, setting, measured[f"fig2.faster-{setting.key}"])
        _drawing.draw_curve(validation, stages, setting.validation, setting)
    return figure


FIGURE = Figure(
    title="Figure 2. Upscaled models against wide ones trained from scratch",
    outcome=(
        "Training loss, upscaled over from scratch: as the paper compares "
        "{fig2.upscaled-wins-mlp} (MLP), {fig2.upscaled-wins-resnet} (ResNet-18), "
        "{fig2.upscaled-wins-gpt2} (GPT-2); both tuned, for equal operations "
        "{fig2.equal-flops-tuned-mlp} (MLP), {fig2.equal-flops-tuned-gpt2} (GPT-2)"
    ),
    caption=(
        "Top: where the training losses end, mean and 95 % interval over seeds; left of it the "
        f"line, name and learning rate of each curve below. {_drawing.MEANING} {_drawing.EARLY} "
        f"{_drawing.final(*SHOWN)} "
        "Last row, as in the paper: validation accuracy, for GPT-2 validation loss. (Ma et al., "
        "Figure 2.)"
    ),
    studies=tuple(setting.study for setting in SHOWN),
    view=_drawing.CURVES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
