"""The model as its code makes it, and one rate for all: nothing depends on the width but what the
code says itself. A standard deviation of 0.02 in every matrix, say, stays one at every width, where
SP makes it fall as fan_in^-1/2."""

from widthwise.parametrization.rules import KINDS, ONE, Rule

NAME = "as-made"
TIED = ONE


def rules(family: str) -> dict[str, Rule]:
    """The rows of the table; values stay as the model is made."""
    return dict.fromkeys(KINDS, Rule(init=None, lr=ONE))
