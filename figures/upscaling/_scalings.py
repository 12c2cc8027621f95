"""Tables 1 to 3: powers of widths and of factors, printed beside those of built layers.

A power is a pair, of the inputs and of the outputs: for vector-like weights, which have one width,
that of the input layer and the hidden bias is of the outputs, that of the readout of the inputs.
"""

from collections.abc import Sequence

import numpy as np

from repro.verdicts.answers import (
    SELF_CHECK,
    TOLERANCE,
    Test,
    all_scales,
    at_most,
    exact,
    over_means,
)
from repro.verdicts.figure import Data, Figure, Runs
from repro.verdicts.typeset import Table

# Why a bound of 0.05 on the error of a power.
DRAWN = "a variance is estimated from drawn weights; printed powers are whole or halves"
STUDY = "upscaling/scalings"
LAYERS = {  # parameter -> type in Tables 1 and 2, and its widths by column of the study's grid
    "input.weight": ("vector", (None, "width_in")),
    "hidden.bias": ("vector", (None, "width_out")),
    "output.weight": ("vector", ("width_out", None)),
    "hidden.weight": ("matrix", ("width_in", "width_out")),
    "output.bias": ("scalar", (None, None)),
}
FACTORS = {"width_in": "k_in", "width_out": "k_out"}  # what a width grows by
DEGREES = {"SGD": 1, "Adam": 0, "AdamW": 0}  # of the update in the gradient, m in the paper
COUPLED = {"SGD": True, "Adam": True, "AdamW": False}

# What the tables have in rows and columns: words -> parameter, words -> optimizer and quantity.
TABLE_2 = {
    "rows": {"vector-like (input)": "input.weight", "vector-like (bias)": "hidden.bias"}
    | {"vector-like (output)": "output.weight", "matrix-like": "hidden.weight"},
    "columns": {
        "init variance": ("SGD", "init_variance"),
        "learning rate, m = 1": ("SGD", "lr"),
        "learning rate, m = 0": ("AdamW", "lr"),
        "weight decay (vanilla)": ("Adam", "weight_decay"),
        "weight decay (decoupled), m = 0": ("AdamW", "weight_decay"),
        "eps": ("AdamW", "eps"),
        "output multiplier": ("SGD", "multiplier"),
    },
}
TABLE_3 = {
    "rows": {"input vector": "input.weight", "matrix": "hidden.weight"}
    | {"output vector": "output.weight"},
    "columns": {
        "multiplier": ("SGD", "multiplier"),
        "init variance": ("SGD", "init_variance"),
        "SGD learning rate": ("SGD", "lr"),
        "SGD weight decay": ("SGD", "weight_decay"),
        "Adam learning rate": ("Adam", "lr"),
        "Adam weight decay": ("Adam", "weight_decay"),
        "AdamW weight decay": ("AdamW", "weight_decay"),
        "Adam, AdamW eps": ("AdamW", "eps"),
    },
}


def rules(degree, coupled):
    """Type -> quantity -> powers of (n_in, n_out): Table 2, and the hyperparameters of Table 1."""
    m = degree
    return {
        "vector": {
            "lr": (m, m),
            "weight_decay": (-1, -1) if coupled else (-m, -m),
            "eps": (-1, -1),
        },
        "matrix": {
            "lr": (-1, m),
            "weight_decay": (1, -1) if coupled else (1, -m),
            "eps": (0, -1),
        },
        "scalar": {"lr": (0, 0), "weight_decay": (0, 0), "eps": (0, 0)},
    }


def printed(optimizer, parameter):
    """Quantity -> powers of (n_in, n_out) that Tables 2 and 3 print, of widths the weight has."""
    kind, widths = LAYERS[parameter]
    of_kind = rules(DEGREES[optimizer], COUPLED[optimizer])[kind]
    init = {"vector": (0, 0), "matrix": (-1, 0), "scalar": (0, 0)}[kind]
    found = {"init_variance": init, **of_kind}
    if optimizer == "SGD":
        del found["eps"]
    if parameter == "output.weight":
        found["multiplier"] = (-1, 0)
    return {
        quantity: tuple(power if width else 0 for power, width in zip(powers, widths, strict=True))
        for quantity, powers in found.items()
    }


def powers(rows, parameter, quantity):
    """Fitted powers of (n_in, n_out) of one quantity of one parameter; rows: of one optimizer."""
    _, widths = LAYERS[parameter]
    own = rows[rows["parameter"] == parameter]
    known = [width for width in widths if width]
    means = own.groupby(["width_in", "width_out"], as_index=False)[quantity].mean()
    design = np.log(np.column_stack([*(means[w] for w in known), np.full(len(means), np.e)]))
    fitted, *_ = np.linalg.lstsq(design, np.log(means[quantity]), rcond=None)
    values = iter(fitted)
    return tuple(float(next(values)) if width else 0.0 for width in widths)


