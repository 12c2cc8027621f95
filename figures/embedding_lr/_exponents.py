"""Tables 1 and 2: exponents of d read off built models, held against the printed ones.

Of several parameters of a kind the one farthest from the printed exponent is shown.
"""

import numpy as np

from repro.statistics import slope
from repro.verdicts.answers import over_means
from repro.verdicts.figure import Data
from repro.verdicts.typeset import Table
from widthwise.parametrization import format_power

STUDY = "embedding_lr/parametrizations"
# Why a bound of 0.05 on their error.
DRAWN = "a variance is estimated from drawn weights; printed powers are 1/2 apart or more"
KINDS = ("embedding", "output", "hidden")
# Printed exponents of d: (init variance, Adam lr) per kind, Table 2 (Table 1 is its muP rows).
PRINTED: dict[str, dict[str, tuple[float, float]]] = {
    "SP": {"embedding": (0, 0), "output": (-1, 0), "hidden": (-1, 0)},
    "muP": {"embedding": (0, 0), "output": (-2, -1), "hidden": (-1, -1)},
    "LVP": {"embedding": (-1, -0.5), "output": (-1, -1), "hidden": (-1, -1)},
}


def exponents(data: Data, seeds):
    """(parametrization, kind, parameter) -> measured exponents of (init variance, lr)."""
    rows = data[data["seed"].isin(list(seeds))]
    result = {}
    for key, part in rows.groupby(["parametrization", "kind", "parameter"]):
        means = part.groupby("width")[["init_variance", "lr"]].mean()
        result[key] = tuple(
            slope(np.log(means.index), np.log(means[column])) for column in means.columns
        )
    return result


def largest_error(data: Data, seeds, names):
    return max(
        abs(measured - printed)
        for (name, kind, _), found in exponents(data, seeds).items()
        if name in names
        for measured, printed in zip(found, PRINTED[name][kind], strict=True)
    )


def measurement(data: Data, names):
    return over_means(lambda sample: largest_error(data, sample, names), data["seed"].unique())


def table(data: Data, names):
    found = exponents(data, sorted(data["seed"].unique()))
    rows = []
    for name in names:
        for i, quantity in enumerate(("init variance", "lr (Adam)")):
            row = [name, quantity]
            for kind in KINDS:
                printed = PRINTED[name][kind][i]
                measured = [v[i] for key, v in found.items() if key[:2] == (name, kind)]
                farthest = max(measured, key=lambda value: abs(value - printed))
                row.append(f"{format_power(printed)}  (measured d^{farthest + 0:.3f})")
            rows.append(row)
    return Table(["parametrization", "power of", *(f"{kind} weights" for kind in KINDS)], rows)
