"""Figure 3: the optimal embedding learning rate where the vocabulary grows with width."""

import math

import numpy as np

from figures.embedding_lr import _laws, _rules, _sweep
from repro.judge.claims import (
    CONTROL,
    TOLERANCE,
    TRAINING,
    Claim,
    above,
    exact,
    over_seeds,
    reported,
    trained_scales,
    within,
)
from repro.judge.figure import Figure
from repro.judge.intervals import joined
from repro.judge.power import Laws
from repro.judge.sweep import gathered
from repro.suite.study import OVERNIGHT

MAIN = "embedding_lr/width_and_vocabulary"
UNIT = "embedding_lr/unit_init/embedding_alone"
POSITIONS = "embedding_lr/unit_init/with_positions"
AS_PRINTED = "embedding_lr/as_printed"
TUNING = "embedding_lr/tuning"
STUDIES = (MAIN, UNIT, POSITIONS, AS_PRINTED, TUNING)
ETA_W = 0.2  # eta_H = eta_W = ETA_W / d
CLAIMS = (
    *_rules.claims("fig3", "m = 8d", tuned_apart=True),
    Claim(
        id="fig3.sqrt-d-rule-as-printed",
        kind=TRAINING,
        statement="The optimal embedding learning rate falls with width as d^-1/2, in the network "
        "as the paper prints it, without LayerNorm",
        source="Figure 3; Section 4.1; equation 1",
        quantity="slope of log eta_E* against log d, m = 8d, no LayerNorm",
        expected=dict.fromkeys((OVERNIGHT, "paper"), within(-0.5, 0.25, TOLERANCE, _laws.HALF_WAY)),
    ),
    Claim(
        id="fig3.near-optimal",
        kind=TRAINING,
        statement="Carried by the sqrt(d) rule, the tuned rate gives near-optimal loss",
        source="Section 4.1",
        quantity="training loss at the largest width over that at its own best rate, minus 1",
        expected=trained_scales(reported("no bound: the paper calls losses within 20 % near")),
    ),
    Claim(
        id="fig3.rule-of-thumb",
        kind=TRAINING,
        statement="The optimal ratio of the embedding's rate to the others' is sqrt(d)",
        source="Section 4",
        quantity="eta_E* / (eta_W sqrt(d)), geometric mean over widths",
        expected=trained_scales(reported("no bound: 1 by the rule of thumb")),
    ),
    Claim(
        id="fig3.unit-init",
        kind=TRAINING,
        statement="With embeddings of standard deviation 1 the optimal rate is the same at every "
        "width",
        source="Section 3.1, interpolation: eta_E / eta_W = Theta(sigma_E / sigma_W sqrt(d))",
        quantity="slope of log eta_E* against log d, m = 8d, embedding std 1",
        expected=trained_scales(
            within(
                0,
                0.2,
                TOLERANCE,
                "a round figure below half way to -1/2, the slope if init had no effect",
            )
        ),
    ),
    Claim(
        id="fig3.best-init",
        kind=TRAINING,
        statement="Embeddings drawn with standard deviation d^-1/2 train better than with 1",
        source="Section 3.1, interpolation; Section 2",
        quantity="lowest training loss with standard deviation 1 minus with d^-1/2, positions "
        "alike, nats, the smallest over widths",
        expected=trained_scales(above(0)),
    ),
    Claim(
        id="fig3.control-positions",
        kind=CONTROL,
        statement="Control, ours: embeddings and positions of standard deviation 1",
        source="suite",
        quantity="slope of log eta_E* against log d, m = 8d, embedding and positions of std 1",
        expected=trained_scales(reported("no bound: the positions kept their size above")),
    ),
)
LAWS = {
    **_rules.laws("fig3", tuned_apart=True),
    "fig3.sqrt-d-rule-as-printed": _laws.FALLS,
    "fig3.unit-init": Laws("sqrt(d) rule", ("init without effect", "SP")),
    "fig3.best-init": Laws("sqrt(d) rule", ("init without effect",)),
}
# Law -> exponents of d with embeddings of standard deviation d^-1/2 and 1.
UNIT_SLOPES = {"sqrt(d) rule": 0.0, "init without effect": -0.5, "SP": -1.0}


def reduce(runs):
    columns = runs[STUDIES[0]].columns.drop("step")

    def label(name):
        return {"study": short(str(name.at_round(0)))}

    return gathered(runs, label, last=True)[[*columns, "study"]]


def short(study):
    """A study's name in the table."""
    return study.split("/", 1)[1]


def part(data, study):
    """The rows of one study, without the columns that only describe it."""
    rows = data[data["study"] == short(study)]
    return rows[[_sweep.WIDTH, _sweep.LR, "seed", "train_loss"]]


