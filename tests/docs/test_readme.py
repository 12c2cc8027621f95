import re
from dataclasses import replace
from functools import cache

import pytest
from recorded import README, listed, not_run
from refusals import refused

from repro.authoring.new import PARTS
from repro.core import catalog, discovery
from repro.core.study import SCALES, TRAINED_SCALES
from repro.core.suite import load
from repro.files import read_json
from repro.lineage.checkout import ROOT
from repro.products import answered, forecast, records, status, summary
from repro.report import cited, marks
from repro.verdicts.results import paper_of
from repro.verdicts.settings import SHARE
from repro.verdicts.words import outside

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "config/README.md")),
    *sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("studies/*/*.md")]),
]


def test_the_first_command_builds_and_the_second_tests():
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.S | re.M)
    blocks = [text for language, text in fenced if not language]
    assert blocks[0].strip() == "pip install uv && uv run snakemake figures/fig3.pdf --cores all"
    assert blocks[1].strip() == "uv run pytest"


def test_what_reproduces_is_what_is_on_record():
    """Every number of the table, and the end of the first call, come from records/."""
    path = ROOT / "README.md"
    for part, lines in (
        ("answers", answered.lines),
        ("first", summary.first_call),
        ("statements", summary.on_record),
    ):
        filled = marks.filled(path, part, lines)
        assert path.read_text() == filled, "python -m repro new pages"


def anchors(page):
    """What a link may name after `#`: the page's headings, as GitHub writes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_no_link_is_dead_and_every_path_is_there(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    links = [path for path in re.findall(r"\]\(([^)]+)\)", text) if "://" not in path]
    for link in links:
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists() and (not anchor or anchor in anchors(target)), link
    if page.name not in (
        "CONTRIBUTING.md",
        "own-settings.md",
    ):  # they also name files to be written
        named = re.findall(r"`((?:repro|studies)/[^`<]+)`", text)
        assert all((ROOT / path).exists() for path in named)


def for_authors(page):
    """Whether a page of docs/ is left out of the contents of the site."""
    return page.read_text().startswith("---\norphan: true\n---\n")


def test_the_first_page_leads_to_all_others_and_says_its_terms():
    contents = (ROOT / "docs" / "index.md").read_text()
    for page in ROOT.glob("docs/*.md"):
        in_contents = re.search(rf"^{page.stem}$", contents, re.M) or page.stem == "index"
        assert bool(in_contents) != for_authors(page), "in the contents, or for the authors"
    first_use = README.index("| question |")
    for term in ("parametrization", "SP", "muP", "LVP", "Neural-tangent", "upscaled", "base"):
        assert README.index(f"*{term}*") < first_use
    for word in ("Reproduced", "Not reproduced", "Inconclusive", "Registered"):
        assert README.index(f"*{word}*") < first_use
    for word in ("synthetic", "real"):
        assert f"*{word}*" in README
    assert "or of a GPU: none of these was ever tried" in README.replace("\n", " ")


def test_what_a_call_needs_is_said_before_the_call():
    before = README[: README.index("pip install uv")]
    for words in ("git clone", "Linux on x86-64", "Python 3.11", "GB"):
        assert words in before.replace("\n", " "), words
    assert forecast.promise(load([]), "fig3") in " ".join(summary.first_call()[:2])


ASKED = [
    pytest.param(paper, each, id=f"{slug}: {', '.join(each.tests)}")
    for slug, paper in discovery.papers().items()
    for each in paper.answers
]
# What an answer begins with -> the status of its tests; of a power it may be any.
BEGINS = {"Yes": "reproduced", "No": "not reproduced", "Open": "inconclusive"}
POWER = re.compile(r"(?:Falls|Rises|Stays), as \w+\^\S+")


@cache
def on_record(data="embedded"):
    rows = read_json(records.RECORDS / "claims.json")["tests"]
    rows = [row for row in rows if row["data"] == data]
    return {(row["figure"], row["scale"], row["test"]): row for row in rows}


@cache
def answers():
    return answered.answered(records.every())


@pytest.mark.parametrize(("paper", "asked"), ASKED)
def test_an_answer_s_words_fit_its_tests_and_its_numbers_are_of_records(paper, asked):
    every = {(row["test"]) for part in records.every() for row in part.tests}
    if not {*asked.tests} <= every:  # a paper that is not run yet
        return
    (found,) = (each for each in answers() if each.question == asked.question)
    first = re.match(r"\w+", found.found)[0]
    assert first in BEGINS or POWER.match(found.found)
    if first in BEGINS:
        assert {row["status"] for row in found.tests} == {BEGINS[first]}
    for text in (asked.found, asked.against):
        typed = answered.NUMBER.sub("", text)
        assert not re.findall(r"\d\.\d", typed), "a number that no record gives"
    assert (ROOT / found.page).exists()
    assert f"figures/{found.figure}.pdf" in found.call


def test_an_answer_is_that_of_its_tests_strongest_records():
    """One status a test, wherever it stands."""
    rows = status.by_test(row for part in records.every() for row in part.tests)
    for each in answers():
        for row in each.tests:
            assert rows[each.paper.slug, row["test"]][0] == row, each.question


@pytest.mark.parametrize("slug", [part[0].split("/")[1] for part in PARTS if part[1] == "settings"])
def test_a_papers_page_leads_with_what_drawn_settings_say(slug):
    page = ROOT / "studies" / slug / "README.md"
    lines = answered.drawn(slug)
    assert page.read_text() == marks.filled(page, "settings", lambda: lines), "repro new pages"
    head = page.read_text().split("\n\n")[1]
    assert head.startswith("<!-- from here") and lines
    shares = [row for row in every_share() if paper_of(row) == slug]
    for row in shares:
        largest = [other for other in shares if other["figure"] == row["figure"]][-1] is row
        share = f"{round(row['measured'] * row['n'])} of {row['n']}"
        asked = f"**{share}** drawn settings" if largest else f"At {row['scale']} scale, on other"
        (line,) = (line for line in lines if asked in line and row["figure"] in line)
        assert share in line and f"/{row['scale']}/" in line


def every_share():
    """The share of drawn settings of every figure and scale that trains, the larger scale later."""
    rows = [row for part in records.every() for row in (*part.tests, *part.readings)]
    own = [r for r in rows if r.get("test", r.get("reading", "")).endswith(SHARE)]
    return sorted(
        (r for r in own if r["data"] == "embedded" and r["scale"] in TRAINED_SCALES),
        key=lambda row: SCALES.index(row["scale"]),
    )


def test_an_answer_says_in_how_many_drawn_settings_it_is_so():
    """By the record of the same statement, of its first question alone: Figure 3's settings say
    nothing of Figure 1's vocabulary. Where none were drawn it says that."""
    cell = answered.HEAD.index("in how many settings")
    means = {
        (r["figure"], r["scale"]): r.get("statement")
        for part in records.every()
        for r in (*part.tests, *part.readings)
        if r.get("test", r.get("reading", "")).endswith("settings.mean")
    }
    by_share = {
        (paper_of(row), row.get("statement") or means[row["figure"], row["scale"]]): row
        for row in every_share()
    }
    for each in answers():
        row = by_share.pop((each.paper.slug, each.tests[0]["statement"]), None)
        said = answered.row(each)[cell]
        assert (said == "none drawn") == (row is None), each.question
        if row:
            assert f"[{round(row['measured'] * row['n'])} of {row['n']}, median " in said


