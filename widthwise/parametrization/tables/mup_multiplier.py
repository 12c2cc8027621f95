"""muP with the readout as Ma et al. print it in Tables 2 and 3, its output times 1/n.

The same function as `muP`, by Proposition C.10 with theta = 1/n.
"""

from dataclasses import replace

from widthwise.parametrization.rules import DEGREE, Power, Rule
from widthwise.parametrization.tables import mup

NAME = "muP-multiplier"
TIED, ATTENTION = mup.TIED, mup.ATTENTION


def rules(family: str) -> dict[str, Rule]:
    """The rows of the table; q is the degree of the update in the gradient."""
    rows, mean = mup.rules(family), Power(n_in=-1)
    output = rows["output"].with_layer_factor(mean, DEGREE[family])
    return rows | {"output": replace(output, multiplier=mean)}
