"""What a mistake that a user can mend comes to."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from repro.errors import UserError


@contextmanager
def refused(words: str | None = None) -> Iterator[pytest.ExceptionInfo[UserError]]:
    """A UserError of one line, in which the words, a pattern, are found if there are any."""
    with pytest.raises(UserError, match=words) as caught:
        yield caught
    assert "\n" not in str(caught.value), "one line"