def test_the_fall_that_is_slower_than_the_theorem_s_is_said():
    (row,) = (e for e in answers() if "fig3.sqrt-d-rule-as-printed" in e.tests[0]["test"])
    assert "above all that Theorem 1" in outside(row.tests[0])
    assert "-1/2 itself is outside" in row.against
    figures = read_json(records.RECORDS / "claims.json")["figures"]
    of = ("embedding_lr/fig3", "reduced", "embedded")
    (its,) = (f for f in figures if (f["figure"], f["scale"], f["data"]) == of)
    rejected = its["chosen_after_seeing"].partition("rejected: ")[2].partition(";")[0]
    assert "two generated texts (" in rejected and "no LayerNorm (" in rejected
    assert len(re.findall(r"-\d\.\d+", rejected)) == 3


def test_the_minutes_of_an_answer_are_those_of_the_page_of_costs():
    """The minutes that the call itself says at its beginning, and docs/cost.md's are their end."""
    costs = (ROOT / "docs" / "cost.md").read_text().splitlines()
    head = next(line for line in costs if line.startswith("| figure: hours"))
    for each in answers():
        minutes = answered.row(each)[-1]
        priced = next(line for line in costs if line.startswith(f"| `{each.figure}` |"))
        hours = dict(zip(head.split(" | "), priced.split(" | "), strict=True))[each.scale]
        ratio = float(minutes.split()[-1]) / (float(hours) * 60 / 2)
        if float(hours) > 0.02:  # else it is starting, not training
            assert 0.5 <= ratio / forecast.SLOWEST <= 2, each.figure


