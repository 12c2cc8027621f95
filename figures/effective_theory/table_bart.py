"""Table II.2.E: initial spread, rescaling and relative learning rates of BART's parameters."""

import numpy as np

from repro.statistics import slope
from repro.verdicts.answers import SELF_CHECK, TOLERANCE, Test, all_scales, at_most, exact
from repro.verdicts.figure import Data, Figure, Measured, Runs
from repro.verdicts.typeset import Table
from widthwise.parametrization import format_power, tied_multiplier

STUDY = "effective_theory/bart_parameters/strategies"
GROUPS = ("word embedding", "positional embedding", "Q, K, V, U, W, X")
# Printed: initial standard deviation and power of n in the rate per group; power of n in N.
PRINTED = {
    "SP": ((0.02, 0.02, 0.02), (0, 0, 0), 0),
    "neural-tangent": ((1.0, 0.02, 0.02), (-0.5, -0.5, -1.5), -0.5),
}
ANSWERS = (
    Test(
        id="table_bart.exponents",
        kind=SELF_CHECK,
        statement="built",
        column="BART",
        quantity="largest error of a power of n over learning rates and N_rescale",
        expected=all_scales(at_most(1e-6, TOLERANCE, "rounding of float64 in a fit")),
    ),
    Test(
        id="table_bart.init",
        kind=SELF_CHECK,
        statement="built",
        column="BART",
        quantity="largest |standard deviation / printed - 1|",
        expected=all_scales(at_most(0.03, TOLERANCE, "a spread is estimated from drawn weights")),
    ),
    Test(
        id="table_bart.decay",
        kind=SELF_CHECK,
        statement="built",
        column="BART",
        quantity="largest |rate * decay - 1|, both constants 1",
        expected=all_scales(at_most(1e-9, TOLERANCE, "rounding of float64")),
    ),
)


def reduce(runs: Runs) -> Data:
    columns = ["parametrization", "model.width", "parameter"]
    return runs[STUDY][[*columns, "lr", "weight_decay", "init_std"]]


def group(parameter):
    """The row of the table a parameter belongs to."""
    if parameter == "embedding.weight":
        return GROUPS[0]
    return GROUPS[1] if parameter.endswith("positions.weight") else GROUPS[2]


def measured_powers(data: Data, strategy):
    """Group -> (measured standard deviation, power of n in the rate), the farthest of a group."""
    stds, powers, _ = PRINTED[strategy]
    result = {}
    rows = data[data["parametrization"] == strategy]
    for name, std, power in zip(GROUPS, stds, powers, strict=True):
        own = rows[rows["parameter"].map(group) == name]
        spread = max(own["init_std"], key=lambda value: abs(value / std - 1))
        slopes = [
            slope(np.log(part["model.width"]), np.log(part["lr"]))
            for _, part in own.groupby("parameter")
        ]
        result[name] = spread, max(slopes, key=lambda value: abs(value - power))
    return result


def rescaling(data: Data, strategy):
    """Power of n in the model's N_rescale."""
    widths = np.sort(data["model.width"].unique())
    return slope(np.log(widths), np.log([tied_multiplier(strategy, n) for n in widths]))


def measure(data: Data, scale: str) -> Measured:
    powers, spreads = [], []
    for strategy, (stds, printed, rescale) in PRINTED.items():
        for (spread, power), std, expected in zip(
            measured_powers(data, strategy).values(), stds, printed, strict=True
        ):
            powers.append(abs(power - expected))
            spreads.append(abs(spread / std - 1))
        powers.append(abs(rescaling(data, strategy) - rescale))
    decay = float((data["lr"] * data["weight_decay"] - 1).abs().max())
    values = {"exponents": max(powers), "init": max(spreads), "decay": decay}
    return {f"table_bart.{name}": exact(v) for name, v in values.items()}


def table(data: Data, scale: str) -> Table:
    rows = []
    for i, name in enumerate(GROUPS):
        row = [name]
        for strategy, (stds, powers, _) in PRINTED.items():
            spread, power = measured_powers(data, strategy)[name]
            row += [f"{stds[i]:g} | {spread:.4f}", ""]
            row += [f"{power_words(powers[i])} | n^{power:z.3f}"]
        rows.append(row)
    row = ["output"]
    for strategy, (_, _, printed) in PRINTED.items():
        row += ["", f"{power_words(printed)} | n^{rescaling(data, strategy):z.3f}", ""]
    rows.append(row)
    columns = ["parameters"]
    for name in ("standard", "neural-tangent"):
        columns += [f"{name}\n{what}" for what in ("initial std", "N_rescale", "lr factor")]
    widths = ", ".join(str(n) for n in sorted(data["model.width"].unique()))
    return Table(columns, rows, f"printed | as built at n = {widths}")


def power_words(exponent):
    """`n^-1/2`, `1`."""
    return format_power(exponent).replace("d^", "n^")


FIGURE = Figure(
    title="Table II.2.E. BART and R2C2: initial standard deviations, rescaling, learning rates",
    outcome=(
        "Exponents are the printed ones to {table_bart.exponents}, initial deviations to a share "
        "of {table_bart.init}"
    ),
    caption=(
        "In every cell left the printed value, right that of the built models: the standard "
        "deviation of the drawn weights, and the powers of the width n in the output's rescaling "
        "N_rescale and in the optimizer's relative learning rates, fitted over widths (Dinan et "
        "al., Table II.2.E). Of a group's parameters the one farthest from the printed value is "
        "shown."
    ),
    studies=(STUDY,),
    answers=ANSWERS,
    reduce=reduce,
    measure=measure,
    table=table,
)
