"""The one exception for mistakes a user can mend, the library's, and words they may have meant."""

import difflib
from collections.abc import Iterable

from widthwise.errors import UserError as UserError
from widthwise.errors import did_you_mean as did_you_mean
from widthwise.errors import error_line as error_line
from widthwise.errors import nearest as nearest
from widthwise.errors import visible as visible


def nearest_few(word: str, known: Iterable[str], count: int = 8) -> list[str]:
    """The known words that were perhaps meant: those that contain it, then those spelt much like
    it, nearest first."""
    known = sorted(known)
    inside = [each for each in known if word and word in each]
    alike = difflib.get_close_matches(word, known, count, cutoff=0.6)
    return list(dict.fromkeys([*inside, *alike]))[:count]