@pytest.mark.parametrize("name", ["fig1.slope", "fig3.transfer-lr-gpt2x@overnight"])
def test_an_answer_that_names_no_number_on_record_is_one_line(name, monkeypatch):
    paper = discovery.papers()["upscaling"]
    (asked, *_) = paper.answers
    odd = replace(paper, answers=(replace(asked, found=f"Yes: {{{name}}}"),))
    monkeypatch.setattr(discovery, "papers", lambda: {"upscaling": odd})
    with refused("studies/upscaling/paper.toml: .* is no test or reading on record"):
        answered.answered(records.every())


def test_what_pages_say_of_the_papers_is_what_their_own_files_say():
    assert cited.outdated() == [], "python -m repro new pages"


def test_every_figure_of_a_paper_is_listed():
    """What is on record, which `test_records` holds, and what is not run yet."""
    assert {*listed(), *not_run()} == {*catalog.figure_names()}
    assert not {*listed()} & {*not_run()} and all(map(cited.on_record, listed()))
    named = {name.split("/")[0] for name in (*listed(), *not_run())}
    assert named == {*discovery.papers()} and not discovery.broken_papers()
    for slug, paper in discovery.papers().items():
        for each in paper.answers:
            assert f"{slug}/{each.tests[0].partition('.')[0]}" in catalog.figure_names()


FINDING = re.compile(
    r"^\| [^|]*\(`([\w.-]+)`\) \| \[([a-z ]+)\]\(../../records/(\w+)/(\S+)/cpu/(\w+/\w+)\.md\)"
    r"(, registered)? \| [^|]+ \| [^|]+ \|$",
    re.M,
)
FINDINGS = [
    pytest.param(*found.groups(), id=f"{page.parent.name}: {found[1]}, {found[3]}, {found[4]}")
    for page in sorted(ROOT.glob("studies/*/README.md"))
    for found in FINDING.finditer(page.read_text())
]


@pytest.mark.parametrize(("claim", "verdict", "scale", "data", "figure", "registered"), FINDINGS)
def test_a_finding_of_a_paper_s_page_is_on_record(claim, verdict, scale, data, figure, registered):
    row = on_record(data)[figure, scale, claim]
    assert row["status"] == verdict
    assert (row["registered"] == "registered before") == (registered is not None)


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("studies/*/README.md")), ids=lambda page: page.parent.name
)
def test_each_row_of_a_paper_s_page_is_a_finding(page):
    text = page.read_text()
    rows = [line for line in text.splitlines() if re.match(r"\| .*\(`", line)]
    findings = FINDING.findall(text)
    assert len(findings) in (len(rows), 0), "a row without a test, or not of the form"


LLAMA, WIDENING = re.findall(r"```python\n(.*?)```", README, re.S)


@pytest.mark.slow  # imports transformers
def test_the_llama_is_right_by_the_rates_that_it_gets():
    import torch

    names = {}
    exec(LLAMA, names)
    assert {group["lr"] for group in names["optimizer"].param_groups} == {0.004, 0.001}
    model, tokens = names["model"], names["tokens"]
    loss = model(tokens, labels=tokens).loss
    loss.backward()
    names["optimizer"].step()
    names["plan"].check(names["optimizer"])
    assert model(tokens, labels=tokens).loss < loss and model.lm_head.in_features == 256
    assert torch.isfinite(loss)


def test_the_rates_that_equal_mup_s_are_those_of_the_table():
    page = (ROOT / "docs" / "library.md").read_text()
    models, _, _, equal, different, own = (
        int(cell) for cell in re.search(r"^\| \*\*all\*\* \| (.*) \|$", page, re.M)[1].split(" | ")
    )
    said = re.search(
        r"Of the ([\d,]+) learning rates that (\d+)\s.*?\s([\d,]+)\sequal", README, re.S
    )
    found = [int(number.replace(",", "")) for number in said.groups()]
    assert found == [equal + own, models, equal] and different == 0


def test_the_widening_example_runs_and_keeps_the_function():
    import torch

    names = {}
    exec(WIDENING, names)
    x = torch.randn(4, 5)
    for _ in range(3):
        for model, optimizer in (("model", "optimizer"), ("wide", "wide_optimizer")):
            names[optimizer].zero_grad()
            names[model](x).square().sum().backward()
            names[optimizer].step()
    torch.testing.assert_close(names["wide"](x), names["model"](x), rtol=1e-4, atol=1e-5)
    assert names["wide"][0].out_features == 32
