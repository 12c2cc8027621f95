"""Where the bounds of claims come from: every claim says it, and docs/verdicts.md has it."""

import pytest

from repro.__main__ import main
from repro.core.papers import is_a_paper
from repro.lineage.checkout import ROOT
from repro.verdicts import bounds
from repro.verdicts.claims import (
    ARITHMETIC,
    BASES,
    CONTROL,
    OURS,
    THEORY,
    TOLERANCE,
    TRAINING,
    Claim,
    all_scales,
    at_most,
    reported,
    within,
)
from repro.verdicts.printed import printed
from repro.verdicts.words import NO_BOUND

PAGE = ROOT / "docs" / "verdicts.md"
PAPERS = bounds.by_paper()
# Held against the printed 1/n^(1-s) of the squared change; what is measured is the change.
SQUARES = ("updates.hidden-neural-tangent", "updates.hidden-hybrid")
TOLERATED = [
    pytest.param(paper, claim, id=f"{paper}-{claim.id}")
    for paper, claims in PAPERS.items()
    for claim in claims
    if is_a_paper(paper)
    and claim.kind in (TRAINING, THEORY, ARITHMETIC)
    and bounds.basis(claim) == TOLERANCE
]


def test_every_bound_says_where_it_comes_from_and_all_of_a_claim_the_same():
    for claims in PAPERS.values():
        for claim in claims:
            found = bounds.bounds(claim)
            assert {bound.basis for bound in found} <= {bounds.basis(claim)}, claim.id
            assert len({bound.why for bound in found}) <= 1, claim.id
            assert bounds.basis(claim) in (*BASES, NO_BOUND)


def last_digit(value):
    """What one more in the last printed digit is worth: 0.001 of `0.003`; 0 of whole numbers."""
    _, point, digits = value.partition(".")
    return 10.0 ** -len(digits) if point and "e" not in value else 0.0


@pytest.mark.parametrize(("paper", "claim"), TOLERATED)
def test_a_tolerance_is_around_a_printed_number(paper, claim):
    """The number itself, as far as its digits go; or 0 or 1, of a claim that measures how far from
    it, or how many times it."""
    rows = [row for row in printed(paper) if row.claim == claim.id]
    assert rows, f"studies/{paper}/printed.csv has no row of {claim.id}"
    for bound in bounds.bounds(claim):
        assert bound.why
        numbers = [row.number / (2 if claim.id in SQUARES else 1) for row in rows]
        rounding = [last_digit(row.value) / 2 for row in rows]
        near = [
            bound.low - r <= n <= bound.high + r for n, r in zip(numbers, rounding, strict=True)
        ]
        assert any(near) or bound.holds(0) or bound.holds(1), (bound, numbers)


def test_no_paper_states_a_control_s_bound():
    controls = [claim for claims in PAPERS.values() for claim in claims if claim.kind == CONTROL]
    assert [claim.id for claim in controls if bounds.basis(claim) not in (OURS, NO_BOUND)] == []


def test_no_training_claim_of_a_paper_is_held_against_a_bound_of_ours():
    """It would be reported."""
    held = [
        claim.id
        for paper, claims in PAPERS.items()
        for claim in claims
        if is_a_paper(paper) and claim.kind == TRAINING and bounds.basis(claim) == OURS
    ]
    assert held == []


def test_the_page_s_tables_are_what_the_command_writes(tmp_path):
    """After a changed claim: python -m repro bounds --page docs/verdicts.md"""
    copy = tmp_path / "verdicts.md"
    copy.write_text(PAGE.read_text())
    assert main(["bounds", "--page", str(copy)]) == 0
    assert copy.read_text() == PAGE.read_text(), "python -m repro bounds --page docs/verdicts.md"


def test_the_page_has_every_bound_once(capsys):
    assert main(["bounds"]) == 0
    said = capsys.readouterr().out
    assert said.strip() in PAGE.read_text()
    total = sum(len(claims) for claims in PAPERS.values())
    cells = [line.split("|")[2:-1] for line in said.split("###")[0].splitlines()[2:] if line]
    assert sum(int(cell) for row in cells for cell in row) == total


def test_a_page_without_marks_is_refused(tmp_path, capsys):
    (tmp_path / "page.md").write_text("nothing")
    assert main(["bounds", "--page", str(tmp_path / "page.md")]) == 1
    assert "page.md: has no lines <!-- from here" in capsys.readouterr().err


def claim(name, expected):
    return Claim(name, TRAINING, "It holds", "Figure 9", "its size", expected)


def test_claims_that_share_a_reason_share_a_row():
    near = within(0, 0.1, TOLERANCE, "a round figure")
    far = {"reduced": reported("none"), "paper": at_most(1, TOLERANCE, "a round figure")}
    given = [
        claim("fig1.a", all_scales(at_most(2, OURS, "rounding"))),
        claim("fig1.b", all_scales(near)),
        claim("fig1.c", all_scales(near)),
        claim("fig2.d", far),
        claim("fig2.e", all_scales(reported("none"))),
    ]
    head, *rows = bounds.reasons(given)
    assert head == ["basis", "why", "bound: claims"]
    both = "0 within 0.1: `fig1` b, c<br>no bound (reduced), at most 1 (paper): `fig2` d"
    assert rows == [
        ["tolerance", "a round figure", both],
        ["ours", "rounding", "at most 2: `fig1` a"],
    ]
    assert bounds.counts({"p": given})[1] == ["`p`, training", "0", "3", "1", "1"]
