"""The s-family of Dinan, Yaida & Zhang (arXiv 2304.02034): neural-tangent at 0, hybrid at 1/2,
maximal-update at 1."""

from widthwise.parametrization.rules import DEGREE, ONE, Power, Rule


def rules(s: float, family: str, expansion: bool = False) -> dict[str, Rule]:
    """Equations 1.99 to 1.107 (SGD) and 1.108 to 1.116 (AdamW), for widths relative to 1.

    expansion: keep the MLP's factor M in the rates of its two matrices, which the paper's
    experiments leave out.
    AdamW decays by lr * weight_decay whatever a group's factor (equation 1.94), so a group's
    weight decay is divided by it; SGD's decay is left as it is (the paper uses none).
    """
    adam = DEGREE[family] == DEGREE["adam"]
    # Adam divides the gradient by its root mean square: exponents of n_out and of s are halved.
    root = -1 / 2 if adam else 0.0
    grown = s / 2 if adam else s

    def rule(init: Power, lr: Power) -> Rule:
        return Rule(init=init, lr=lr, weight_decay=lr.inverse if adam else ONE)

    hidden = (
        Power(fan_in=-1, fan_out=root, n_out=grown)
        if expansion
        else Power(n_in=-1, n_out=root + grown)
    )
    return {
        "embedding": rule(ONE, Power(fan_in=-1, n_out=root + grown)),
        "hidden": rule(ONE, hidden),
        "output": rule(Power(n_in=-s / 2), Power(n_in=-1, fan_out=root)),
        "vector": rule(ONE, Power(n_out=root + grown)),
        "scalar": rule(ONE, Power(fan_out=root)),
    }


def tied(s: float) -> Power:
    """Factor on a tied readout's logits (N_rescale, II.2)."""
    return Power(n_in=-(1 + s) / 2)
