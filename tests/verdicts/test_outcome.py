"""What a picture's title says came out."""

from types import SimpleNamespace

import pytest

from repro.core import catalog
from repro.verdicts import judging
from repro.verdicts.answers import TOLERANCE
from repro.verdicts.judging import outcome
from repro.verdicts.results import INCONCLUSIVE, REPRODUCED


def row(name, status, measured=-0.5, low=-1.0, basis=""):
    bound = {"low": low, "high": 0.0, "basis": basis, "predicted": [], "outside": ""}
    ends = [None if measured is None else measured + by for by in (-0.25, 0.25)]
    return {"test": name, "status": status, "measured": measured, "bound": bound} | dict(
        zip(("low", "high"), ends, strict=True)
    )


def results(*tests, readings=()):
    return {"tests": [*tests], "readings": [*readings]}


@pytest.fixture
def figure(monkeypatch):
    """A function: outcome -> what `outcome` calls the figure that says so."""

    def figure(text):
        said = SimpleNamespace(outcome=text or "")
        monkeypatch.setattr(judging, "figure_named", lambda name: said)
        return "p/f"

    return figure


def test_a_sentence_has_what_was_measured_and_the_status(figure):
    name, said = figure("It goes as n^{f.a}"), "It goes as n^-0.5 [-0.75, -0.25]"
    assert outcome(name, results(row("f.a", REPRODUCED))) == f"{said}: reproduced"
    away = row("f.a", REPRODUCED)
    away["bound"]["outside"] = "n0 = 16, asked 100"
    words = "reproduced, outside the paper's conditions: n0 = 16, asked 100"
    assert outcome(name, results(away)) == f"{said}: {words}"
    outside = results(row("f.a", REPRODUCED, low=-2.0, basis=TOLERANCE))
    assert outcome(name, outside) == f"{said}: reproduced, -1 itself is outside the interval"
    reading = {"reading": "f.a", "measured": -0.5, "low": -0.75, "high": -0.25}
    assert outcome(name, results(readings=[reading])) == said, "a reading has no status"


def test_what_was_not_measured_is_not_said(figure):
    rows = results(row("f.a", INCONCLUSIVE, None), row("f.b", REPRODUCED))
    for text in ("It goes as n^{f.a}", None):
        assert outcome(figure(text), rows) == "1 reproduced, 1 inconclusive"
    assert outcome(figure(None), results()) == "" and outcome(figure("{f.a}"), results()) == ""


@pytest.mark.parametrize("name", catalog.figure_names())
def test_every_figure_says_what_came_out(name):
    assert "{" in catalog.figure(name).outcome


@pytest.mark.parametrize(("outside", "said"), [(2, "all "), (1, "1 of these "), (0, None)])
def test_a_picture_counts_its_tests_once(monkeypatch, outside, said):
    """What is outside the paper's conditions are no tests beside the others."""
    monkeypatch.setattr(judging, "of_a_paper", lambda row: True)
    rows = [row("f.a", REPRODUCED), row("f.b", INCONCLUSIVE)]
    for each in rows[:outside]:
        each["bound"]["outside"] = "n0 = 16"
    found = [word for word, _ in judging.marks(results(*rows))]
    assert found[:2] == ["1 reproduced", "1 inconclusive"]
    assert found[2:] == ([f"{said}outside the paper's conditions"] if said else [])
