"""What a paper predicts at a design's own sizes, and what it asks of one."""

import math

import numpy as np
import pandas as pd
import pytest

from repro.core import catalog
from repro.core.names import StageName
from repro.theory import sign_sgd
from repro.verdicts import judging, words
from repro.verdicts.answers import (
    STATED,
    TOLERANCE,
    TRAINING,
    Condition,
    Expectation,
    Measurement,
    Prediction,
    Test,
    above,
    within,
)
from repro.verdicts.evidence import Evidence, judge
from repro.verdicts.figure import Figure
from repro.verdicts.results import INCONCLUSIVE, LIMIT, REPRODUCED

NEAR = Measurement(0.1, 0.05, 0.15, 8)
NAMES = catalog.figure_names()


def drawn_changes(d, m, rng, draws=200):
    """Root mean square changes of the most frequent token's outputs by one sign step of the linear
    model, by drawing it: the embedding's, the projection's. Frequencies i^-1, residual N(0, 1)."""
    alpha = 1 / np.arange(1, m + 1)
    squares = np.zeros(2)
    for _ in range(draws):
        e, w, z = (rng.standard_normal(shape) for shape in ((m, d), (d, m), (m, m)))
        of_e = np.sign(z[0] @ w.T) @ w
        of_w = e[0] @ np.sign(e.T @ (alpha[:, None] * z))
        squares += np.mean(of_e**2), np.mean(of_w**2)
    return np.sqrt(squares / draws)


@pytest.mark.parametrize("sizes", [((16, 16), (64, 16)), ((16, 64), (64, 256))])
def test_the_ratio_s_slope_is_that_of_drawn_models(sizes):
    rng = np.random.default_rng(0)
    ratios = [np.log(drawn[1] / drawn[0]) for drawn in (drawn_changes(d, m, rng) for d, m in sizes)]
    measured = (ratios[1] - ratios[0]) / math.log(4)
    # The theorem's share of the most frequent token is 0.84 of what it should be, at every width.
    assert measured == pytest.approx(sign_sgd.ratio_slope(*np.array(sizes).T, rank=0), abs=0.05)


def test_the_ratio_s_slope_comes_to_both_regimes_of_the_paper():
    d = 2 ** np.arange(12, 17)
    assert sign_sgd.ratio_slope(d[:3], 8 * d[:3], rank=0) == pytest.approx(0.5, abs=0.01)
    assert sign_sgd.ratio_slope(d, np.full(5, 16), rank=0) == pytest.approx(0.0, abs=0.01)


def of_bound(expected=None, conditions=()):
    expected = expected or within(0, 0.25, TOLERANCE, "a reason")
    given = {"kind": TRAINING, "statement": "s", "column": "c", "quantity": "the slope"}
    return Test(id="f.a", expected={"reduced": expected}, conditions=conditions, **given)


@pytest.mark.parametrize(
    ("expected", "predicted", "told"),
    [
        (within(0, 0.25, TOLERANCE, "a reason"), None, True),
        (within(0, 0.25, TOLERANCE, "a reason"), (0.1, 0.1), True),
        (within(0, 0.25, TOLERANCE, "a reason"), (0.18, 0.2), False),
        (within(0, 0.25, TOLERANCE, "a reason"), (-0.4, 0.2), True),
        (above(0), (-0.2, -0.1), False),
        (above(0), (-0.2, 0.1), True),
    ],
)
def test_a_bound_that_is_of_the_limit_alone_tells_nothing(expected, predicted, told):
    given = predicted and Prediction(*predicted, 0.0, "Theorem 1")
    found = judge(of_bound(expected), NEAR, Evidence("reduced", ()), given)
    codes = [doubt["code"] for doubt in found.doubts]
    assert (found.status, LIMIT in codes) == ((REPRODUCED, False) if told else (INCONCLUSIVE, True))