def reduce(runs: Runs) -> Data:
    """Every record; the two factors in columns of their own."""
    rows = runs[STUDY]
    factors = np.array(rows["factor"].tolist())
    return rows.drop(columns="factor").assign(k_in=factors[:, 0], k_out=factors[:, 1])


def cells(data: Data, table):
    """(row of the table, column, printed powers, fitted powers). table: TABLE_2 or TABLE_3."""
    for words, parameter in table["rows"].items():
        for column, (optimizer, quantity) in table["columns"].items():
            wanted = printed(optimizer, parameter).get(quantity)
            if wanted is not None:
                rows = data[data["optimizer"] == optimizer]
                yield words, column, wanted, powers(rows, parameter, quantity)


def measure_powers(data: Data, table):
    """Measurement of the largest error of a power of a table."""

    def largest(seeds):
        found = cells(data[data["seed"].isin(list(seeds))], table)
        return max(abs(a - b) for *_, wanted, of in found for a, b in zip(wanted, of, strict=True))

    return over_means(largest, data["seed"].unique())


def widened(row):
    """Quantity -> what Table 1 multiplies it by, of one record."""
    kind, widths = LAYERS[row["parameter"]]
    k_in, k_out = (row[FACTORS[width]] if width else 1 for width in widths)
    of_kind = rules(DEGREES[row["optimizer"]], COUPLED[row["optimizer"]])[kind]
    found = {name: float(k_in) ** a * float(k_out) ** b for name, (a, b) in of_kind.items()}
    return {"weight": 1 / k_in if kind == "matrix" else 1.0, **found}


def measure_widening(data: Data):
    """Measurement of the largest relative error of what widening multiplies by."""
    found = [
        abs(row[f"widened_{quantity}"] / wanted - 1)
        for row in data.to_dict("records")
        for quantity, wanted in widened(row).items()
        if np.isfinite(row[f"widened_{quantity}"])  # SGD has no eps
    ]
    return exact(max(found), len(found))


def in_words(powers: Sequence[float], names: Sequence[str] = ("n_in", "n_out")) -> str:
    """`n_out / n_in`, of a pair of powers."""
    over, under = list[str](), list[str]()
    for name, power in zip(names, powers, strict=True):
        size = abs(power)
        text = name if size == 1 else f"{name}^{size:g}"
        if power:
            (over if power > 0 else under).append(text)
    return " / ".join([" ".join(over) or "1", *under])


def table_of_powers(data: Data, table):
    """A table's printed powers, the fitted ones in brackets."""
    found = {
        (row, column): f"{in_words(wanted)}  ({', '.join(f'{v + 0:.3f}' for v in fitted)})"
        for row, column, wanted, fitted in cells(data, table)
    }
    columns = list(table["rows"])
    rows = [[name, *(found.get((row, name), "") for row in columns)] for name in table["columns"]]
    return Table(["quantity", *columns], rows)


def table_of_widening(data: Data):
    """Table 1, of the record with k_in = 2 and k_out = 3 at the smallest widths."""
    first = data[(data["k_in"] == 2) & (data["k_out"] == 3)].drop_duplicates(
        ["optimizer", "parameter"]
    )
    rows = []
    for row in first.to_dict("records"):
        kind, _ = LAYERS[row["parameter"]]
        wanted = widened(row)
        texts = [
            f"{wanted[name]:.3g}  ({row[f'widened_{name}']:.3g})"
            if np.isfinite(row[f"widened_{name}"])
            else ""
            for name in ("weight", "lr", "weight_decay", "eps")
        ]
        rows.append([row["optimizer"], kind, row["parameter"], *texts])
    names = ["optimizer", "type", "parameter", "weights", "learning rate", "weight decay", "eps"]
    return Table(names, rows)


def of_powers(number, title, over, shown):
    """Table 2 or 3. over: what its largest error is taken over. shown: its rows and columns."""
    name = f"table{number}.powers"
    held = Test(
        id=name,
        kind=SELF_CHECK,
        statement="built",
        column=f"Table {number}",
        quantity=f"largest error of a power of a width, over {over}",
        expected=all_scales(at_most(0.05, TOLERANCE, DRAWN)),
    )
    return Figure(
        title=f"Table {number}. muP's scalings {title}",
        outcome=f"Powers of the width are within {{{name}}} of the printed ones",
        caption=(
            "Powers of the widths n_in and n_out as printed and, in brackets, as fitted over built "
            f"layers of widths 16 and 256 (Ma et al., Table {number})."
        ),
        studies=(STUDY,),
        answers=(held,),
        reduce=reduce,
        measure=lambda data, scale: {name: measure_powers(data, shown)},
        table=lambda data, scale: table_of_powers(data, shown),
    )
