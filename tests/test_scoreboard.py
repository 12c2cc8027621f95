"""The tables of verdicts: counts by kind, and each verdict with what it rests on."""

import pytest

from repro.judge.board import board, counts, in_words, shortened
from repro.judge.judging import chosen_after_seeing

ROW = {
    "claim": "fig3.sqrt-d-rule",
    "kind": "training",
    "paper": "embedding_lr",
    "source": "Figure 3",
    "quantity": "slope",
    "printed": ["-1/2 slope (Section 4.1): the rule", "<0 slope (Section 4.1): it falls"],
    "expected": "below -0.2",
    "expected_paper": "-0.5 within 0.25",
    "measured": -0.4,
    "low": -0.7,
    "high": -0.1,
    "n": 3,
    "seen": "cannot be told",
    "binds": True,
    "verdict": "cannot be told",
    "reason": "noise: the interval reaches over the bound",
    "chosen_after_seeing": "the batch",
}


def test_verdicts_are_counted_by_kind():
    control = ROW | {"kind": "control", "verdict": "reproduced"}
    head, *lines = counts([ROW, ROW, control])
    table = {kind: dict(zip(head[1:], numbers, strict=True)) for kind, *numbers in lines}
    assert table["training"]["cannot be told"] == "2" and table["training"]["reproduced"] == "0"
    assert table["control"]["reproduced"] == "1"
    assert list(table) == ["training", "theory", "arithmetic", "self-check", "control"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {},
            "cannot be told (noise: the interval reaches over the bound); "
            "settings chosen after seeing results",
        ),
        (
            {"verdict": "does not bind", "seen": "differs", "binds": False, "reason": "scale"},
            "does not bind (scale); seen: differs; settings chosen after seeing results",
        ),
        ({"verdict": "reproduced", "reason": "", "chosen_after_seeing": ""}, "reproduced"),
        (
            {"verdict": "reported", "seen": "", "binds": False, "reason": ""},
            "reported; settings chosen after seeing results",
        ),
    ],
)
def test_a_verdict_says_what_it_rests_on(changes, words):
    assert in_words(ROW | changes) == words


def test_a_page_shows_what_is_printed_beside_what_is_measured_and_both_bounds():
    page = board("reduced", [ROW]).decode()
    assert "| -1/2 slope (Section 4.1): the rule (and 1 more) |" in page
    assert "| below -0.2 (paper scale: -0.5 within 0.25) | -0.4 [-0.7, -0.1] | 3 |" in page
    assert len({line.count("|") for line in page.splitlines() if "embedding_lr/" in line}) == 1
    assert shortened([]) == ""


def test_settings_chosen_after_seeing_results_are_named_below_paper_scale():
    assert "prototypes" in chosen_after_seeing("embedding_lr/fig3", "reduced")
    assert chosen_after_seeing("embedding_lr/fig3", "paper") == ""
    assert chosen_after_seeing("embedding_lr/table3", "reduced") == ""
