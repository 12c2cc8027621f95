"""The scaling strategies of Dinan, Yaida & Zhang (arXiv 2304.02034), and the rates they give."""

from widthwise.parametrization import s_of

STRATEGIES = {  # name in figures -> parametrization
    "standard": "SP",
    "neural-tangent": "neural-tangent",
    "hybrid": "hybrid",
    "maximal-update": "maximal-update",
}
STANDARD, TANGENT = COMPARED = ("standard", "neural-tangent")  # the paper's first question


def matrix_factor(strategy: str, width: int) -> float:
    """Factor on the learning rate of Q, K, V, U, W and X: 1, or n^-3/2 n^(s/2)."""
    s = s_of(STRATEGIES[strategy])
    return 1.0 if s is None else width ** ((s - 3) / 2)
