"""How many parameters the paper's models have."""

from repro.verdicts.answers import ARITHMETIC, STATED, Expectation, Test, all_scales, exact
from repro.verdicts.figure import Data, Figure, Measured, Runs
from repro.verdicts.typeset import Table

VIT = "effective_theory/vit_parameters/count"
BART = "effective_theory/bart_parameters/count"


def bart_sum(n, depth):
    """II.2.B; 514 positions of the encoder and of the decoder, M = 4."""
    return {
        "word embedding": 50_265 * n,
        "positional embedding": 514 * n + 514 * n,
        "encoder": n**2 * (4 + 2 * 4) * depth,
        "decoder": n**2 * (4 + 4 + 2 * 4) * depth,
    }


SUMS = {
    "vit": {  # II.1.B
        "patchify": 768 * 768,
        "positional embedding": 196 * 768,
        "attention and MLP": 768**2 * (4 + 2 * 4) * 12,
        "head": 768 * 1_000 + 1_000,
    },
    "bart": bart_sum(1_024, 12),
    "r2c2": bart_sum(2_048, 22),
}
NAMES = {"vit": "ViT-B/16", "bart": "BART-large", "r2c2": "R2C2"}
WORDS = {
    "vit": ("II.1.B", "768^2 + 196 * 768 + 768^2 (4 + 2 * 4) 12 + 768 * 1000 + 1000"),
    "bart": ("II.2.B", "n (50265 + 514 + 514) + n^2 (4 + 8) 12 + n^2 (8 + 8) 12, n = 1024,"),
    "r2c2": ("II.2.B", "n (50265 + 514 + 514) + n^2 (4 + 8) 22 + n^2 (8 + 8) 22, n = 2048,"),
}
# First part of a parameter's name -> its term; anything else is attention and MLP.
TERMS = {
    "patchify": "patchify",
    "positions": "positional embedding",
    "head": "head",
    "embedding": "word embedding",
    "encoder_positions": "positional embedding",
    "decoder_positions": "positional embedding",
    "encoder": "encoder",
    "decoder": "decoder",
}


def exactly(total):
    return Expectation(total, total, f"{total:,}", basis=STATED)


ANSWERS = tuple(
    Test(
        id=f"parameters.{model}",
        kind=ARITHMETIC,
        statement="parameters",
        column=NAMES[model],
        quantity="parameters of the built model",
        expected=all_scales(exactly(sum(SUMS[model].values()))),
    )
    for model, (place, words) in WORDS.items()
)


def reduce(runs: Runs) -> Data:
    import pandas as pd

    by_width = {1_024: "bart", 2_048: "r2c2"}
    bart = runs[BART].assign(model=runs[BART]["model.width"].map(by_width))
    tables = [runs[VIT].assign(model="vit"), bart]
    return pd.concat(tables, ignore_index=True)[["model", "parameter", "kind", "count"]]


def measure(data: Data, scale: str) -> Measured:
    totals = data.groupby("model")["count"].sum()
    return {
        f"parameters.{model}": exact(total, detail=f"{total:,.0f}")
        for model, total in ((model, float(totals[model])) for model in SUMS)
    }


def term(parameter):
    """The term of the paper's sum a parameter belongs to."""
    return TERMS.get(parameter.split(".")[0], "attention and MLP")


def table(data: Data, scale: str) -> Table:
    rows = []
    for model, terms in SUMS.items():
        own = data[data["model"] == model]
        counted = own.groupby(own["parameter"].map(term))["count"].sum()
        rows += [[NAMES[model], name, f"{n:,}", f"{counted[name]:,}"] for name, n in terms.items()]
        rows.append([NAMES[model], "all", f"{sum(terms.values()):,}", f"{counted.sum():,}"])
    return Table(["model", "parameters of", "the paper's sum", "built"], rows)


FIGURE = Figure(
    title="Parameter counts of the paper's models",
    outcome=(
        "The built models have {parameters.vit} (ViT), {parameters.bart} (BART) and "
        "{parameters.r2c2} (R2C2) parameters"
    ),
    caption=(
        "Parameters of the built models beside the sums the paper writes out, term by term (Dinan "
        "et al., II.1.B and II.2.B)."
    ),
    studies=(VIT, BART),
    answers=ANSWERS,
    reduce=reduce,
    measure=measure,
    table=table,
)
