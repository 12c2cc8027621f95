"""How many parameters the paper's models have."""

from repro.claims import Claim, Expectation, Measurement, all_scales

TITLE = "Parameter counts of the paper's models"
CAPTION = (
    "Parameters of the built models beside the sums the paper writes out (Dinan et al., II.1.B)."
)
VIT = "effective_theory/vit_parameters/count"
STUDIES = (VIT,)
SUMS = {  # II.1.B, term by term
    "patchify": 768 * 768,
    "positional embedding": 196 * 768,
    "attention and MLP": 768**2 * (4 + 2 * 4) * 12,
    "head": 768 * 1_000 + 1_000,
}
TOTAL = sum(SUMS.values())
CLAIMS = (
    Claim(
        id="parameters.vit",
        statement="ViT-B/16 has 768^2 + 196 * 768 + 768^2 (4 + 2 * 4) 12 + 768 * 1000 + 1000 "
        "parameters",
        source="II.1.B",
        quantity="parameters of the built model",
        expected=all_scales(Expectation(TOTAL, TOTAL, f"{TOTAL:,}")),
    ),
)


def reduce(runs):
    return runs[VIT].assign(model="vit")


def measure(data, scale):
    total = float(data["count"].sum())
    return {"parameters.vit": Measurement(total, total, total, 1, "", f"{total:,.0f}")}


def group(parameter):
    """The term of the paper's sum a parameter belongs to."""
    first = parameter.split(".")[0]
    return {"patchify": "patchify", "positions": "positional embedding", "head": "head"}.get(
        first, "attention and MLP"
    )


def draw(data, scale):
    from repro import drawing

    counted = data.groupby(data["parameter"].map(group))["count"].sum()
    rows = [[name, f"{value:,}", f"{counted[name]:,}"] for name, value in SUMS.items()]
    rows.append(["ViT-B/16", f"{TOTAL:,}", f"{counted.sum():,}"])
    figure, axes = drawing.panels(1, width=7, height=0.9 + 0.3 * len(rows))
    drawing.table(axes[0, 0], rows, ["", "the paper's sum", "built"])
    return figure
