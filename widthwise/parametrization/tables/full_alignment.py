"""Standard init with a rate per layer, for updates that are fully aligned with what they act on
(Everett et al., arXiv 2407.05872, Table 1).

SP with the embedding's rate raised by the width (Kalra & Barkeshli, arXiv 2605.21486) is this at a
rate that falls as 1/n: the same runs.
"""

from widthwise.errors import UserError
from widthwise.parametrization.rules import ONE, Power, Rule

NAME = "full-alignment"


def rules(family: str, embedding: float = 0.0, output: float = 0.0) -> dict[str, Rule]:
    """The rows of the table; raises UserError for SGD.

    embedding: exponent of its rate. output: of its init's factor on fan_in^-1/2.
    """
    if family != "adam":
        raise UserError(f"{NAME}: its rates are those of Adam-like optimizers")

    def rule(lr: Power, init: Power = ONE) -> Rule:
        # lr * weight_decay stays independent of width, as in muP (ours).
        return Rule(init=init, lr=lr, weight_decay=lr.inverse)

    return {
        "embedding": rule(Power(n_out=embedding)),
        "hidden": rule(Power(n_in=-1)),
        "output": rule(Power(n_in=-1), Power(n_in=output)),
        "vector": rule(ONE),
        "scalar": rule(ONE),
    }
