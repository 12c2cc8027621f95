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
    over_seeds,
    within,
)
from repro.verdicts.figure import Figure
from repro.verdicts.intervals import joined
from repro.verdicts.power import Laws
from repro.verdicts.run_sweeps import gathered

MAIN = "embedding_lr/width_and_vocabulary"
UNIT = "embedding_lr/unit_init/embedding_alone"
POSITIONS = "embedding_lr/unit_init/with_positions"
AS_PRINTED = "embedding_lr/as_printed"
TUNING = "embedding_lr/tuning"
# At the default scale the network as printed, a stage a width.
PRINTED = tuple(f"embedding_lr/figure3/{width}" for width in ("narrow", "middle", "wide"))
PRINTED_TUNING = "embedding_lr/figure3/tuning"
STUDIES = (MAIN, UNIT, POSITIONS, AS_PRINTED, TUNING, *PRINTED, PRINTED_TUNING)
ETA_W = 0.2  # eta_H = eta_W = ETA_W / d
TRAINED = ("reduced", OVERNIGHT, "paper")
RULES = _rules.paper_tests("fig3", "m = 8d", tuned_apart=True)
RULES_BY_ID = {rule.id: rule for rule in RULES}
# What rules cost in the network as printed at the default scale, and what is told of that there.
COSTS = ("fig3.one-constant-sp", "fig3.transfer-mup", "fig3.transfer-sp")
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
    Reading(id="fig3.transfer-mup-as-printed", words=RULES_BY_ID["fig3.transfer-mup"].quantity),
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
    Test(
        id="fig3.unit-init",
        kind=TRAINING,
        statement="unit-init",
        column="m = 8d, LayerNorm",
        quantity="slope of log eta_E* against log d, m = 8d, embedding std 1",
        expected={
            "paper": within(
                0,
                0.2,
                TOLERANCE,
                "a round figure below half way to -1/2, the slope if init had no effect",
            )
        },
    ),
    Test(
        id="fig3.best-init",
        kind=TRAINING,
        statement="best-init",
        column="m = 8d, LayerNorm",
        quantity="lowest training loss with standard deviation 1 minus with d^-1/2, positions "
        "alike, nats, the smallest over widths",
        expected={
            "paper": above(0),
        },
    ),
    Reading(
        id="fig3.control-positions",
        words="slope of log eta_E* against log d, m = 8d, embedding and positions of std 1",
        beside="the positions kept their size above",
    ),
)
LAWS = {
    **_rules.laws("fig3", tuned_apart=True),
    "fig3.sqrt-d-rule-as-printed": _laws.FALLS,
    "fig3.one-constant-sp-as-printed": _laws.CHEAPER["SP"],
    "fig3.transfer-sp-as-printed": _laws.CHEAPER["SP"],
    "fig3.unit-init": Laws("sqrt(d) rule", ("init without effect", "SP")),
    "fig3.best-init": Laws("sqrt(d) rule", ("init without effect",)),
}
# Law -> exponents of d with embeddings of standard deviation d^-1/2 and 1.
UNIT_SLOPES = {"sqrt(d) rule": 0.0, "init without effect": -0.5, "SP": -1.0}


def reduce(runs):
    columns = next(table for table in runs.values() if "step" in table).columns.drop("step")

    def label(name):
        return {"study": short(str(name.at_round(0)))}

    return gathered(runs, label, last=True)[[*columns, "study"]]


def short(study):
    """A study's name in the table."""
    return study.split("/", 1)[1]


def part(data, *studies):
    """The rows of some studies, without the columns that only describe them."""
    rows = data[data["study"].isin([*map(short, studies)])]
    return rows[[_sweep.WIDTH, _sweep.LR, "seed", "train_loss"]]


def sweep_of(data, *studies):
    """The sweep of a study, or of stages that have a width each; None at a scale without it."""
    rows = part(data, *studies)
    return _sweep.sweeps(rows) if len(rows) else None


def printed_of(data, scale):
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


