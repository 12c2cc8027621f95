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
from repro.verdicts.figure import figure_named
from repro.verdicts.results import families, of_a_paper, survivors


def row(number, status="reproduced", kind="training", **changes):
    return {
        "figure": "embedding_lr/fig3",
        "scale": "overnight",
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
        "bound": {
            "text": "-0.5 within 0.25",
            "low": -0.75,
            "high": -0.25,
            "basis": "tolerance",
            "predicted": [],
            "outside": "",
        },
        "doubts": [],
        "laws": [],
    } | changes


STATUSES = ("reproduced", "not reproduced", "inconclusive")


@pytest.fixture
def ended(monkeypatch):
    """A function: tests -> the lines at the end of a call that built one figure."""

    def ended(tests, scale="reduced", readings=("a", "b")):
        of = {"figure": "embedding_lr/fig3", "measured": None}
        read = [of | {"reading": name} for name in readings]
        found = {"results": {"tests": tests, "readings": read}, "provenance": {"made": []}}
        monkeypatch.setattr(summary, "finished", lambda suite, name: Path("nowhere"))
        for name, content in found.items():
            monkeypatch.setattr(summary.gate, name, lambda folder, content=content: content)
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
        "-0.5 outside; untested: no table of a rival law was tried"
        for status, m in (("not reproduced", 4), ("reproduced", 8))
    ]
    last = next(i for i, line in enumerate(lines) if line.startswith("besides: 2 readings, "))
    assert " ".join(" ".join(lines[first + 1 : last]).split()) == " ".join(
        " ".join(told).split()
    ), "the worst first"
    assert lines[-1] == "next: explain it"
    assert all(len(line) <= summary.COLUMNS for line in lines)


@pytest.mark.parametrize("kind", ["training", "control"])
def test_what_no_register_knows_agrees_or_differs_at_the_default_scale(kind):
    """Found in review: a new paper's first figure ended with "reproduced"."""
    known = "fig3.sqrt-d-rule-as-printed"
    for test, said in (("fig3.mine", ["agrees", "differs", "open"]), (known, [*STATUSES])):
        rows = [row(i, s, kind, test=test, scale="reduced") for i, s in enumerate(STATUSES)]
        lines = " ".join(summary._by_statement(rows))
        assert all(f"  {word} " in lines for word in said), test
        assert ("reproduced" in lines) == (test == known)


def test_a_number_that_is_beside_a_statement_stands_below_its_tests(ended):
    told = {"figure": "embedding_lr/fig3", "bound": None, "seen": "", "n": 5}
    told |= {"reading": "fig3.one-constant-mup-as-printed", "beside": "above 0 in the paper"}
    told |= {"measured": 0.0018, "low": -0.001, "high": 0.005}
    tests = [row(1, statement="one-constant")]
    lines = [*summary._by_statement(tests, [told])]
    assert lines[-1] == (
        "  a reading      than muP's, as printed: 0.0018 [-0.001, 0.005]; above 0 in the paper"
    )


def test_what_is_measured_besides_is_counted_once(ended):
    """Found in review: `1 readings, 1 tests of larger scales`, and both were the same one."""
    larger = [t for t in figure_named("embedding_lr/fig3").tests if not t.binds("smoke", True)]
    ids = [test.id for test in larger]
    (said,) = (line for line in ended([], "smoke", ["a", *ids]) if line.startswith("besides: "))
    assert said.startswith(f"besides: 1 reading, {len(ids)} tests of larger scales")


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
    assert ours and next(summary._by_statement(ours)).startswith("of ours, beside Hayou & Liu: ")
    assert theirs and next(summary._by_statement(theirs)).startswith("Ma et al.: ")


def test_a_clone_that_cannot_tell_what_was_registered_counts_none(monkeypatch):
    """Found by a trial: `0 of them were registered before their runs` in a shallow clone."""
    monkeypatch.setattr(summary.badge, "unknown", lambda: "the clone is shallow")
    said = summary.said([])
    assert "is unknown here (the clone is shallow). " in said and "0 of them" not in said
