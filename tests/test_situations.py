"""Unlucky and hostile situations, a row each: how one is made, what is called in it, what it says.

The next one is a row of SITUATIONS. It runs in a work folder of its own, in this process, at smoke
scale on a small text; situations that need more than that have tests of their own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from repro.__main__ import main
from repro.suite.suite import Suite


@dataclass(frozen=True)
class Place:
    """Where a situation is made: the work folder is the present one, `Path()`."""

    suite: Suite
    patch: pytest.MonkeyPatch


def as_it_is(place: Place) -> None:
    """An empty work folder."""


@dataclass(frozen=True)
class Situation:
    """A row. make: puts the situation there. call: words of the command line; the suite's
    configuration is added. says: part of the one line of the error, or "" where the call must
    succeed. leaves: file -> its bytes afterwards, None for one that must not be there."""

    name: str
    make: Callable[[Place], object]
    call: Sequence[str]
    says: str = ""
    leaves: Mapping[str, bytes | None] = field(default_factory=dict)


SITUATIONS = [
    Situation("no study", as_it_is, ["train", "foo", "x"], "unknown study 'foo'"),
    Situation(
        "a study without its stage",
        as_it_is,
        ["train", "upscaling/mlp_sgd", "x"],
        "unknown stage 'upscaling/mlp_sgd': choose from ",
    ),
    Situation(
        "a stage of a study that has none",
        as_it_is,
        ["train", "embedding_lr/width/tune", "x"],
        "unknown stage 'embedding_lr/width/tune': embedding_lr/width has no stages",
    ),
]


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
def test_situation(suite, monkeypatch, capsys, situation):
    situation.make(Place(suite, monkeypatch))
    status = main([*situation.call, "--config", *suite.config.arguments()])
    error = capsys.readouterr().err
    if situation.says:
        assert status == 1, error
        assert situation.says in error
        assert error.startswith("error: ") and error.count("\n") == 1
    else:
        assert status == 0, error
    for name, content in situation.leaves.items():
        path = Path(name)
        assert (path.read_bytes() if path.exists() else None) == content
