"""Figure 3: the optimal embedding learning rate where the vocabulary grows with width."""

import math
from dataclasses import replace

import numpy as np

from figures.embedding_lr import _laws, _rules, _sweep
from repro.core.study import GPU_SCALES, OVERNIGHT
from repro.verdicts.answers import (
    TOLERANCE,
    TRAINING,
    Reading,
    Test,
    above,
    exact,
    within,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.run_sweeps import gathered

MAIN = "embedding_lr/width_and_vocabulary"
AS_PRINTED = "embedding_lr/as_printed"
TUNING = "embedding_lr/tuning"
# At the default scale the network as printed, a stage a width.
PRINTED = tuple(f"embedding_lr/figure3/{width}" for width in ("narrow", "middle", "wide"))
PRINTED_TUNING = "embedding_lr/figure3/tuning"
FALLS = ("fig3.sqrt-d-rule", "fig3.sqrt-d-rule-as-printed")
STUDIES = (MAIN, AS_PRINTED, TUNING, *PRINTED, PRINTED_TUNING)
ETA_W = 0.2  # eta_H = eta_W = ETA_W / d
TRAINED = ("reduced", OVERNIGHT, "paper")
RULES = _rules.paper_tests("fig3", "m = 8d", tuned_apart=True)
RULES_BY_ID = {rule.id: rule for rule in RULES}
# What rules cost in the network as printed at the default scale, and what is told of that there.
COSTS = (
    "fig3.one-constant-mup",
    "fig3.one-constant-sp",
    "fig3.transfer-mup",
    "fig3.transfer-sp",
)
TOLD = ("fig3.one-constant-sp", "fig3.transfer-sp")
ANSWERS = (
    *map(_rules.not_at_reduced, RULES),
    Test(
        id="fig3.sqrt-d-rule-as-printed",
        kind=TRAINING,
        statement="falls",
        column="m = 8d, as printed",
        quantity="slope of log eta_E* against log d, m = 8d, no LayerNorm",
        expected=dict.fromkeys(TRAINED, within(-0.5, 0.25, TOLERANCE, _laws.HALF_WAY)),
    ),
    *(
        replace(
            rule,
            id=f"{rule.id}-as-printed",
            column="than SP's, as printed",
            # Overnight its constant has no seeds of its own.
            expected={"reduced": above(0), OVERNIGHT: None},
        )
        for rule in map(RULES_BY_ID.__getitem__, TOLD)
    ),
    # muP's, which the paper names first, cannot be told at these seeds.
    *(
        Reading(
            id=f"{rule.id}-as-printed",
            words=rule.quantity,
            beside="above 0 in the paper",
            statement=rule.statement,
            column="than muP's, as printed",
        )
        for rule in map(RULES_BY_ID.__getitem__, COSTS)
        if rule.id not in TOLD
    ),
    Reading(
        id="fig3.near-optimal",
        words="training loss at the largest width over that at its own best rate, minus 1",
        beside="the paper calls losses within 20 % near",
    ),
    Reading(
        id="fig3.rule-of-thumb",
        words="eta_E* / (eta_W sqrt(d)), geometric mean over widths",
        beside="1 by the rule of thumb",
    ),
)
LAWS = {
    **_rules.laws("fig3", tuned_apart=True),
    "fig3.sqrt-d-rule-as-printed": _laws.FALLS,
    "fig3.one-constant-sp-as-printed": _laws.CHEAPER["SP"],
    "fig3.transfer-sp-as-printed": _laws.CHEAPER["SP"],
}


def reduce(runs: Runs) -> Data:
    columns = next(table for table in runs.values() if "step" in table).columns.drop("step")

    def label(name):
        return {"study": short(str(name.at_round(0)))}

    return gathered(runs, label, last=True)[[*columns, "study"]]


def short(study):
    """A study's name in the table."""
    return study.split("/", 1)[1]


def part(data: Data, *studies):
    """The rows of some studies, without the columns that only describe them."""
    rows = data[data["study"].isin([*map(short, studies)])]
    return rows[[_sweep.WIDTH, _sweep.LR, "seed", "train_loss"]]


def sweep_of(data: Data, *studies):
    """The sweep of a study, or of stages that have a width each; None at a scale without it."""
    rows = part(data, *studies)
    return _sweep.sweeps(rows) if len(rows) else None


def printed_of(data: Data, scale: str):
    """The sweep of the network as printed, and that which chooses its constant: the main one at
    scales for a GPU."""
    if scale in GPU_SCALES:
        return sweep_of(data, MAIN), None
    at_default = sweep_of(data, *PRINTED), sweep_of(data, PRINTED_TUNING)
    return at_default if at_default[0] else (sweep_of(data, AS_PRINTED), None)


def slope_of(sweep, window):
    """As `_sweep.slope_measurement`, of a sweep that a scale may leave out."""
    return _sweep.slope_measurement(sweep, window) if sweep else nothing()


def nothing():
    """Of a sweep that a scale leaves out."""
    return exact(math.nan, 0, "it is not run at this scale")


def measure(data: Data, scale: str) -> Measured:
    window = _sweep.WINDOW[scale]
    main, tuning = (sweep_of(data, study) for study in (MAIN, TUNING))
    printed, chosen_on = printed_of(data, scale)

    def above_tuned(sweep, sample, window):
        carried = _rules.transferred(sweep, _rules.POWERS["sqrt(d)"], *sample)
        return carried / _rules.tuned(sweep, [max(sweep)], *sample) - 1

    def ratio(sweep, sample, window):
        found = _sweep.optima(sweep, sample, window)
        logs = [o.log2 - np.log2(ETA_W / d) - 0.5 * np.log2(d) for d, o in found.items()]
        return 2 ** float(np.mean(logs))

    whole = main or _sweep.shared(printed)
    found = dict.fromkeys((claim.id for claim in RULES), nothing())
    if main:
        found = _rules.measure("fig3", main, scale, tuning)
    costs = dict.fromkeys((f"{name}-as-printed" for name in COSTS), nothing())
    if printed and scale not in GPU_SCALES:
        its = _rules.measure("fig3", _sweep.shared(printed), scale, chosen_on, inside=True)
        costs = {f"{name}-as-printed": its[name] for name in COSTS}
    return {
        **found,
        **costs,
        "fig3.sqrt-d-rule-as-printed": slope_of(printed, window),
        "fig3.near-optimal": _sweep.measured(whole, above_tuned, window),
        "fig3.rule-of-thumb": _sweep.measured(whole, ratio, window),
    }


def predict(data, scale):
    return dict.fromkeys(FALLS, _laws.predicted(data))


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """The seeds that choose what is carried choose on the narrowest width's curve where the law has
    it."""
    drawn = recorded.copy()
    rule = _laws.slopes(recorded)
    drawn_with = rng.integers(2**63)  # one for sweeps whose seeds are the same
    main, printed = part(recorded, MAIN), part(recorded, *PRINTED)
    for studies, beside in (
        ((MAIN,), None),
        ((AS_PRINTED,), None),
        ((TUNING,), main),
        (PRINTED, None),
        ((PRINTED_TUNING,), printed),
    ):
        rows = part(recorded, *studies)
        if rows.empty:
            continue
        rng = np.random.default_rng([int(drawn_with), int(beside is not None)])  # seeds of its own
        moved = _laws.simulate_sweep(rule[law], rows, scale, rng, beside)
        drawn.loc[rows.index, "train_loss"] = moved["train_loss"]
    return drawn


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    window = _sweep.WINDOW[scale]
    reached = data.groupby(_sweep.WIDTH)["vocab_reached"].max()
    main, tuning = sweep_of(data, MAIN), sweep_of(data, TUNING)
    printed, chosen_on = printed_of(data, scale)
    figure = _rules.draw(
        main or printed,
        scale,
        lambda width: f"d = {width}, m = {reached[width]}",
        _laws.predicted(data),
        "LayerNorm" if main and scale not in GPU_SCALES else "as printed",
        tuning if main else chosen_on,
    )
    if beside := sweep_of(data, AS_PRINTED):
        words = "no LayerNorm, as printed"
        _sweep.draw_optima(figure.axes[1], beside, window, words, drawing.COLORS[5], "v")
    return figure


def small(data: Data, scale: str) -> Drawn:
    """The optimum against width, of what the first claim judges."""
    return _rules.small(sweep_of(data, MAIN) or printed_of(data, scale)[0], scale)


FIGURE = Figure(
    title="Figure 3. Optimal embedding learning rate against width, vocabulary m = 8d",
    outcome="With m = 8d the best embedding rate goes as width^{fig3.sqrt-d-rule-as-printed}",
    caption=(
        "Top left: training loss against the embedding learning rate, mean and range (band) over "
        "seeds; thick: rates of near-best loss (edge, beside it: it meets the grid's end). Top "
        "right: its optimum against width. Dots: one fit to the mean curves of all widths, bars: "
        "95 % interval over seeds; diamonds, and the dots at paper scale: the paper's rule, "
        "geometric mean of the grid's rates within 20 %; dashed, from the first dot: the sqrt(d) "
        "rule, muP's constant, SP's 1/d. Bottom left: the slope by that fit, by other estimators, "
        "which judge nothing, and of the two largest widths, with 95 % intervals; shaded: the "
        "interval that is judged, and what Theorem 1 allows. Bottom right: what each rule costs "
        "where its constant is tuned "
        "once on seeds of its own, with 95 % intervals. At the default scale the network is as "
        "printed; overnight it has LayerNorm, with the network as printed in colour "
        "(Hayou & Liu, Figure 3)."
    ),
    studies=STUDIES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    predict=predict,
    draw=draw,
    small=small,
    simulate=simulate,
)