@pytest.fixture
def judged(monkeypatch):
    """A function: a test, its prediction, scale -> the row that its figure's record would have."""

    def judged(test, predicted=None, scale="reduced"):
        figure = Figure(
            title="t",
            studies=(),
            caption="c",
            answers=(test,),
            reduce=None,
            measure=lambda data, scale: {test.id: NEAR},
            predict=lambda data, scale: {test.id: predicted} if predicted else {},
        )
        monkeypatch.setattr(judging, "figure_named", lambda name: figure)
        monkeypatch.setattr(judging.statements, "check", lambda *given: None)
        of = {"scale": scale, "embedded": True, "label": "embedded"}
        found = judging.judge_all("embedding_lr/f", None, of)
        return [*found["tests"], *found["readings"]][0]

    return judged


def test_prediction_and_limit_are_said_apart(judged):
    row = judged(of_bound(), Prediction(0.1, 0.12, 0.0, "Theorem 1"))
    bound = row["bound"]
    assert (bound["formula"], bound["predicted"], bound["limit"]) == ("Theorem 1", [0.1, 0.12], 0.0)
    words_of = "0 within 0.25; Theorem 1 at these sizes: 0.1 to 0.12; in the limit: 0"
    assert words.expectation(bound) == words_of
    assert "Theorem 1 at these sizes: 0.1 to 0.12" in words.line(row)
    assert words_of in words.sentence(row)
    beyond = judged(of_bound(), Prediction(-0.5, -0.1, 0.0, "Theorem 1"))
    assert words.why(beyond).startswith("above all that Theorem 1 allows at these sizes; ")
    assert words.sentence(beyond).count("-0.5 to -0.1") == 1


def test_a_picture_says_which_printed_value_is_outside(judged):
    """Found in review: its head said `reproduced` alone."""
    row = judged(of_bound())
    assert row["status"] == REPRODUCED and row["low"] > 0
    assert judging.marks({"tests": [row]}) == [
        (REPRODUCED, REPRODUCED),
        ("0 outside", INCONCLUSIVE),
    ]


def test_of_a_sign_it_is_said_that_there_is_no_more(judged):
    row = judged(of_bound(above(0)))
    assert words.expectation(row["bound"]) == "above 0, the paper's sign only"
    assert row["bound"]["predicted"] == []


@pytest.mark.parametrize("how", ["", "n0 = 16"])
def test_a_design_outside_the_paper_s_conditions_is_told_as_that(judged, how):
    row = judged(of_bound(conditions=(Condition("100 units", lambda data, scale: how),)))
    outside = f"{words.OUTSIDE}: n0 = 16, asked: 100 units"
    assert row["status"] == REPRODUCED, "whichever way it came out"
    for said in (words.line(row), words.sentence(row), words.cell(row)):
        assert (outside in said) == bool(how)
    assert words.worst(row)[0] == bool(how), "and stands last"


@pytest.mark.parametrize(
    ("low", "high", "side"), [(-0.5, 0.5, "within"), (0.2, 0.5, "outside"), (0.1, 0.5, "across")]
)
def test_a_number_that_is_a_test_elsewhere_says_on_which_side_it_lies(judged, low, high, side):
    expected = Expectation(low, high, "the bound", basis=STATED)
    row = judged(of_bound(expected), scale="smoke")
    assert (row["reading"], row["beside"]) == ("f.a", "a test at scale reduced")
    assert f"{side} its bound there, the bound" in words.reading(row)[-1]


def test_a_number_of_the_printed_sizes_has_no_side_at_others(judged):
    test = Test("f.a", TRAINING, "s", "c", "q", {"paper": above(0)}, published=True)
    row = judged(test)
    assert row["bound"] is None and row["seen"] == ""


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("upscaling/")])
def test_the_paper_s_own_sizes_keep_its_conditions(name):
    from figures.upscaling._runs import ASKED

    figure = catalog.figure(name)
    table = pd.DataFrame({"study": [StageName.parse(each).module for each in figure.studies]})
    asked = [c for test in figure.tests for c in test.conditions if c.asked == ASKED]
    if not name.endswith("/fig3"):  # of its table
        assert not any(condition.broken(table, "paper") for condition in asked)
