"""The one exception for mistakes a user can mend, and the word they may have meant."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Names what is wrong, where, and the way out, in one line; shown without a traceback."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error message: the nearest known word, or all of them."""
    known = sorted(known)
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(known)}"
