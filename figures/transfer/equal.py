"""Which parametrizations are the same training under several names."""

import math

import numpy as np

from figures.transfer._losses import WORKLOADS
from repro.verdicts.answers import ARITHMETIC, TOLERANCE, Test, all_scales, at_most, exact
from repro.verdicts.figure import Data, Figure, Measured, Runs
from repro.verdicts.typeset import Table

STUDY = "transfer/equal_runs"
SAME = 1e-9  # largest relative difference of a loss
DIGITS = 12  # of a loss: what comes after them, MKL's float64 tanh decides by the kind of CPU
# Test -> workload, the two names, and what they are in words.
PAIRS = {
    "equal.embedding-alone": (
        "decoder",
        ("SP (embedding x n)", "full-alignment"),
        "decoder: SP at a rate of 1/n with the embedding's raised by n, full alignment",
    ),
    "equal.maximal-update": (
        "decoder",
        ("muP", "maximal-update"),
        "decoder: maximal-update, s = 1 of Dinan et al., muP",
    ),
    "equal.multiplier-decoder": (
        "decoder",
        ("muP", "muP-multiplier"),
        "decoder: muP with a multiplier on the readout, with it in its init and rate",
    ),
    "equal.multiplier-bart": (
        "bart",
        ("muP", "muP-multiplier"),
        "BART, tied: the same two",
    ),
    "equal.zero-readout": (
        "mlp",
        ("muP", "full-alignment"),
        "MLP whose readout starts at zero: full alignment, muP",
    ),
}
ANSWERS = tuple(
    Test(
        id=claim,
        kind=ARITHMETIC,
        statement="equal",
        column=words,
        quantity="largest relative difference of the losses of five steps",
        expected=all_scales(at_most(SAME, TOLERANCE, "rounding of float64 over five steps")),
    )
    for claim, (_, _, words) in PAIRS.items()
)


COLUMNS = ("workload", "name", "step", "train_loss")


def reduce(runs: Runs) -> Data:
    """Losses of every step, to DIGITS digits."""
    table = runs[STUDY][[*COLUMNS]]
    rounded = [float(f"{value:.{DIGITS}g}") for value in table["train_loss"]]
    table = table.assign(train_loss=rounded)
    return table.sort_values([*COLUMNS[:3]], ignore_index=True)


def losses(data: Data, workload: str) -> dict[str, np.ndarray]:
    """Name -> losses of a workload's steps."""
    of = data[data["workload"] == workload]
    return {name: rows["train_loss"].to_numpy() for name, rows in of.groupby("name", sort=False)}


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """Largest relative difference."""
    return float(np.max(np.abs(one - other) / np.abs(other)))


def classes(found: dict[str, np.ndarray]) -> list[list[str]]:
    """The names, those of the same training together."""
    groups: list[list[str]] = []
    for name, each in found.items():
        same = [group for group in groups if difference(each, found[group[0]]) <= SAME]
        if same:
            same[0].append(name)
        else:
            groups.append([name])
    return groups


def measure(data: Data, scale: str) -> Measured:
    found = {}
    for claim, (workload, (one, other), _) in PAIRS.items():
        of = losses(data, workload)
        # Equal trainings differ by the rounding of float64 alone, which one run tells. Said beside
        # it is the nearest training that is another.
        others = [difference(of[name], of[other]) for name in of if name not in (one, other)]
        nearest = min((each for each in others if each > SAME), default=math.nan)
        value = difference(of[one], of[other])
        words = f"{one} and {other}; the nearest that differs from the latter does by {nearest:.1e}"
        found[claim] = exact(value, detail=words)
    return found


def table(data: Data, scale: str) -> Table:
    rows = []
    for workload, words in WORKLOADS.items():
        groups = sorted(classes(losses(data, workload)), key=len, reverse=True)
        same = "; ".join(" = ".join(group) for group in groups if len(group) > 1)
        alone = ", ".join(group[0] for group in groups if len(group) == 1)
        rows.append([words, same or "none", alone or "-"])
    return Table(["workload", "the same training", "of their own"], rows)


FIGURE = Figure(
    title="Names of the same training",
    outcome=(
        "Losses of five steps under both names differ by {equal.embedding-alone} (SP with the "
        "embedding's rate, full alignment)"
    ),
    caption=(
        "Parametrizations under which the first steps of training are the same at four times the "
        "base width, in float64 on one random batch: joined by an equals sign where all losses "
        "agree to one part in 10^9. SP (embedding x n): SP at a rate divided by the width, with "
        "the embedding's multiplied by it. All others differ. A tied readout is defined under the "
        "names shown alone."
    ),
    studies=(STUDY,),
    answers=ANSWERS,
    columns=COLUMNS,
    reduce=reduce,
    measure=measure,
    table=table,
)
