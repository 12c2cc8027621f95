"""Theorem 2's small vocabulary: what balances embedding and output where it is below the width."""

import numpy as np

from figures.embedding_lr.mechanism import (
    BELOW_WIDTH,
    CHANGE,
    SMALL,
    THEOREM,
    VOCABULARY,
    WIDTH,
    exponent,
)
from repro.theory import sign_sgd
from repro.verdicts.answers import TOLERANCE, TRAINING, Prediction, Test, trained_scales, within
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.noise import Design
from repro.verdicts.power import Laws
from studies.embedding_lr.below_width import WIDTHS

STUDY = "embedding_lr/below_width"
LARGE = "large vocabulary at every m"


def powers(d: np.ndarray, m: np.ndarray) -> tuple[float, float]:
    """Theorem 1's power of the width in the ratio: over the text, and for the most frequent token,
    from the lower."""
    low, high = sorted(sign_sgd.ratio_slope(d, m, rank=rank) for rank in (None, 0))
    return low, high


DESIGN = np.array(WIDTHS)
MIDDLE = round(float(np.mean(powers(DESIGN, np.full_like(DESIGN, SMALL)))), 2)
AWAY = round((max(powers(DESIGN, 8 * DESIGN)) - MIDDLE) / 2, 2)
ANSWERS = (
    Test(
        id="regime.mup",
        kind=TRAINING,
        statement="small-vocabulary",
        column=f"decoder, m = {SMALL}, widths above it",
        quantity="exponent of d in the ratio eta_E / eta_W that balances both changes, "
        f"m = {SMALL}, embedding std d^-1/2",
        expected=trained_scales(
            within(
                MIDDLE, AWAY, TOLERANCE, "half way to the theorem's power for a vocabulary of 8d"
            )
        ),
        conditions=(BELOW_WIDTH,),
    ),
)
LAWS = {"regime.mup": Laws(THEOREM, (LARGE,))}


def reduce(runs: Runs) -> Data:
    return runs[STUDY]


def measure(data: Data, scale: str) -> Measured:
    return {"regime.mup": exponent(data, CHANGE)}


def sizes(data: Data):
    """Widths and vocabularies."""
    return data[[WIDTH, VOCABULARY]].drop_duplicates().to_numpy().T


def predict(data: Data, scale: str) -> dict[str, Prediction]:
    return {"regime.mup": Prediction(*powers(*sizes(data)), 0.0, "Theorem 1")}


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """The exponent that a law says, for the most frequent token, by moving the output's changes."""
    design = Design(recorded, [CHANGE], ["layer", WIDTH])
    d, m = sizes(recorded)
    wanted = sign_sgd.ratio_slope(d, m if law == THEOREM else 8 * d, rank=0)
    output = (recorded["layer"] == "output").to_numpy()
    by = wanted - exponent(recorded, CHANGE).value
    design.mean[output, 0] += by * np.log(recorded[WIDTH].to_numpy()[output])
    return design.draw(rng)


def draw(data: Data, scale: str) -> Drawn:
    from repro.statistics import t_interval
    from repro.verdicts import drawing

    figure, axes = drawing.panels(1)
    axis = axes[0, 0]
    logs = np.log(data.pivot(index=["seed", WIDTH], columns="layer", values=CHANGE))
    ratio = logs["output"] - logs["embedding"]
    d = np.array(sorted(data[WIDTH].unique()))
    means = [t_interval(np.exp(ratio.xs(width, level=WIDTH))) for width in d]
    drawing.bars(axis, d, means, fmt="o-", color="black", label="mean, 95 %")
    _, high = powers(*sizes(data))
    large = max(powers(d, 8 * d))
    names = {f"Theorem 1: $d^{{{high:.2f}}}$": high, f"m = 8d: $d^{{{large:.2f}}}$": large}
    drawing.guides(axis, d, means[0][0], names, next(iter(names)))
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    drawing.plain_ticks(axis.yaxis)
    drawing.log2_axis(axis.xaxis)
    axis.set_xlabel("width $d$")
    axis.set_ylabel(r"$\eta_E / \eta_W$ that balances both layers")
    axis.legend(fontsize=7)
    return figure


FIGURE = Figure(
    title="Theorem 2. The ratio that balances embedding and output, vocabulary below the width",
    outcome="With a vocabulary below every width the balancing ratio goes as d^{regime.mup}",
    caption=(
        "Ratio eta_E / eta_W for which a sign step of the untrained decoder's embedding changes "
        "its logits as much as one of its output, m = 32; mean and 95 % interval over seeds. "
        "Dashed, from the first point: Theorem 1's power at these sizes, for the most frequent "
        "token, and for a vocabulary of 8d (Hayou & Liu, Theorem 2; Section 3)."
    ),
    studies=(STUDY,),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    predict=predict,
    draw=draw,
    simulate=simulate,
)
