"""What is said of how statements fared: at the end of a call, and in README."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from repro.core import discovery
from repro.products import records, summary
from repro.products.run_table import chosen_after_seeing
from repro.report.model import Site
from repro.verdicts import statements
from repro.verdicts.results import families, of_a_paper, survivors


def row(number, status="reproduced", kind="training", **changes):
    return {
        "figure": "embedding_lr/fig3",
        "test": f"fig3.c{number}",
        "statement": "falls",
        "column": f"m = {number}d, LayerNorm",
        "kind": kind,
        "status": status,
        "measured": -0.357,
        "low": -0.416,
        "high": -0.329,
        "n": 6,
        "p": 0.01,
        "bound": {"text": "-0.5 within 0.25", "low": -0.75, "high": -0.25, "basis": "tolerance"},
        "doubts": [],
        "laws": [],
    } | changes


@pytest.fixture
def ended(monkeypatch):
    """A function: tests -> the lines at the end of a call that built one figure."""

    def ended(tests, scale="reduced"):
        files = {"results.json": {"tests": tests, "readings": [{}, {}]}}
        files["provenance.json"] = {"made": []}
        monkeypatch.setattr(summary, "finished", lambda suite, name: Path("nowhere"))
        for name in ("read_json", "read_results"):
            monkeypatch.setattr(summary, name, lambda path: files[path.name])
        suite = SimpleNamespace(
            config=SimpleNamespace(scale=scale),
            label="embedded",
            command=lambda *words, **options: "explain it",
            is_embedded=lambda name: True,
        )
        return summary.summary(suite, {"embedding_lr/fig3": True}, 61.0).splitlines()

    return ended


def test_a_call_ends_with_what_is_stated_what_was_measured_and_whether_it_holds(ended):
    lines = ended([row(8), row(4, "not reproduced")])
    text = statements.of_paper("embedding_lr")["falls"].text
    first = lines.index(f"Hayou & Liu: {text}")
    told = [
        f"{status:14} m = {m}d, LayerNorm: -0.357 [-0.416, -0.329], expected -0.5 within 0.25; "
        "-0.5 outside"
        for status, m in (("not reproduced", 4), ("reproduced", 8))
    ]
    assert " ".join(" ".join(lines[first + 1 : first + 3]).split()) == " ".join(
        " ".join(told).split()
    ), "the worst first"
    assert lines[first + 3].startswith("besides: 2 readings, ")
    assert lines[-1] == "next: explain it"
    assert all(len(line) <= summary.COLUMNS for line in lines)


def test_a_terminal_is_not_flooded(ended):
    lines = ended([row(number) for number in range(20)])
    assert sum("LayerNorm" in line for line in lines) == summary.MOST
    assert "  and 8 tests more, on the figures' pages" in lines


def test_smoke_says_first_that_it_tests_nothing(ended):
    assert ended([], "smoke")[0].startswith("smoke proves the pipeline: ")


def test_readme_s_table_adds_up():
    lines = summary.on_record()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:7]]
    own = [paper for paper in discovery.papers().values() if not paper.ours]
    assert [re.sub(r"\[(.*)\].*", r"\1", name) for name, *_ in rows] == [p.heading for p in own]
    for paper, (_, every, *fates) in zip(own, rows, strict=True):
        stated = statements.of_paper(paper.slug).values()
        assert int(every) == sum(map(int, fates)) == sum(not each.ours for each in stated)


def test_a_test_is_of_a_paper_where_its_folder_and_kind_say_so():
    assert of_a_paper(row(1)) and not of_a_paper(row(1, kind="control"))
    assert not of_a_paper(row(1, figure="transfer/shift"))


def test_many_tests_of_a_paper_are_taken_together():
    """A p-value that would do for one test does not for one of forty."""
    family = [row(i, "inconclusive", p=0.5) for i in range(38)] + [row("x", p=0.02)]
    others = [row(98, p=1e-9, figure="transfer/shift"), row(99, kind="control"), row(97, p=None)]
    assert len(families([*family, *others])["embedding_lr"]) == 39
    assert survivors([*family, row("y", p=0.0001), *others]) == {("embedding_lr", "fig3.cy")}
    assert survivors([family[-1]]) == {("embedding_lr", "fig3.cx")}
    here = [each | {"scale": "smoke", "data": "embedded"} for each in (*family, row(97, p=None))]
    tests = [SimpleNamespace(row=each) for each in here]
    site = Site(None, [], [SimpleNamespace(tests=tests)], [])
    assert [site.stands(each) for each in here[-3:]] == [False, False, True]


def test_settings_chosen_after_seeing_results_are_named_below_paper_scale():
    assert "prototypes" in chosen_after_seeing("embedding_lr/fig3", "reduced")
    assert chosen_after_seeing("embedding_lr/fig3", "paper") == ""
    assert chosen_after_seeing("embedding_lr/table3", "reduced") == ""


def test_a_statement_of_ours_is_not_told_as_the_paper_s():
    """Found in review: the end of a call gave it the paper's name."""
    rows = [row for part in records.every() for row in part.tests if row["scale"] == "smoke"]
    ours = [row for row in rows if row["figure"] == "embedding_lr/table1"]
    theirs = [row for row in rows if row["figure"] == "upscaling/equivalence"]
    assert ours and next(summary._told(ours)).startswith("of ours, beside Hayou & Liu: ")
    assert theirs and next(summary._told(theirs)).startswith("Ma et al.: ")
