"""Parts of tangent kernels by group: what theory states of them, and how their table is read."""

from dataclasses import dataclass

import numpy as np

from repro.verdicts.figure import Data

KINDS = {"vision": "ViT, pooled head", "language": "language encoder, tied head"}
GROUPS = ("stem", "positions", "Q", "K", "V", "U", "W", "X", "head", "bias")
MATRICES = dict.fromkeys(("Q", "K", "V", "U", "W", "X"), 1.0)
UNIFORM = {
    "vision": {"stem": 0.0, "positions": 0.0, **MATRICES, "head": 1.0, "bias": 0.0},
    "language": {"stem": 0.0, "positions": 0.0, **MATRICES, "head": 0.0},
}
# The gradient's root mean square is n^-1/2, that of head and bias of a classifier n^0.
ROOT = {
    "vision": dict.fromkeys(GROUPS, 0.5) | {"head": 0.0, "bias": 0.0},
    "language": dict.fromkeys(GROUPS, 0.5),
}
ENTRIES = ["diagonal", "off"]
VALUES = [*ENTRIES, "normalized"]
COLUMNS = [*VALUES, "diagonal_expected", "off_expected", "sgd", "adam"]


@dataclass(frozen=True)
class Head:
    """The network's own kernel at one s. columns: name -> array (parts, seeds, widths)."""

    parts: list[str]
    widths: np.ndarray
    columns: dict[str, np.ndarray]

    @property
    def seeds(self) -> int:
        """How many."""
        return self.columns["diagonal"].shape[1]


def at_head(data: Data):
    """(network, s) -> Head."""
    last = data["block"] == data.groupby("kind")["block"].transform("max")
    found = {}
    for key, rows in data[last].groupby(["kind", "s"]):
        rows = rows.sort_values(["part", "seed", "width"])
        parts, widths = list(dict.fromkeys(rows["part"])), np.unique(rows["width"])
        shape = len(parts), -1, len(widths)
        columns = {name: rows[name].to_numpy().reshape(shape) for name in COLUMNS}
        found[key] = Head(parts, widths, columns)
    return found


def by_seed(head, value, factor=None):
    """Array (seeds, groups, widths) of a column, by a factor's where one is named; its groups."""
    values = head.columns[value] * (1.0 if factor is None else head.columns[factor])
    of = [part.split(".")[0] for part in head.parts]
    groups = [group for group in GROUPS if group in of]
    groups += [group for group in dict.fromkeys(of) if group not in GROUPS]
    sums = [values[[group == each for each in of]].sum(0) for group in groups]  # over pairs
    return np.stack(sums, axis=1), groups


def exponents(values, widths):
    """Exponent in n of each group's mean over seeds; values: (seeds, groups, widths)."""
    x = np.log(widths) - np.log(widths).mean()
    return np.log(values.mean(0)) @ x / (x @ x)


def stated(kind, groups, value, s=0.0):
    """Exponents with one learning rate for all."""
    if value == "normalized":  # by the root of a squared gradient
        return [UNIFORM[kind][g] + ROOT[kind][g] - undone(kind, s, g) / 2 for g in groups]
    return [UNIFORM[kind][g] - undone(kind, s, g) for g in groups]


def undone(kind, s, group):
    """Power of 1/n of a squared gradient because a head's scale has n^-s/2: s but for the
    gradients of an untied head's own parameters, which do not pass through it."""
    return 0.0 if kind == "vision" and group in ("head", "bias") else s


def errors(head, entry):
    """What was measured less what is expected, over the same token's: (parts, seeds, widths)."""
    found, expected, same = (
        head.columns[name] for name in (entry, f"{entry}_expected", "diagonal_expected")
    )
    return (found - expected) / same
