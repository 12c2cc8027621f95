"""What a narrow decoder's rate costs beside Muon, by the rule of embedding and readout."""

from collections.abc import Sequence

import numpy as np

from figures.transfer import _drawing
from repro.verdicts.answers import (
    TRAINING,
    Measurement,
    Reading,
    Test,
    above,
    below,
    over_both,
    trained_scales,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.intervals import joined
from repro.verdicts.noise import Design
from repro.verdicts.optimum import cubic
from repro.verdicts.power import SIDES, SIGN
from repro.verdicts.run_sweeps import gathered, sweep_of
from studies.transfer.decoder_muon_rules import RULES
from widthwise.checks.sweep import Sweep

BOTH, EMBEDDING, READOUT = (f"muon_rules.{name}-costs" for name in ("both", "embedding", "readout"))
WIDTH, RATE = "model.width", "lr.hidden"
OF = {BOTH: "both", EMBEDDING: "embedding", READOUT: "readout"}
QUANTITY = (
    "loss at the narrow model's best rate under that rule minus under muP, largest width, nats"
)
ANSWERS = (
    Test(
        id=BOTH,
        kind=TRAINING,
        statement="muon-rest",
        column="decoder",
        quantity=QUANTITY,
        expected=trained_scales(above(0)),
    ),
    Test(
        id=EMBEDDING,
        kind=TRAINING,
        statement="muon-embedding",
        column="decoder",
        quantity=QUANTITY,
        expected=trained_scales(below(0))
        | {"reduced": None},  # ten seeds do not give a power of 0.9,
    ),
    Reading(
        id=READOUT,
        words=QUANTITY,
        beside="it says which of the two changes costs",
    ),
)
LAWS = {BOTH: SIGN, EMBEDDING: SIGN}
CLAIMED = {BOTH: 1, EMBEDDING: -1}  # the sign that is claimed


def rule_of(data: Data) -> np.ndarray:
    """The rule of every run, read off its rates; "" of the narrow model, at which all are one."""
    base = data[WIDTH].min()
    (ratio,) = np.unique((data["lr.embedding"] / data[RATE])[data[WIDTH] == base])
    n = np.log2(data[WIDTH] / base)
    powers = {
        "embedding": np.log2(data["lr.embedding"] / data[RATE] / ratio),
        "readout": np.log2(data["lr.output"] / data[RATE]) - n,
    }
    found = np.full(len(data), "", dtype=object)
    for name, (embedding, readout) in RULES.items():
        fits = np.isclose(powers["embedding"], embedding * n)
        fits &= np.isclose(powers["readout"], readout * n)
        found[fits & (n > 0)] = name
    return found


COLUMNS = ("rule", WIDTH, "lr.embedding", RATE, "lr.output", "seed", "train_loss")


def reduce(runs: Runs) -> Data:
    """Final losses of every run."""
    table = gathered(runs, lambda name: {}, last=True)
    table = table.assign(rule=rule_of(table))[[*COLUMNS]]
    return table.sort_values([WIDTH, "rule", RATE, "seed"], ignore_index=True)


def sweeps(data: Data) -> tuple[Sweep, dict[tuple[str, float], Sweep]]:
    """(the narrow model's sweep, (rule, width) -> that of a wider one)."""
    narrow = data[data[WIDTH] == data[WIDTH].min()]
    wide = data[data[WIDTH] > data[WIDTH].min()]
    of = {key: sweep_of(rows, RATE, "train_loss") for key, rows in wide.groupby(["rule", WIDTH])}
    return sweep_of(narrow, RATE, "train_loss"), of


def loss_at(sweep: Sweep, place: float) -> np.ndarray:
    """Losses by seed at a rate, log2, by the cubic through the nearest four, which has no jump half
    way between two rates; NaN beyond what was tried."""
    if not sweep.log2[0] <= place <= sweep.log2[-1]:
        return np.full(len(sweep.seeds), np.nan)
    return np.array([cubic(sweep.log2, each, np.array([place]))[0] for each in sweep.own])


def cost(data: Data, rule: str, detail: str = "") -> Measurement:
    """What a rule loses against muP at the largest width, both at the narrow model's best rate."""
    narrow, wide = sweeps(data)
    widest = data[WIDTH].max()
    ours, mup = wide[rule, widest], wide["muP", widest]

    def more(seed: int, choosing: Sequence[int]) -> float:
        place = narrow.of(choosing).optimum()
        losses = [loss_at(each.of([seed]), place)[0] for each in (ours, mup)]
        return losses[0] - losses[1]

    problem = "the narrow model's best rate is at its grid's edge" if narrow.at_edge else ""
    diverged = "a run at the transferred rate diverged"
    lost = [loss_at(each, narrow.optimum()) for each in (ours, mup)]
    problem = joined(problem, "" if np.isfinite(lost).all() else diverged)
    return over_both(more, ours.seeds, narrow.seeds, problem, detail)


def measure(data: Data, scale: str) -> Measured:
    narrow, wide = sweeps(data)
    widest = data[WIDTH].max()
    gain = narrow.tuned().mean() - wide["muP", widest].tuned().mean()
    found = {}
    for claim, rule in OF.items():
        tuned = wide[rule, widest].tuned().mean() - wide["muP", widest].tuned().mean()
        words = f"{tuned:z.4f} nats with both tuned at that width; the width gains {gain:.4f}"
        found[claim] = cost(data, rule, words)
    return found


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """The curve of each judged rule at the largest width moved up or down, to where a law has its
    cost."""
    design = Design(recorded, ["train_loss"], ["rule", WIDTH, RATE], log=False)
    for claim, sign in CLAIMED.items():
        found = cost(recorded, OF[claim]).value
        if np.isfinite(found):
            rows = design.rows(**{"rule": OF[claim], WIDTH: recorded[WIDTH].max()})
            design.mean[rows] += SIDES[law] * sign * abs(found) - found
    return design.draw(rng)


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing, typeset

    narrow, wide = sweeps(data)
    widths = sorted({width for _, width in wide})
    figure, axes = drawing.panels(len(RULES), width=2.6, height=2.9)
    colors = drawing.ramp([data[WIDTH].min(), *widths])
    shown = [each.mean() for each in (narrow, *wide.values())]
    low, _ = drawing.span(*shown)
    room = 3 * abs(drawing.span(narrow.mean())[0] - low)
    root = typeset.powers("n^-1/2")
    words = {
        "muP": "muP: 1 and 1/n",
        "embedding": f"embedding {root}",
        "readout": f"readout {root}",
    }
    for place, rule in zip(axes[0], RULES, strict=True):
        of = {data[WIDTH].min(): narrow} | {n: wide[rule, n] for n in widths}
        for width, each in of.items():
            finite = np.isfinite(each.losses).all(0)
            x, losses = each.rates[finite], each.losses[:, finite]
            line = {"marker": "o", "ms": 3, "lw": 1}
            drawing.band(
                place,
                np.tile(x, len(losses)),
                losses.ravel(),
                colors[width],
                label=f"n = {width:g}",
                **line,
            )
        place.axvline(2 ** narrow.optimum(), color="0.3", ls=":", lw=1)
        place.set_xscale("log", base=2)
        drawing.log2_axis(place.xaxis)
        _drawing.show(place, low - 0.1 * room, low + room)
        place.set_title(words.get(rule, f"both {root}"), fontsize=9)
        place.set_xlabel("rate of hidden matrices")
    axes[0, 0].set_ylabel("loss (nats)")
    drawing.legend_above(axes[0, 0], 2)
    return figure


FIGURE = Figure(
    title="Embedding and readout beside Muon",
    outcome="At the narrow rate the public rule ends {muon_rules.both-costs} nats above muP",
    caption=(
        "A decoder whose hidden matrices have Muon, embedding and readout AdamW, over rates, a "
        "panel a rule of how the rates of embedding and readout go with the width, a colour a "
        "width; mean and range (band) over seeds. Dotted: the rate that is best for the narrow "
        "model, at which all rules are one. Final training loss, on data seen once; losses far "
        "above the best are cut off."
    ),
    studies=("transfer/decoder_muon_rules/narrow", "transfer/decoder_muon_rules/wide"),
    answers=ANSWERS,
    columns=COLUMNS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
