"""Figure 1: the optimal embedding learning rate against width at one vocabulary."""

from figures.embedding_lr import _sweep
from repro.claims import Claim, below

TITLE = "Figure 1. Optimal embedding learning rate against width, fixed vocabulary"
CAPTION = (
    "Training loss against the embedding learning rate, best over the other hyperparameters, "
    "and its optimum against width (Hayou & Liu, Figure 1)."
)
STUDIES = ("embedding_lr/width",)
CLAIMS = (
    Claim(
        id="fig1.optimum-falls",
        statement="The optimal embedding learning rate falls with width, nearer d^-1/2 than 1",
        source="Figure 1; Section 2",
        quantity="slope of log eta_E* against log d",
        expected={"reduced": below(-0.2), "paper": below(-0.25)},
    ),
)


def reduce(runs):
    return _sweep.final(runs["embedding_lr/width"]).drop(columns="step")


def measure(data, scale):
    table = data.drop(columns="vocab_reached")
    return {"fig1.optimum-falls": _sweep.slope_measurement(table, _sweep.WINDOW[scale])}


def draw(data, scale):
    from repro import drawing

    figure, axes = drawing.panels(2)
    table = data.drop(columns="vocab_reached")
    _sweep.draw_losses(axes[0, 0], table, lambda width, part: f"d = {width}")
    _sweep.draw_optima(
        axes[0, 1],
        table,
        _sweep.WINDOW[scale],
        "optimum",
        drawing.COLORS[0],
        guides=True,
    )
    axes[0, 0].set_title(f"m = {data['vocab_reached'].max()}", fontsize=8)
    return figure
