"""Figure 5: word-level perplexity of a test split, the paper's WikiText, along pretraining."""

from dataclasses import replace

from figures.embedding_lr import _pretraining
from figures.embedding_lr._pretraining import LONG, OVER_ONE, WORST, simulate
from repro.verdicts.answers import STATED, TRAINING, Measurement, Test, below, trained_scales
from repro.verdicts.figure import Data, Drawn, Figure, Measured, Runs
from repro.verdicts.intervals import joined
from repro.verdicts.power import SIGN

METRIC = "word_perplexity"
COLUMN = "test split, by words"
ANSWERS = (
    Test(
        id="fig5.sqrt-d-better",
        kind=TRAINING,
        statement="better",
        column=COLUMN,
        quantity=f"final word-level perplexity, {OVER_ONE}",
        expected=trained_scales(below(1, STATED)),
    ),
    Test(
        id="fig5.consistent",
        kind=TRAINING,
        statement="faster",
        column=COLUMN,
        quantity=f"word-level perplexity {WORST}, {OVER_ONE}",
        # At the default scale the first evaluation, of a tenth of a training, takes more seeds.
        expected={"paper": below(1, STATED)},
    ),
)
LAWS = dict.fromkeys(("fig5.sqrt-d-better", "fig5.consistent"), SIGN)


def reduce(runs: Runs) -> Data:
    return runs[LONG]


def split(data: Data):
    """Which part of the text was evaluated."""
    return data["words_split"].iloc[0]


def measure(data: Data, scale: str) -> Measured:
    other = split(data) != "test"
    problem = f"the text has no test split, measured on {split(data)}" if other else ""

    def told(found: Measurement) -> Measurement:
        return replace(found, problem=joined(found.problem, problem))

    found = _pretraining.logs(data, METRIC)
    return {
        "fig5.sqrt-d-better": told(_pretraining.at_end(found)),
        "fig5.consistent": told(_pretraining.throughout(found)),
    }


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, axes = drawing.panels(2)
    _pretraining.draw_curves(axes[0, 0], data, METRIC)
    axes[0, 0].set_ylabel(f"word-level perplexity, {split(data)} split")
    _pretraining.draw_apart(axes[0, 1], data, METRIC, "word-level perplexity")
    return figure


FIGURE = Figure(
    title="Figure 5. Word-level perplexity of the test split along pretraining",
    outcome=(
        "Ratio sqrt(d) ends at {fig5.sqrt-d-better} times ratio 1's word-level perplexity, and is "
        "at {fig5.consistent} where it is worst"
    ),
    caption=(
        "Word-level perplexity of the test split of WikiText-2, or of the generated text in its "
        "place (last line): negative log-likelihood of all tokens, in a sliding window, over the "
        "number of words. Figure 4a's runs, by ratio of the embedding's learning rate to the rest. "
        "Left: the largest width, geometric mean and range (band) over seeds. Right: the one over "
        "the other, geometric mean over widths, a thin line a seed, and mean and 95 % interval "
        "(Hayou & Liu, Figure 5)."
    ),
    studies=(LONG,),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
