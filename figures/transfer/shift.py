"""Where the best learning rate goes with the width, under every parametrization."""

import numpy as np

from figures.transfer import _drawing, _losses
from figures.transfer._losses import LR, NAME, PROXY, WIDTH, WORKLOADS, reduce
from repro.core.study import OVERNIGHT
from repro.verdicts.answers import TOLERANCE, TRAINING, Reading, Test, within
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured
from repro.verdicts.noise import Design
from repro.verdicts.power import Laws

LAW = {"SP": "1/n", "muP": "constant", "LVP": "constant", "full-alignment": "constant"}
HALF_WAY = "half way to the next of the laws, which are 1/2 apart"
SLOPES = {"1/n": -1.0, "n^-1/2": -0.5, "constant": 0.0, "n^1/2": 0.5}
STATEMENTS = {"SP": "sp-falls", "muP": "mup-stays"}
# Workload and parametrization of each answer, by its id.
OF = {
    f"shift.{name.lower()}-{workload}": (workload, name)
    for name, workloads in (
        ("SP", WORKLOADS),
        ("muP", WORKLOADS),
        ("LVP", ("decoder",)),
        ("full-alignment", ("decoder",)),
    )
    for workload in workloads
}


def answer(claim: str, workload: str, name: str) -> Test | Reading:
    """A test overnight, as it was registered before; of a workload left out there a reading."""
    law, words = SLOPES[LAW[name]], f"{WORKLOADS[workload]}, {name}"
    quantity = f"slope of log2 of the best rate against log2 of the width: {words}"
    if workload not in _losses.NIGHT:
        return Reading(claim, quantity, f"{law:g}, its law")
    return Test(
        id=claim,
        kind=TRAINING,
        statement=STATEMENTS.get(name, "others-stay"),
        column=WORKLOADS[workload] if name in STATEMENTS else words,
        quantity=quantity,
        expected={OVERNIGHT: within(law, 0.25, TOLERANCE, HALF_WAY)},
    )


ANSWERS = tuple(answer(claim, *of) for claim, of in OF.items())
LAWS = {
    claim: Laws(LAW[name], tuple(law for law in SLOPES if law != LAW[name]))
    for claim, (workload, name) in OF.items()
    if workload in _losses.NIGHT
}


def measure(data: Data, scale: str) -> Measured:
    losses = _losses.by_workload(data)
    found = {
        claim: _losses.slope_measurement(losses[workload], name)
        for claim, (workload, name) in OF.items()
        if workload in losses
    }
    return _losses.of_all(ANSWERS, found)


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Every wide curve moved to where the law has its best rate, from the narrow model's, with the
    recorded noise."""
    drawn = recorded.copy()
    for _, table in recorded.groupby("workload"):
        losses = _losses.Losses(table)
        design = Design(table, ["train_loss"], [NAME, WIDTH, _losses.RATIO, LR])
        log2 = np.log2(table[LR].to_numpy())
        base = np.nanmean(losses.curves[losses.names[0], losses.base].vertices())
        for (name, width), rows in table.groupby([NAME, WIDTH]).indices.items():
            if name == PROXY:
                continue
            target = base + SLOPES[law] * np.log2(width / losses.base)
            by = target - np.nanmean(losses.curves[name, width].vertices())
            if np.isfinite(by):
                design.move(rows, log2, by)
        again = design.draw(rng, curve=WIDTH)
        drawn.loc[table.index, "train_loss"] = again["train_loss"]
    return drawn


def draw(data: Data, scale: str) -> Drawn:
    return _drawing.draw_shift(_losses.by_workload(data))


def small(data: Data, scale: str) -> Drawn:
    return _drawing.draw_shift(dict([*_losses.by_workload(data).items()][:1]), small=True)


FIGURE = Figure(
    title="Where the best learning rate goes with the width",
    outcome=(
        "The best rate goes as width^{shift.sp-decoder} (decoder) and width^{shift.sp-mlp} (MLP) "
        "under SP, width^{shift.mup-decoder} and width^{shift.mup-mlp} under muP"
    ),
    caption=(
        "The best learning rate, vertex of a parabola through the rates within an octave of the "
        "best of a width's curve, against the width under each parametrization, a panel a "
        "workload. Bars: 95 % interval over seeds, arrows: it goes on; a cross and no point where "
        "a seed's curve has no minimum inside its rates. Guides: constant (dotted) and 1/n "
        "(dash-dotted), from the narrow model's best rate, which is the same model under all of "
        "them."
    ),
    studies=_losses.STUDIES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    small=small,
    simulate=simulate,
)