def measure(data, scale):
    window = _sweep.WINDOW[scale]
    main, unit, positions, tuning = (
        sweep_of(data, study) for study in (MAIN, UNIT, POSITIONS, TUNING)
    )
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
        "fig3.unit-init": slope_of(unit, window),
        "fig3.best-init": init_advantage(main, unit, window) if unit else nothing(),
        "fig3.control-positions": slope_of(positions, window),
    }


def init_advantage(small, unit, window):
    """Lowest loss of the sweep with embeddings of std 1 minus that with d^-1/2, the smallest over
    widths of every seed."""

    def gain(width, seeds):
        return lowest(unit, width, seeds) - lowest(small, width, seeds)

    words = ", ".join(f"d={d}: {gain(d, unit.seeds):.3f}" for d in unit)
    edges = (_sweep.edge_problem(_sweep.optima(s, s.seeds, window)) for s in (small, unit))
    return over_seeds(
        lambda seeds: min(gain(d, seeds) for d in unit), unit.seeds, joined(*edges), words
    )


def lowest(sweep, width, seeds):
    """The lowest loss over learning rates."""
    return float(sweep[width].mean(seeds).min())


def simulate(law, recorded, scale, rng):
    """Under `init without effect`, embeddings of either size also reach the same loss. The control,
    of which nothing is claimed, stays as it is. The seeds that choose what is carried choose on the
    narrowest width's curve where the law has it."""
    drawn = recorded.copy()
    small, unit = (sweep_of(recorded, study) for study in (MAIN, UNIT))
    drawn_with = rng.integers(2**63)  # one for both, whose seeds are the same
    main, printed = part(recorded, MAIN), part(recorded, *PRINTED)
    for studies, slopes, beside in (
        ((MAIN,), _laws.SLOPES, None),
        ((UNIT,), UNIT_SLOPES, None),
        ((AS_PRINTED,), _laws.SLOPES, None),
        ((TUNING,), _laws.SLOPES, main),
        (PRINTED, _laws.SLOPES, None),
        ((PRINTED_TUNING,), _laws.SLOPES, printed),
    ):
        power = slopes.get(law, 0.0 if studies == (UNIT,) else -0.5)
        rows = part(recorded, *studies)
        if rows.empty:
            continue
        if (studies, law) == ((UNIT,), "init without effect"):
            gained = {
                d: lowest(unit, d, each.seeds) - lowest(small, d, each.seeds)
                for d, each in unit.items()
            }
            rows["train_loss"] -= rows[_sweep.WIDTH].map(gained)
        rng = np.random.default_rng([drawn_with, int(beside is not None)])  # seeds of its own
        moved = _laws.simulate_sweep(power, rows, scale, rng, beside)
        drawn.loc[rows.index, "train_loss"] = moved["train_loss"]
    return drawn


def draw(data, scale):
    from repro.verdicts import drawing

    window = _sweep.WINDOW[scale]
    reached = data.groupby(_sweep.WIDTH)["vocab_reached"].max()
    main, tuning = sweep_of(data, MAIN), sweep_of(data, TUNING)
    printed, chosen_on = printed_of(data, scale)
    figure = _rules.draw(
        main or printed,
        scale,
        lambda width: f"d = {width}, m = {reached[width]}",
        "LayerNorm" if main and scale not in GPU_SCALES else "as printed",
        tuning if main else chosen_on,
    )
    shown = (
        (sweep_of(data, UNIT), "std 1", drawing.COLORS[3], "s"),
        (sweep_of(data, POSITIONS), "std 1, positions too", drawing.COLORS[4], "^"),
        (sweep_of(data, AS_PRINTED), "no LayerNorm, as printed", drawing.COLORS[5], "v"),
    )
    for sweep, label, color, marker in shown:
        if sweep:
            _sweep.draw_optima(figure.axes[1], sweep, window, label, color, marker)
    return figure


def small(data, scale):
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
        "interval that is judged. Bottom right: what each rule costs where its constant is tuned "
        "once on seeds of its own, with 95 % intervals. At the default scale the network is as "
        "printed; overnight it has LayerNorm, with the network as printed in colour "
        "(Hayou & Liu, Figure 3; Section 3.1)."
    ),
    studies=STUDIES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    small=small,
    simulate=simulate,
)
