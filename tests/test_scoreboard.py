"""The tables of verdicts: counts by kind, and each verdict with what it rests on."""

import re

import pytest

from repro.judge.board import board, counts, headline, in_words, shortened
from repro.judge.judging import chosen_after_seeing
from repro.suite.registry import ROOT

ROW = {
    "claim": "fig3.sqrt-d-rule",
    "kind": "training",
    "paper": "embedding_lr",
    "figure": "embedding_lr/fig3",
    "statement": "The optimum falls with width",
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


def test_a_page_says_the_verdict_first_then_the_claim_what_is_printed_and_what_was_measured():
    place = ROOT / "records/reduced/embedded/cpu"
    page = board(place, "reduced", [ROW], {"embedding_lr/fig3": place / "embedding_lr/fig3.md"})
    (line,) = [line for line in page.decode().splitlines() if "fig3.sqrt-d-rule" in line]
    verdict, claim, printed, measured = line.strip("| ").split(" | ")
    assert verdict == (
        "**cannot be told**<br>noise: the interval reaches over the bound<br>"
        "settings chosen after seeing results"
    )
    link = "[`fig3.sqrt-d-rule`](embedding_lr/fig3.md), training"
    assert claim == f"The optimum falls with width (Figure 3)<br>{link}"
    assert printed == "-1/2 slope (Section 4.1): the rule (and 1 more)"
    assert measured == (
        "**-0.4 [-0.7, -0.1]**, n = 3; expected below -0.2 (paper scale: -0.5 within 0.25)<br>slope"
    )
    assert "](../../../../studies/embedding_lr/README.md)" in page.decode()
    assert shortened([]) == ""


def test_a_page_begins_with_how_many_claims_of_the_papers_have_each_verdict():
    rows = [ROW, ROW | {"kind": "control"}, ROW | {"verdict": "does not bind", "kind": "theory"}]
    assert headline(rows) == (
        "Of 2 claims of the papers: 0 reproduced, 0 not reproduced, 1 cannot be told, "
        "1 do not bind here, 0 reported. 1 more are ours."
    )


@pytest.mark.parametrize("page", sorted(ROOT.glob("records/*/*/*/scoreboard.md")), ids=str)
def test_a_page_on_record_fits_a_screen_and_its_links_lead_somewhere(page):
    """A column is no narrower than its longest word; found in review: the verdict's was out of
    sight."""
    text = page.read_text()
    assert all((page.parent / path).exists() for path in re.findall(r"\]\(([^)]+)\)", text))
    shown = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)
    rows = [line.strip("| ").split(" | ") for line in shown.splitlines() if " | " in line]
    claims = [row for row in rows if len(row) == 4]
    assert len(claims) > 10 and {len(row) for row in rows} == {4, 6}
    widest = [max(len(w) for row in claims for w in re.split(r"<br>| ", row[i])) for i in range(4)]
    assert sum(widest) < 100, "characters, of which a page shows about 110"


def test_settings_chosen_after_seeing_results_are_named_below_paper_scale():
    assert "prototypes" in chosen_after_seeing("embedding_lr/fig3", "reduced")
    assert chosen_after_seeing("embedding_lr/fig3", "paper") == ""
    assert chosen_after_seeing("embedding_lr/table3", "reduced") == ""
