"""The one exception for mistakes a user can mend, and the word they may have meant."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Names what is wrong, where, and the way out, in one line; shown without a traceback."""

    status = 1  # of the process it ends
    trace = ""  # for a log, not for a terminal: where in an author's own file it went wrong


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, None where none is near."""
    return next(iter(difflib.get_close_matches(word, sorted(known), n=1)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error message: the nearest known word, or all of them."""
    known = sorted(known)
    near = nearest(word, known)
    return f"did you mean {near!r}?" if near else f"choose from {', '.join(known)}"
