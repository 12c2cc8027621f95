"""Figure 1: the optimal embedding learning rate against width at one vocabulary."""

from figures.embedding_lr import _laws, _sweep
from repro.judge.claims import TRAINING, Claim, below
from repro.judge.tables import last_step

TITLE = "Figure 1. Optimal embedding learning rate against width, fixed vocabulary"
CAPTION = (
    "Left: training loss against the embedding learning rate, best over the other "
    "hyperparameters, mean and range (band) over seeds; crosses at the top: diverged. Right: its "
    "optimum against width. Dots: vertex of a parabola through five rates around the best, bars: "
    "95 % interval over seeds; grey band: rates of near-best loss (edge: it meets the grid's end); "
    "crosses, and the dots at paper scale: the paper's rule, geometric mean of the grid's rates "
    "within 20 %; guides: from the first dot (Hayou & Liu, Figure 1)."
)
STUDIES = ("embedding_lr/width",)
CLAIMS = (
    Claim(
        id="fig1.optimum-falls",
        kind=TRAINING,
        statement="The optimal embedding learning rate falls with width (the paper: as d^-1/2)",
        source="Figure 1; Section 2",
        quantity="slope of log eta_E* against log d",
        expected={"reduced": below(-0.2), "paper": below(-0.25)},
    ),
)
LAWS = {"fig1.optimum-falls": _laws.FALLS}


def reduce(runs):
    return last_step(runs["embedding_lr/width"]).drop(columns="step")


def sweep_of(data):
    return _sweep.Sweep(data.drop(columns="vocab_reached"))


def measure(data, scale):
    return {"fig1.optimum-falls": _sweep.slope_measurement(sweep_of(data), _sweep.WINDOW[scale])}


def simulate(law, recorded, scale, rng):
    drawn = _laws.simulate_sweep(law, recorded.drop(columns="vocab_reached"), scale, rng)
    return recorded.assign(train_loss=drawn["train_loss"])


def draw(data, scale):
    from repro.judge import drawing

    figure, axes = drawing.panels(2, height=_sweep.HEIGHT)
    sweep = sweep_of(data)
    m = data["vocab_reached"].max()
    _sweep.draw_losses(axes[0, 0], sweep, lambda width: f"d = {width}, m = {m}")
    _sweep.draw_optima(
        axes[0, 1],
        sweep,
        _sweep.WINDOW[scale],
        "optimum",
        "black",
        guides=True,
    )
    return figure
