"""Theorem 1's mechanism in the decoder: one sign step on the real loss, against width."""

from typing import Any

import numpy as np

from repro.theory import sign_sgd
from repro.verdicts import widths
from repro.verdicts.answers import (
    TOLERANCE,
    TRAINING,
    Condition,
    Prediction,
    Reading,
    Test,
    trained_scales,
    within,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.noise import Design
from repro.verdicts.power import Laws
from repro.verdicts.printed import numbers
from repro.verdicts.run_sweeps import gathered
from studies.embedding_lr.decoder_step import STAGES

STUDIES = tuple(f"embedding_lr/decoder_step/{stage}" for stage in STAGES)
WIDTH, VOCABULARY, INIT, NORM = "model.width", "data.vocab_size", "init.embedding", "model.norm"
SMALL_INIT, UNIT_INIT = "LVP", "SP"  # standard deviations d^-1/2 and 1
SMALL = 32  # the vocabulary that does not
EIGHT = "8d"  # the vocabulary that grows with the width
CHANGE, ALONG = "change", "along_residual"
STEP = {
    "smoke": 512,
    "reduced": 4096,
    "workstation": 4096,
    "paper": 4096,
}  # the large vocabulary of a scale
NO_RIVAL = "a round figure; the rival, a vocabulary without effect, is 1/2 away"


def not_below(data: Data, scale: str) -> str:
    """That the small vocabulary is not below every width."""
    narrowest = data.loc[data[VOCABULARY] == SMALL, WIDTH].min()
    return f"m = {SMALL} at d = {narrowest}" if narrowest <= SMALL else ""


BELOW_WIDTH = Condition("a vocabulary below the width (Theorem 2)", not_below)


def of_theorem(name, column, quantity, value, tolerance, why=NO_RIVAL, smallest="reduced"):
    return Test(
        id=f"mechanism.{name}",
        kind=TRAINING,
        statement="small-vocabulary" if value == 0 else "ratio",
        column=column,
        quantity=f"exponent of d in the ratio eta_E / eta_W that balances both changes, {quantity}",
        expected=trained_scales(within(value, tolerance, TOLERANCE, why), smallest),
        conditions=(BELOW_WIDTH,) if value == 0 else (),
    )


ANSWERS = (
    of_theorem(
        "ratio",
        "decoder, m = 8d",
        "m = 8d, embedding std d^-1/2",
        0.5,
        0.1,
    ),
    of_theorem(
        "ratio-one-vocabulary",
        "decoder, one large vocabulary",
        "m = 4096, embedding std d^-1/2",
        0.5,
        0.1,
    ),
    of_theorem(
        "ratio-unit-init",
        "decoder, m = 8d, std 1",
        "m = 8d, embedding std 1",
        1,
        0.1,
        smallest="paper",
    ),
    of_theorem(
        "ratio-pre-norm",
        "decoder, m = 8d, pre-LN",
        "m = 8d, embedding std d^-1/2, pre-LN",
        0.5,
        0.1,
    ),
    of_theorem(
        "mup-regime",
        "decoder, m = 32",
        "m = 32, embedding std d^-1/2",
        0,
        0.25,
        "half way to the 1/2 of a large vocabulary",
    ),
    Reading(
        id="mechanism.along-residual",
        words="exponent of d in the ratio eta_E / eta_W that balances both, along the residual, "
        "m = 8d, embedding std d^-1/2",
        beside="1/2 if the theorem's change were what trains",
    ),
)
# Test -> the rows it is about: vocabulary, embedding's init, norm.
ABOUT = {
    "mechanism.ratio": (EIGHT, SMALL_INIT, "post"),
    "mechanism.ratio-one-vocabulary": (None, SMALL_INIT, "post"),
    "mechanism.ratio-unit-init": (EIGHT, UNIT_INIT, "post"),
    "mechanism.ratio-pre-norm": (EIGHT, SMALL_INIT, "pre"),
    "mechanism.mup-regime": (SMALL, SMALL_INIT, "post"),
}
THEOREM, NO_VOCABULARY = "Theorem 2", "vocabulary without effect"
LAWS = {
    **{name: Laws(THEOREM, (NO_VOCABULARY,)) for name in ABOUT if name != "mechanism.mup-regime"},
    "mechanism.mup-regime": Laws(THEOREM, ("large vocabulary at every m",)),
}


def reduce(runs: Runs) -> Data:
    return gathered(runs, lambda name: {})


def rows_of(data: Data, vocabulary, init, norm):
    """Whether a row has this vocabulary (EIGHT: 8 per unit of width), init and norm."""
    size = 8 * data[WIDTH] if vocabulary == EIGHT else vocabulary
    return (data[VOCABULARY] == size) & (data[INIT] == init) & (data[NORM] == norm)


def chosen(data: Data, vocabulary, init, norm):
    """These rows."""
    return data[rows_of(data, vocabulary, init, norm)]


def log_ratios(rows, metric):
    """Width -> log of the ratio of rates that balances both layers, by seed."""
    import pandas as pd

    logs = np.log(rows.pivot(index=["seed", WIDTH], columns="layer", values=metric))
    ratio = pd.Series(logs["output"] - logs["embedding"])
    by_width = ratio.groupby(level=WIDTH)
    return {int(d): each.droplevel(WIDTH).to_dict() for d, each in by_width}


def exponent(rows, metric, detail=""):
    """Exponent of d in the ratio of rates that balances both layers."""
    return widths.exponent(log_ratios(rows, metric), detail)


def about(claim_id, scale: str):
    vocabulary, init, norm = ABOUT[claim_id]
    return STEP[scale] if vocabulary is None else vocabulary, init, norm


def measure(data: Data, scale: str) -> Measured:
    found = {}
    for name in ABOUT:
        rows = chosen(data, *about(name, scale))
        if rows.empty:  # smoke has one norm
            rows = chosen(data, *about("mechanism.ratio", scale))
        along = exponent(rows, ALONG).value
        found[name] = exponent(rows, CHANGE, f"along the residual {along:.2f}")
    rows = chosen(data, *about("mechanism.ratio", scale))
    return found | {"mechanism.along-residual": exponent(rows, ALONG)}


def predict(data: Data, scale: str) -> dict[str, Prediction]:
    """Theorem 1's ratio at the widths and vocabularies of the rows, between that over the text and
    that for the most frequent token; the limit is Theorem 2's."""
    found = {}
    for name, (vocabulary, init, _) in ABOUT.items():
        sizes = chosen(data, *about(name, scale))[[WIDTH, VOCABULARY]].drop_duplicates()
        if sizes.empty:  # smoke has one norm
            continue
        ends = [
            sign_sgd.ratio_slope(*sizes.to_numpy().T, rank=rank) + spread(init)
            for rank in (None, 0)
        ]
        limit = (vocabulary != SMALL) / 2 + spread(init)
        found[name] = Prediction(min(ends), max(ends), limit, "Theorem 1")
    return found


def spread(init: str) -> float:
    """Exponent of d in sigma_E / sigma_W."""
    return 0.5 if init == UNIT_INIT else 0.0


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Every claim's rows with the exponent that a law says, by moving the output's changes. The
    theorem's is for the most frequent token at the recorded sizes, a large vocabulary's at m = 8d,
    and without an effect of the vocabulary both layers change alike."""
    design = Design(recorded, [CHANGE], ["layer", WIDTH, VOCABULARY, INIT, NORM])
    for name in ABOUT:
        _, init, _ = ABOUT[name]
        rows = chosen(recorded, *about(name, scale))
        d, m = rows[[WIDTH, VOCABULARY]].drop_duplicates().to_numpy().T
        wanted = spread(init)
        if law != NO_VOCABULARY:
            wanted += sign_sgd.ratio_slope(d, m if law == THEOREM else 8 * d, rank=0)
        by = wanted - exponent(rows, CHANGE).value
        output = (recorded["layer"] == "output").to_numpy() & recorded.index.isin(rows.index)
        design.mean[output, 0] += by * np.log(recorded[WIDTH].to_numpy()[output])
    return design.draw(rng)


def vocabularies(data: Data):
    """The vocabularies that stand beside every width, and EIGHT."""
    widths = set(data[WIDTH])
    sizes = data.groupby(VOCABULARY)[WIDTH].agg(set)
    return [*(int(m) for m in sizes.index if sizes[m] == widths), EIGHT]


def draw_changes(axes, data: Data):
    from repro.verdicts import drawing

    rows = chosen(data, EIGHT, SMALL_INIT, "post")
    for layer, color, power in (("embedding", drawing.COLORS[2], 0.5), ("output", "black", 1.0)):
        its = rows[rows["layer"] == layer]
        means = its.groupby(WIDTH)[CHANGE].mean()
        name = {"embedding": "E", "output": "W"}[layer]
        shown = {"marker": "o", "label": rf"$\delta_{name}$"}
        drawing.band(axes, its[WIDTH], its[CHANGE], color, **shown)
        law = f"Theorem 2: $d^{{{power:g}}}$"
        drawing.guides(axes, means.index.to_numpy(), means.iloc[0], {law: power}, law)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("width $d$")
    axes.set_ylabel("change of a logit at rate 1, std $d^{-1/2}$")
    axes.legend(fontsize=7)


def draw_exponents(axes, data: Data, metric, title, scale: str):
    """Exponents by vocabulary; of the whole change, beside what the paper prints for a claim."""
    from repro.verdicts import drawing

    names = vocabularies(data)
    for value in (0, 0.5, 1):
        axes.axhline(value, color="0.8", lw=1, zorder=0)
    kinds = [(init, norm) for init in (SMALL_INIT, UNIT_INIT) for norm in ("post", "pre")]
    for offset, (init, norm) in zip((-0.15, -0.05, 0.05, 0.15), kinds, strict=True):
        color = drawing.COLORS[(SMALL_INIT, UNIT_INIT).index(init)]
        label = f"std {'$d^{-1/2}$' if init == SMALL_INIT else '1'}, {norm}-LN"
        for place, vocabulary in enumerate(names):
            rows = chosen(data, vocabulary, init, norm)
            if rows.empty:
                continue
            style: dict[str, Any] = {"mfc": color if norm == "post" else "white", "color": color}
            found = exponent(rows, metric)
            bar = found.value, found.low, found.high
            words = label if place == 0 else None
            drawing.bars(axes, [place + offset], [bar], label=words, **style)
            for name in ABOUT:
                if metric == CHANGE and about(name, scale) == (vocabulary, init, norm):
                    (value,) = numbers("embedding_lr", name)
                    drawing.printed(axes, [place + offset - 0.12, place + offset + 0.12], value)
    if metric == CHANGE:
        axes.plot([], [], "--", lw=1, color=drawing.PAPER, label="the paper, where claimed")
    axes.set_xticks(range(len(names)), [f"m = {name}" for name in names])
    axes.set_ylabel(r"exponent of $d$ in the balancing $\eta_E / \eta_W$")
    axes.set_title(title, fontsize=9)
    drawing.legend_above(axes, 2)


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, axes = drawing.panels(3)
    axes[0, 2].sharey(axes[0, 1])
    draw_changes(axes[0, 0], data)
    draw_exponents(axes[0, 1], data, CHANGE, "all of the change", scale)
    draw_exponents(axes[0, 2], data, ALONG, "along the residual", scale)
    return figure


FIGURE = Figure(
    title="Mechanism. One sign step of an untrained decoder: what balances embedding and output",
    outcome=(
        "The ratio of rates that balances embedding and output goes as d^{mechanism.ratio}; with "
        "a small vocabulary as d^{mechanism.mup-regime}"
    ),
    caption=(
        "Left: root mean square change of the logits at a learning rate of 1, by a step of the "
        "embedding and one of the output, m = 8d; guides: Theorem 2's powers of d where what the "
        "layers read has order one, as behind a LayerNorm. Middle: exponent of the width in the "
        "ratio eta_E / eta_W for which both change the logits equally, by vocabulary; grey lines: "
        "0, 1/2 and 1, dashed: what the paper says of it. Right: the same where only the part "
        "along the residual counts, by which the loss falls. Bars: 95 % interval over seeds; "
        "filled: LayerNorm after the sum, open: before the layer (Hayou & Liu, Section 3)."
    ),
    studies=STUDIES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    predict=predict,
    draw=draw,
    simulate=simulate,
)