def sweep_of(data, study):
    """A study's sweep; None at a scale that does not run it."""
    rows = part(data, study)
    return _sweep.sweeps(rows) if len(rows) else None


def slope_of(sweep, window):
    """As `_sweep.slope_measurement`, of a sweep that a scale may leave out."""
    return _sweep.slope_measurement(sweep, window) if sweep else nothing()


def nothing():
    """Of a sweep that a scale leaves out."""
    return exact(math.nan, 0, "it is not run at this scale")


def measure(data, scale):
    window = _sweep.WINDOW[scale]
    main, unit, positions, printed, tuning = (sweep_of(data, study) for study in STUDIES)

    def above_tuned(sweep, sample, window):
        carried = _rules.transferred(sweep, _rules.POWERS["sqrt(d)"], *sample)
        return carried / _rules.tuned(sweep, [max(sweep)], *sample) - 1

    def ratio(sweep, sample, window):
        found = _sweep.optima(sweep, sample, window)
        logs = [o.log2 - np.log2(ETA_W / d) - 0.5 * np.log2(d) for d, o in found.items()]
        return 2 ** float(np.mean(logs))

    return {
        **_rules.measure("fig3", main, scale, tuning),
        "fig3.sqrt-d-rule-as-printed": slope_of(printed, window),
        "fig3.near-optimal": _sweep.measured(main, above_tuned, window),
        "fig3.rule-of-thumb": _sweep.measured(main, ratio, window),
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
    main = part(recorded, MAIN)
    slopes_of = {MAIN: _laws.SLOPES, UNIT: UNIT_SLOPES} | dict.fromkeys(
        (AS_PRINTED, TUNING), _laws.SLOPES
    )
    for study, slopes in slopes_of.items():
        power = slopes.get(law, 0.0 if study == UNIT else -0.5)
        rows = part(recorded, study)
        if rows.empty:
            continue
        if (study, law) == (UNIT, "init without effect"):
            seeds = unit.seeds
            gained = {d: lowest(unit, d, seeds) - lowest(small, d, seeds) for d in unit}
            rows["train_loss"] -= rows[_sweep.WIDTH].map(gained)
        beside = main if study == TUNING else None
        rng = np.random.default_rng([drawn_with, int(study == TUNING)])  # seeds of its own
        moved = _laws.simulate_sweep(power, rows, scale, rng, beside)
        drawn.loc[rows.index, "train_loss"] = moved["train_loss"]
    return drawn


def draw(data, scale):
    from repro.judge import drawing

    window = _sweep.WINDOW[scale]
    reached = data.groupby([_sweep.WIDTH, "study"])["vocab_reached"].max()
    figure = _rules.draw(
        sweep_of(data, MAIN),
        scale,
        lambda width: f"d = {width}, m = {reached[width, short(MAIN)]}",
        "std $d^{-1/2}$",
        sweep_of(data, TUNING),
    )
    shown = (
        (UNIT, "std 1", drawing.COLORS[3], "s"),
        (POSITIONS, "std 1, positions too", drawing.COLORS[4], "^"),
        (AS_PRINTED, "no LayerNorm, as printed", drawing.COLORS[5], "v"),
    )
    for study, label, color, marker in shown:
        if sweep_of(data, study) is None:
            continue
        _sweep.draw_optima(figure.axes[1], sweep_of(data, study), window, label, color, marker)
    return figure


FIGURE = Figure(
    title="Figure 3. Optimal embedding learning rate against width, vocabulary m = 8d",
    outcome="With m = 8d the best embedding rate goes as width^{fig3.sqrt-d-rule}",
    caption=(
        "Top left: training loss against the embedding learning rate, mean and range (band) over "
        "seeds; thick: rates of near-best loss (edge, beside it: it meets the grid's end). Top "
        "right: its optimum against width. Dots: vertex of a parabola through the rates within two "
        "octaves of the best, bars: 95 % interval over seeds; diamonds, and the dots at paper "
        "scale: the paper's rule, geometric mean of the grid's rates within 20 %; dashed, from the "
        "first dot: the sqrt(d) rule, muP's constant, SP's 1/d. Coloured: embeddings of std 1, for "
        "which the paper's formula says slope 0, and the network as printed. Bottom left: the "
        "slope by every estimator, black the one whose value counts, and of the last octave of "
        "width, with 95 % intervals; shaded, and in brackets: the interval that is judged, which "
        "spans those of all estimators where two differ by more than one. Bottom right: what each "
        "rule costs where its constant is tuned once (overnight on seeds of its own), with 95 % "
        "intervals (Hayou & Liu, Figure 3; Section 3.1)."
    ),
    studies=STUDIES,
    claims=CLAIMS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
