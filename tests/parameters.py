"""Parameters of a costly test of many alike: some in every call, all others marked slow."""

from collections.abc import Iterable

import pytest


def kept(values: Iterable, *, but: Iterable = (), first: int | None = None) -> list:
    """The values as parameters; slow: those of `but`, or all after the first so many."""
    values, but = list(values), list(but)
    assert all(value in values for value in but)
    slow = but if first is None else values[first:]
    return [pytest.param(v, marks=[pytest.mark.slow] * (v in slow)) for v in values]
