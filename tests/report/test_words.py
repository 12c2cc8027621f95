"""A verdict has one word, the same wherever it is shown, and the words have one home."""

import ast
import re

import pytest
from recorded import RECORDED
from repro.verdicts.judged_claims import fared, scoreboard_page

from repro.core.suite import load
from repro.files import read_json
from repro.lineage.checkout import ROOT
from repro.products import claims_json, explain, records, scoreboard
from repro.products.status import in_words
from repro.report import pages, text
from repro.verdicts.words import STATUSES, TOLD_FIRST, VERDICTS, counted, tally

HOME = ROOT / "repro" / "verdicts" / "words.py"
STYLE = (ROOT / "repro" / "report" / "static" / "report.css").read_text()
EVERY = read_json(records.RECORDS / "claims.json")["claims"]
HERE = [row for row in EVERY if (row["scale"], row["data"]) == ("reduced", "embedded")]
# Of each status a claim that was run.
ROWS = [next(r for r in HERE if r["verdict"] == word and r["n"] > 1) for word in VERDICTS]


def texts_of(tree):
    """The strings of a source, those of docstrings left out."""
    said = {n.value for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in said
    ]


def test_no_other_module_writes_a_status_as_a_literal():
    """A bound in words may begin with `no bound:`, as a claim states it."""
    word = re.compile(rf"(?<![\\w-])(?:{'|'.join(VERDICTS)})(?![\\w:-])")
    found = {
        str(path.relative_to(ROOT)): texts
        for folder in ("repro", "figures", "studies", "benchmarks", "widthwise")
        for path in (ROOT / folder).rglob("*.py")
        if path != HOME and word.search(source := path.read_text())
        if (texts := [t for t in texts_of(ast.parse(source)) if word.search(t)])
    }
    assert found == {}
    word = re.compile("|".join(each.replace(" ", "[ -]") for each in VERDICTS))
    for folder in ("static", "templates"):
        for path in (ROOT / "repro" / "report" / folder).iterdir():
            assert not word.search(path.read_text().replace(": what reproduced", "")), path.name


def test_terminal_and_scoreboard_say_the_word_of_every_status(monkeypatch):
    files = {"claims.json": ROWS, "provenance.json": {"made": []}}
    monkeypatch.setattr(scoreboard, "finished", lambda suite, name: RECORDED / "x")
    for name in ("read_json", "read_rows"):
        monkeypatch.setattr(scoreboard, name, lambda path: files[path.name])
    end = scoreboard.summary(load([]), {"p/f": True}, 1.0).splitlines()
    assert [w for line in end if (w := re.split(":|, or", line)[0]) in STATUSES] == [*TOLD_FIRST]
    page = scoreboard_page(RECORDED, "", ROWS, {r["figure"]: RECORDED / "x.md" for r in ROWS})
    for row in ROWS:
        (line,) = [each for each in page.decode().splitlines() if f"[`{row['claim']}`]" in each]
        assert line.startswith(f"| **{row['verdict']}** |")
    assert all(f"*{each.word}*: {each.meaning}" in page.decode() for each in STATUSES.values())


def test_pages_and_claims_json_say_the_word_of_every_status():
    macros = pages.templates().get_template("_macros.md").module
    for row in ROWS:
        status = STATUSES[row["verdict"]]
        shown = f'<span class="verdict v-{status.look}">{row["verdict"]}</span>'
        assert shown in macros.badge(row)
        assert row["left_out"] in macros.badge(row).replace("\N{MINUS SIGN}", "-")
        said = text.sentence([row | {"kind": "training"}]).partition("” ")[2]
        assert said.lower().startswith(row["verdict"])
        assert in_words([row])[0].startswith(row["verdict"])
        assert fared([row] * 3).endswith(status.behind or status.word)
    of_a_claim = claims_json.schema()["properties"]["claims"]["items"]["properties"]
    assert of_a_claim["verdict"]["enum"] == [*VERDICTS] and of_a_claim["seen"]["enum"]
    assert {row["verdict"] for row in EVERY} == {*VERDICTS}
    page = (ROOT / "docs" / "verdicts.md").read_text()
    for status in STATUSES.values():
        assert f"\n| {status.word} | {status.meaning} |\n" in page


@pytest.mark.parametrize("row", ROWS, ids=VERDICTS)
def test_explain_says_the_word_and_ends_with_the_call_that_verifies(row, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(explain, "every_claim", lambda: EVERY)
    suite = load([])
    monkeypatch.setattr(suite, "figure_cells", lambda name: {})
    name = f"{row['paper']}/{row['claim']}"
    found = name, row["figure"], explain.find_claim(name)[2]
    lines = explain.explain(suite, found[0]).splitlines()
    (line,) = [each for each in lines if each.startswith("  verdict: ")]
    assert line.startswith(f"  verdict: {row['verdict']}")
    assert re.search(
        rf"uv run snakemake verify --config figures={row['figure']} scale=\w+$", lines[-1]
    )


def test_a_status_has_a_colour_and_a_mark_of_its_own():
    for status in STATUSES.values():
        assert f".v-{status.look} {{" in STYLE, status.word
        (bar,) = re.findall(rf"\.s-{status.look} {{ background: light-dark\((#\w+),", STYLE)
        assert bar == status.color, "as in the pictures"
    assert len({status.look for status in STATUSES.values()}) == len(STATUSES)
    assert {*TOLD_FIRST} == {*VERDICTS}


def test_counts_have_the_words_of_their_status():
    assert [*tally(["no bound", "reproduced", "no bound"]).items()] == [
        ("reproduced", 1),
        ("no bound", 2),
    ]
    assert counted("no bound", 2) == "2 with no bound"
    assert counted("reproduced", 0) == "0 reproduced"
