"""The large-vocabulary parametrization of Hayou & Liu (arXiv 2506.15025), Table 2.

A tied readout has no factor here: embedding and readout have rates of their own.
"""

from widthwise.errors import UserError
from widthwise.parametrization.rules import ONE, Power, Rule

NAME = "LVP"


def rules(family: str) -> dict[str, Rule]:
    """The rows of the table; raises UserError for SGD, which the paper leaves out."""
    if family != "adam":
        raise UserError("LVP is defined for Adam-like optimizers only (arXiv 2506.15025, Table 2)")

    def rule(init: Power, lr: Power) -> Rule:
        # lr * weight_decay stays independent of width, as in muP (ours: not in the paper).
        return Rule(init=init, lr=lr, weight_decay=lr.inverse)

    return {
        "embedding": rule(Power(n_out=-1 / 2), Power(n_out=-1 / 2)),
        "hidden": rule(ONE, Power(n_in=-1)),
        "output": rule(ONE, Power(n_in=-1)),
        "vector": rule(ONE, ONE),
        "scalar": rule(ONE, ONE),
    }
