"""muP with the readout as Ma et al. print it in Tables 2 and 3, its output times 1/n.

The same function as `muP`, by Proposition C.10 with theta = 1/n: init std times n, lr times
n^(1+q), decoupled decay times n^-(1+q), coupled decay times n^-2, eps times n^-1.
"""

from widthwise.parametrization.rules import DEGREE, Power, Rule
from widthwise.parametrization.tables import mup

NAME = "muP-multiplier"
TIED, ATTENTION = mup.TIED, mup.ATTENTION


def rules(family: str) -> dict[str, Rule]:
    """The rows of the table; q is the degree of the update in the gradient."""
    q = DEGREE[family]
    output = Rule(
        init=Power(n_in=1 / 2),  # variance 1 = fan_in^-1 * d
        lr=Power(n_in=q),
        weight_decay=Power(n_in=-q),
        coupled_weight_decay=Power(n_in=-1),
        eps=Power(n_in=-1),
        multiplier=Power(n_in=-1),
    )
    return mup.rules(family) | {"output": output}
