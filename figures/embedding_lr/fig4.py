"""Figure 4: pretraining perplexity at embedding learning rates of 1 to 4 sqrt(d) times the rest."""

import numpy as np

from figures.embedding_lr import _pretraining
from figures.embedding_lr._pretraining import BASELINE, RULE, TWICE
from repro.statistics import t_interval
from repro.verdicts.answers import (
    STATED,
    TOLERANCE,
    TRAINING,
    Reading,
    Test,
    above,
    below,
    within,
)
from repro.verdicts.figure import Figure
from repro.verdicts.noise import Design
from repro.verdicts.power import SIGN, Laws
from repro.verdicts.run_sweeps import gathered

LONG, SHORT = "embedding_lr/pretraining", "embedding_lr/pretraining_ratios"
STUDIES = (LONG, SHORT)
METRIC = "train_perplexity"
ANSWERS = (
    Test(
        id="fig4.sqrt-d-better",
        kind=TRAINING,
        statement="better",
        column="pretrained decoder",
        quantity="final training perplexity, ratio sqrt(d) over ratio 1",
        expected={"paper": below(1, STATED)},
    ),
    Test(
        id="fig4.faster-throughout",
        kind=TRAINING,
        statement="faster",
        column="pretrained decoder",
        quantity="share of evaluations where training perplexity at sqrt(d) is below that at 1",
        expected={"paper": above(0.9, TOLERANCE, _pretraining.THROUGHOUT)},
    ),
    Test(
        id="fig4.flat-above",
        kind=TRAINING,
        statement="flat-above",
        column="pretrained decoder",
        quantity="final training perplexity, ratio 2 sqrt(d) over ratio sqrt(d)",
        expected={
            "paper": within(
                1,
                0.02,
                TOLERANCE,
                "'only marginal benefits' read as 2 %; set before any record, for paper scale",
            )
        },
    ),
    Reading(
        id="fig4.near-optimal",
        words="final training perplexity, ratio sqrt(d) over the best ratio's",
        beside="the paper states none",
    ),
)
MARGINAL, GOES_ON = "1 % from sqrt(d) on", "an octave gains as below sqrt(d)"
HALF = (0.5, 0.5)
LAWS = {
    "fig4.sqrt-d-better": SIGN,
    "fig4.faster-throughout": SIGN,
    "fig4.flat-above": Laws(MARGINAL, (GOES_ON,)),
}


def reduce(runs):
    return gathered(runs, lambda name: {"study": short_name(name.module)})


def short_name(study):
    """A study's name in the table."""
    return study.split("/")[1]


def part(data, study):
    return data[data["study"] == short_name(study)]


def better(data):
    """Whether the rule's training perplexity is the lower one, a row per evaluation, a column per
    seed."""
    ours, theirs = (_pretraining.by_seed(data, each, METRIC) for each in (RULE, BASELINE))
    return ours < theirs


def validation(data, ratio, other):
    ends = _pretraining.ends(data, "valid_perplexity")
    found = _pretraining.comparison(ends, ratio, other, [*ends[ratio].index])
    return f"{found:.4g} in validation perplexity"


def measure(data, scale):
    long, short = part(data, LONG), part(data, SHORT)
    long_ends, short_ends = (_pretraining.ends(rows, METRIC) for rows in (long, short))

    def of_short(ratio, other):
        return lambda seeds: _pretraining.comparison(short_ends, ratio, other, seeds)

    # The lowest ratio is each seed's own, so chance makes it low and the rule look worse.
    def over_best(seeds):
        """Perplexity of the rule over the lowest of all ratios, both means over the seeds."""
        return max(of_short(RULE, other)(seeds) for other in short_ends)

    seeds = short["seed"].unique()
    against = ", ".join(
        f"{ratio[0]:g} d^{ratio[1]:g}: {of_short(ratio, RULE)(seeds):.4g}" for ratio in short_ends
    )
    return {
        "fig4.sqrt-d-better": _pretraining.measured(
            long,
            lambda seeds: _pretraining.comparison(long_ends, RULE, BASELINE, seeds),
            validation(long, RULE, BASELINE),
        ),
        "fig4.faster-throughout": _pretraining.share(long, better(long)),
        "fig4.flat-above": _pretraining.measured(
            _pretraining.of(short, TWICE), of_short(TWICE, RULE), validation(short, TWICE, RULE)
        ),
        "fig4.near-optimal": _pretraining.measured(
            short, over_best, f"perplexity over that at sqrt(d), by ratio: {against}"
        ),
    }


