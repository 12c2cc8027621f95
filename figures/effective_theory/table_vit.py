"""Table II.1.E: initial spread and relative learning rates of the ViT's parameters."""

from typing import Any

from repro.verdicts.answers import SELF_CHECK, TOLERANCE, Test, all_scales, at_most, exact
from repro.verdicts.figure import Data, Figure, Measured, Runs
from repro.verdicts.typeset import Table

STUDY = "effective_theory/vit_parameters/strategies"
N, N_PATCH, N_OUT = 768, 768, 1_000
SHARP = {"qkv": 1 / 2, "out": 1 / 3, "up": 2 / 5, "down": 8 / 5 / 4}  # II.1.C, M = 4
GROUPS = {  # parameter -> its row
    "patchify.weight": "patchify",
    "positions": "positional embedding",
    "attention.0.qkv.weight": "Q, K, V",
    "attention.0.out.weight": "U",
    "mlp.0.up.weight": "W",
    "mlp.0.down.weight": "X",
    "head.weight": "head weights",
    "head.bias": "head biases",
}
# Printed exponents: strategy -> (head's initial n^, patchify's n^, positions' n^, matrices' n^)
PRINTED: dict[str, tuple[Any, ...]] = {
    "SP": (-1 / 2, None, None, None),
    "neural-tangent": (-1 / 2, -1 / 2, -1 / 2, -1 - 1 / 2),
    "hybrid": (-3 / 4, -1 / 4, -1 / 4, -1 - 1 / 4),
    "maximal-update": (-1, 0, 0, -1),
}
ANSWERS = (
    Test(
        id="table_vit.factors",
        kind=SELF_CHECK,
        statement="built",
        column="ViT",
        quantity="largest |factor / printed - 1| over strategies and parameters",
        expected=all_scales(at_most(1e-9, TOLERANCE, "rounding of float64")),
    ),
    Test(
        id="table_vit.init",
        kind=SELF_CHECK,
        statement="built",
        column="ViT",
        quantity="largest |standard deviation / printed - 1| over strategies and parameters",
        expected=all_scales(at_most(0.01, TOLERANCE, "a spread is estimated from drawn weights")),
    ),
)


def printed(strategy, parameter):
    """(initial standard deviation, learning-rate factor) as the table prints them."""
    head, patchify, positions, matrices = PRINTED[strategy]
    uniform = strategy == "SP"
    if parameter == "patchify.weight":
        return N_PATCH**-0.5, 1.0 if uniform else N_PATCH**-1 * N**patchify
    if parameter == "positions":
        return 0.02, 1.0 if uniform else N**positions
    if parameter == "head.weight":
        return N**head, 1.0 if uniform else N**-1 * N_OUT**-0.5
    if parameter == "head.bias":
        return 0.0, 1.0 if uniform else N_OUT**-0.5
    sharp = SHARP[parameter.split(".")[2]] ** 0.5
    return sharp * N**-0.5, 1.0 if uniform else N**matrices


def reduce(runs: Runs) -> Data:
    return runs[STUDY]


def measure(data: Data, scale: str) -> Measured:
    factors, spreads = [], []
    for row in data.itertuples():
        std, factor = printed(row.parametrization, row.parameter)
        factors.append(abs(row.lr / factor - 1))
        spreads.append(abs(row.init_std / std - 1) if std else abs(row.init_std))
    return {
        f"table_vit.{name}": exact(max(found), len(found))
        for name, found in (("factors", factors), ("init", spreads))
    }


def table(data: Data, scale: str) -> Table:
    built = data.set_index(["parametrization", "parameter"])
    rows = []
    for parameter, words in GROUPS.items():
        cells = [words]
        for strategy in PRINTED:
            std, factor = printed(strategy, parameter)
            found = built.loc[(strategy, parameter)]
            cells += [against(std, found["init_std"]), against(factor, found["lr"])]
        rows.append(cells)
    names = ["standard", *list(PRINTED)[1:]]
    columns = [
        "parameters",
        *(f"{name}\n{what}" for name in names for what in ("initial std", "lr factor")),
    ]
    return Table(columns, rows, "printed (as built over printed), n = 768, M = 4 left out")


def against(value, built):
    """A printed number, and what is built over it where they are not alike to four digits."""
    if not value or f"{value:.4g}" == f"{built:.4g}":
        return f"{value:.4g}" if value == built or value else f"{value:.4g} ({built:.4g} built)"
    return f"{value:.4g} ({built / value:.4f})"


FIGURE = Figure(
    title="Table II.1.E. ViT-B/16: initial standard deviations and relative learning-rate factors",
    outcome=(
        "Factors are the printed ones to {table_vit.factors}, initial deviations to a share of "
        "{table_vit.init}"
    ),
    caption=(
        "In every cell left the printed value, right that of the built model: the standard "
        "deviation of the drawn weights, and the relative learning-rate factor in its optimizer "
        "(Dinan et al., Table II.1.E, constants of II.1.C)."
    ),
    studies=(STUDY,),
    answers=ANSWERS,
    reduce=reduce,
    measure=measure,
    table=table,
)
