"""The one exception for mistakes a user can mend, the word they may have meant, and what of a text
may reach a terminal."""

import difflib
from collections.abc import Iterable

MOST = 40  # known words in an error message
LONGEST = 2000  # characters of an error on a terminal: an exception may bring a megabyte


class UserError(Exception):
    """Names what is wrong, where, and the way out, in one line; shown without a traceback."""

    status = 1  # of the process it ends
    trace = ""  # for a log, not for a terminal: where in an author's own file it went wrong


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, in whatever case; None where none is near."""
    small = {each.casefold(): each for each in sorted(known)}
    near = difflib.get_close_matches(word.casefold(), small, n=1)
    return small[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error message: the nearest known word, or the known ones, MOST at most."""
    known = sorted(known)
    near = nearest(word, known)
    more = f" and {len(known) - MOST} more" if len(known) > MOST else ""
    return f"did you mean {near!r}?" if near else f"choose from {', '.join(known[:MOST])}{more}"


def visible(text: str) -> str:
    """A text for a terminal: what is no character to print, but for the ends of lines, by its
    number. No escape sequence moves the cursor or hides a word."""
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def error_line(error: object) -> str:
    """What an error says on a terminal: `visible`, and no more than LONGEST of it."""
    said = str(error)
    more = f" ... ({len(said) - LONGEST:,} characters more)" if len(said) > LONGEST else ""
    return visible(f"error: {said[:LONGEST]}{more}")
