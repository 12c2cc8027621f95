"""muP whose embedding's rate falls as the root of the width: the exponents of u-muP (Blake et al.,
arXiv 2407.17465), which counts the width as an embedding's fan-in."""

from widthwise.parametrization.rules import Rule
from widthwise.parametrization.tables import full_alignment

NAME = "u-muP"


def rules(family: str) -> dict[str, Rule]:
    """The rows of the table; raises UserError for SGD."""
    return full_alignment.rules(family, embedding=-1 / 2, output=-1 / 2)