def simulate(law, recorded, scale, rng):
    """Of (a) and (b), each law changes the one that its claims are about."""
    drawn = recorded.copy()
    if law in SIGN.names:
        rows = part(recorded, LONG)
        drawn.loc[rows.index] = _pretraining.simulate(law, rows, scale, rng)
        return drawn
    rows = part(recorded, SHORT)
    keys = [_pretraining.FACTOR, _pretraining.POWER]
    design = Design(rows, [METRIC], [*keys, "step"])
    half, rule, twice = (
        design.rows(**dict(zip(keys, ratio, strict=True))) for ratio in (HALF, RULE, TWICE)
    )
    step = rows["step"].to_numpy()
    at_half, at_rule = ({step[row]: design.mean[row] for row in its} for its in (half, rule))
    for row in twice:
        gain = at_rule[step[row]] - at_half[step[row]]
        design.mean[row] = at_rule[step[row]] + (np.log(0.99) if law == MARGINAL else gain)
    drawn.loc[rows.index] = design.draw(rng)
    return drawn


def draw_ends(axes, data):
    """Last perplexity over that at sqrt(d), paired over seeds, against the ratio."""
    from repro.verdicts.drawing import PAPER, bars, log2_axis

    shown = _pretraining.ratios(data)
    x = np.array([_pretraining.of(data, ratio)["ratio"].iloc[0] for ratio in shown])
    for metric, marker, line, words, beside in (
        (METRIC, "o", "-", "training", 0.97),
        ("valid_perplexity", "s", "--", "validation", 1.03),
    ):
        ends = _pretraining.ends(data, metric)
        over_rule = [
            np.exp(each - ends[RULE][each.index]).to_numpy() for each in map(ends.get, shown)
        ]
        found = [t_interval(np.where(np.isfinite(v), v, np.nan)) for v in over_rule]
        axes.plot(beside * x, [mean for mean, *_ in found], line, lw=1, color="0.5", zorder=1)
        for place, ratio, interval in zip(beside * x, shown, found, strict=True):
            bars(axes, [place], [interval], fmt=marker, color=_pretraining.color(ratio))
        axes.plot([], [], marker + line, ms=4, lw=1, color="0.5", label=words)
    axes.axhline(1, color="0.8", lw=1, zorder=0)
    at = x[shown.index(RULE)]
    axes.axvline(at, ls="--", lw=1, color=PAPER, zorder=0, label=r"the paper's, $\sqrt{d}$")
    axes.set_xscale("log", base=2)
    log2_axis(axes.xaxis)
    axes.set_xlabel(r"$\eta_\mathrm{emb}/\eta$")
    axes.set_ylabel(r"final perplexity, over that at $\sqrt{d}$")
    axes.legend(fontsize=7)


def draw(data, scale):
    from repro.verdicts import drawing

    figure, axes = drawing.panels(3, width=4.0)
    left, middle, right = axes[0]
    long, short = part(data, LONG), part(data, SHORT)
    _pretraining.draw_curves(left, long, METRIC)
    left.set_ylabel("training perplexity")
    left.set_title("(a)", fontsize=9, loc="left")
    _pretraining.draw_curves(middle, short, METRIC)
    middle.set_ylabel("training perplexity")
    middle.set_title("(b)", fontsize=9, loc="left")
    draw_ends(right, short)
    right.set_title("(b), at its end", fontsize=9, loc="left")
    return figure


FIGURE = Figure(
    title="Figure 4. Pretraining perplexity by ratio of the embedding's learning rate to the rest",
    outcome="Ratio sqrt(d) ends at {fig4.sqrt-d-better} times ratio 1's training perplexity",
    caption=(
        "Training perplexity against tokens by ratio of the embedding's learning rate to the rest: "
        "(a) 1 and sqrt(d); (b) ratios around sqrt(d) on fewer tokens, and at their end. Lines: "
        "geometric mean over seeds; bands: range over seeds. Right: perplexity over that at "
        "sqrt(d) of the same seed, mean and 95 % interval. At paper scale the decoder of Table 3, "
        "below it a smaller one of its kind (Hayou & Liu, Figure 4)."
    ),
    studies=STUDIES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
