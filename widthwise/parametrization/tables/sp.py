"""The standard parametrization: nothing but the init depends on the width."""

from widthwise.parametrization.rules import KINDS, ONE, Rule

NAME = "SP"
TIED = ONE


def rules(family: str) -> dict[str, Rule]:
    """The rows of the table."""
    return dict.fromkeys(KINDS, Rule(init=ONE, lr=ONE))
