"""What a picture's title says came out."""

from types import SimpleNamespace

import pytest

from repro.core import catalog
from repro.verdicts import judged_claims as module
from repro.verdicts.judged_claims import CHOSEN, fared, outcome
from repro.verdicts.words import INCONCLUSIVE, NEEDS_MORE, NO_BOUND, REPRODUCED, VERDICTS


def row(claim, verdict, measured=-0.5, chosen="", left_out=""):
    return {
        "claim": claim,
        "verdict": verdict,
        "measured": measured,
        "low": None if measured is None else measured - 0.25,
        "high": None if measured is None else measured + 0.25,
        "chosen_after_seeing": chosen,
        "left_out": left_out,
    }


@pytest.fixture
def figure(monkeypatch):
    """A function: outcome -> what `outcome` calls the figure that says so."""

    def figure(text):
        said = SimpleNamespace(outcome=text or "")
        monkeypatch.setattr(module, "figure_named", lambda name: said)
        return "p/f"

    return figure


def test_a_sentence_has_what_was_measured_and_the_verdict(figure):
    name = figure("It goes as n^{f.a}")
    assert outcome(name, [row("f.a", REPRODUCED)]) == "It goes as n^-0.5 [-0.75, -0.25]: reproduced"
    said = outcome(name, [row("f.a", REPRODUCED, chosen="the rate")])
    assert said.endswith(f": reproduced, {CHOSEN}")
    outside = "-1 itself is outside the interval"
    said = outcome(name, [row("f.a", REPRODUCED, chosen="the rate", left_out=outside)])
    assert said.endswith(f": reproduced, {outside}, {CHOSEN}")
    assert outcome(name, [row("f.a", NO_BOUND)]) == "It goes as n^-0.5 [-0.75, -0.25]", "no verdict"
    away = outcome(name, [row("f.a", NEEDS_MORE, chosen="the rate")])
    assert away.endswith(": for a larger scale")


def test_what_was_not_measured_is_not_said(figure):
    rows = [row("f.a", INCONCLUSIVE, None), row("f.b", REPRODUCED)]
    counts = "1 of 2 claims reproduced, 1 inconclusive"
    assert outcome(figure("It goes as n^{f.a}"), rows) == counts
    assert outcome(figure(None), rows) == counts
    assert outcome(figure(None), []) == "" and outcome(figure("{f.a}"), []) == ""


def test_verdicts_are_counted():
    every = [row("f.a", verdict) for verdict in VERDICTS]
    assert fared(every).startswith(f"1 of {len(VERDICTS)} claims {VERDICTS[0]}, 1 {VERDICTS[1]}")
    assert fared(every[:1]) == VERDICTS[0] and fared([]) == ""
    assert fared(every[:1] * 2) == f"both claims {VERDICTS[0]}"
    assert fared(every[:1] * 3) == f"all 3 claims {VERDICTS[0]}"


@pytest.mark.parametrize("name", catalog.figure_names())
def test_every_figure_says_what_came_out(name):
    assert "{" in catalog.figure(name).outcome
