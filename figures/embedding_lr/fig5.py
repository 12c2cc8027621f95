"""Figure 5: word-level perplexity of a test split, the paper's WikiText, along pretraining."""

from dataclasses import replace

import numpy as np

from figures.embedding_lr import _pretraining
from figures.embedding_lr._pretraining import BASELINE, RULE, simulate
from repro.statistics import t_interval
from repro.verdicts.answers import TOLERANCE, TRAINING, Test, above
from repro.verdicts.figure import Figure
from repro.verdicts.power import SIGN

STUDY = "embedding_lr/pretraining"
METRIC = "word_perplexity"
ANSWERS = (
    Test(
        id="fig5.consistent",
        kind=TRAINING,
        statement="faster",
        column="test split, by words",
        quantity="share of evaluations, all seeds, where the ratio sqrt(d) is better than 1",
        expected={"paper": above(0.9, TOLERANCE, _pretraining.THROUGHOUT)},
    ),
)
LAWS = {"fig5.consistent": SIGN}


def reduce(runs):
    return runs[STUDY]


def split(data):
    """Which part of the text was evaluated."""
    return data["words_split"].iloc[0]


def comparison(data):
    """Word-level perplexity at sqrt(d) over that at 1, a row per evaluation, a column per seed."""
    return _pretraining.by_seed(data, RULE, METRIC) / _pretraining.by_seed(data, BASELINE, METRIC)


def measure(data, scale):
    compared = comparison(data)
    seeds = ", ".join(f"{value:.4g}" for value in compared.iloc[-1])
    detail = f"at the end, sqrt(d) over 1, by seed: {seeds}"
    found = _pretraining.share(data, compared < 1, detail)
    if split(data) != "test":
        found = replace(found, problem=f"the text has no test split, measured on {split(data)}")
    return {"fig5.consistent": found}


def draw(data, scale):
    from repro.verdicts import drawing

    figure, axes = drawing.panels(2)
    left, right = axes[0]
    _pretraining.draw_curves(left, data, METRIC)
    left.set_ylabel(f"word-level perplexity, {split(data)} split")
    found = comparison(data)
    right.plot(found.index, found.where(np.isfinite(found)), "-", lw=0.8, color="0.7", zorder=1)
    means = [t_interval(row) for row in found.to_numpy() if np.isfinite(row).all()]
    drawing.bars(
        right, found.index[: len(means)], means, fmt="o-", color="black", label="mean, 95 %"
    )
    right.plot([], [], "-", lw=0.8, color="0.7", label="a seed")
    right.axhline(1, ls="--", color=drawing.PAPER, lw=1, zorder=0, label="the paper: below 1")
    drawing.legend_above(right, 3)
    drawing.plain_ticks(right.xaxis)
    right.set_xlabel("tokens")
    right.set_ylabel(r"word-level perplexity, ratio $\sqrt{d}$ over ratio 1")
    return figure


FIGURE = Figure(
    title="Figure 5. Word-level perplexity of the test split along pretraining",
    outcome=(
        "Ratio sqrt(d) is better than ratio 1 at a share of {fig5.consistent} of all evaluations"
    ),
    caption=(
        "Word-level perplexity of the test split of WikiText-2, or of the generated text in its "
        "place (last line): negative log-likelihood of all tokens, in a sliding window, over the "
        "number of words. Figure 4a's runs, by ratio of the embedding's learning rate to the rest. "
        "Left: geometric mean and range (band) over seeds. Right: the one over the other, a thin "
        "line a seed, and mean and 95 % interval (Hayou & Liu, Figure 5)."
    ),
    studies=(STUDY,),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
