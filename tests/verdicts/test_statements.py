"""What papers state, and how that fared in its tests."""

import pytest
from refusals import refused

from repro.core import catalog, discovery
from repro.lineage.checkout import ROOT
from repro.verdicts import statements
from repro.verdicts.answers import OF_A_PAPER
from repro.verdicts.figure import figure_named
from repro.verdicts.results import INCONCLUSIVE, NOT_REPRODUCED, REPRODUCED
from repro.verdicts.statements import Statement

HEAD = "statement,text,source,quote\n"


@pytest.fixture
def table(monkeypatch, tmp_path):
    """A function: the rows of a paper's statements -> what `of_paper` reads of them."""

    def table(text):
        (tmp_path / "studies/p").mkdir(parents=True, exist_ok=True)
        (tmp_path / "studies/p/statements.csv").write_text(HEAD + text)
        monkeypatch.setattr("repro.core.rows.ROOT", tmp_path)
        return statements.of_paper("p")

    return table


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,It falls,Figure 1,\na,It rises,Figure 2,\n", "line 3: statement 'a' is there twice"),
        ("a,,Figure 1,\n", "line 2: text is empty"),
        ("a,It falls\n", "line 2: has 2 cells where 4 belong"),
        (f"a,It falls,Figure 1,{'as ' * 16}\n", "line 2: quote has more than 15 words"),
        ("a,It falls,ours,it falls\n", "line 2: quote is of no paper"),
    ],
)
def test_a_table_that_is_none_is_one_line(table, text, words):
    with refused(f"statements.csv, {words}"):
        table(text)


def row(column, status, kind="training", statement="falls", outside=""):
    return {
        "figure": "p/fig1",
        "statement": statement,
        "column": column,
        "status": status,
        "kind": kind,
        "bound": {"outside": outside},
    }


GOOD, BAD, OPEN = REPRODUCED, NOT_REPRODUCED, INCONCLUSIVE


@pytest.mark.parametrize(
    ("rows", "fates"),
    [
        ([], []),
        ([("MLP", GOOD)], [(GOOD, ["MLP"])]),
        ([("MLP", GOOD), ("ViT", GOOD)], [(GOOD, ["MLP", "ViT"])]),
        (
            [("MLP", GOOD), ("ViT", GOOD), ("ResNet", BAD)],
            [(BAD, ["ResNet"]), (GOOD, ["MLP", "ViT"])],
        ),
        ([("MLP", GOOD), ("MLP", BAD)], [(BAD, ["MLP"])]),
        (
            [("MLP", GOOD), ("ViT", OPEN), ("GRU", BAD), ("BART", OPEN)],
            [(BAD, ["GRU"]), (OPEN, ["ViT", "BART"]), (GOOD, ["MLP"])],
        ),
    ],
)
def test_a_statement_s_status_is_that_of_its_tests_side_by_side(table, rows, fates):
    table("falls,It falls,Figure 1,\n")
    [found] = statements.fared("p", [row(*each) for each in rows])
    assert [(each.status, each.columns) for each in found.fates] == fates
    assert all(each.good == (each.status == GOOD) for each in found.fates)
    assert [cell.status for cell in found.cells] == sorted(
        [cell.status for cell in found.cells], key=[BAD, OPEN, GOOD].index
    ), "the worst first"


def test_tests_outside_the_paper_s_conditions_are_told_apart_and_stand_last(table):
    table("falls,It falls,Figure 1,\n")
    away = row("MLP", BAD, outside="n0 = 16"), row("ViT", GOOD, outside="n0 = 16")
    [found] = statements.fared("p", [*away, row("ViT", OPEN), row("GRU", GOOD)])
    assert [(each.status, each.outside) for each in found.fates] == [
        (OPEN, False),
        (GOOD, False),
        (BAD, True),
    ], "a column with a test within them is told by that"
    assert [(cell.column, cell.status) for cell in found.cells] == [
        ("ViT", OPEN),
        ("GRU", GOOD),
        ("MLP", BAD),
    ]


def test_a_control_counts_for_a_statement_of_ours_alone(table):
    table('falls,It falls,Figure 1,\nbeside,It falls too,"ours, on Figure 1",\n')
    tests = [row("mine", BAD, "control"), row("mine", BAD, "control", "beside"), row("MLP", GOOD)]
    fared = statements.fared("p", tests)
    assert [each.fates[0].status for each in fared] == [GOOD, BAD], "ours are last"


@pytest.mark.parametrize("slug", discovery.papers())
def test_every_statement_has_a_test_and_is_the_paper_s_or_ours_as_they_are(slug):
    known = statements.of_paper(slug)
    tests = [
        (name, test)
        for name in catalog.figure_names()
        if name.startswith(f"{slug}/")
        for test in figure_named(name).tests
    ]
    having = {test.statement for _, test in tests}
    assert len({each.text for each in known.values()}) == len(known) <= 26
    page = (ROOT / f"studies/{slug}/README.md").read_text()
    for name in having ^ {*known}:
        assert f"`{name}`" in page, "a statement without a test has a line why"
    if not discovery.papers()[slug].ours:
        papers = {test.statement for _, test in tests if test.kind in OF_A_PAPER}
        assert papers == {n for n, each in known.items() if not each.ours and n in having}
    for each in known.values():
        assert each.text[0].isupper() and not each.text.endswith("."), each


def test_a_test_of_no_statement_is_refused_with_the_nearest(table, monkeypatch):
    table("falls,It falls,Figure 1,\n")
    figure = figure_named("embedding_lr/fig3")
    with refused(r"figures/p/fig3.py: test 'fig3.one-constant-mup': .* is"):
        statements.check("p/fig3", figure)


def test_there_are_as_many_statements_as_a_reader_can_hold():
    papers = [paper.slug for paper in discovery.papers().values() if not paper.ours]
    assert sum(len(statements.of_paper(slug)) for slug in papers) <= 80
    assert Statement("a", "It falls", "ours: the paper says nothing", "").ours
    assert not Statement("a", "It falls", "Figure 1, ours", "").ours
