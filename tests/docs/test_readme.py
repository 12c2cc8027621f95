import re
from functools import cache

import pytest
from recorded import README, RECORDED, listed, not_run

from repro.judge import badge as badges
from repro.judge import cited, confirmed, marks, records, scoreboard
from repro.suite import catalog, registry
from repro.suite.checkout import ROOT
from repro.suite.suite import load

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "config/README.md")),
    *sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("studies/*/README.md")]),
]


def test_the_first_command_builds_and_the_second_tests():
    blocks = re.findall(r"```\n(.*?)```", README, re.S)
    assert blocks[0].strip() == "pip install uv && uv run snakemake figures/fig3.pdf --cores all"
    assert blocks[1].strip() == "uv run pytest"


@cache
def history() -> bool:
    """Whether git has here the commits that the registered runs name."""
    return not badges.unknown() and not any(
        "this history does not have" in line for line in confirmed.lines()
    )


def test_the_scoreboard_is_the_recorded_one():
    """Its numbers come from the runs behind records/, and the README counts them right."""
    rows = records.recorded_claims(RECORDED)
    page = records.recorded_board(RECORDED)
    assert (RECORDED / "scoreboard.md").read_bytes() == page
    path = ROOT / "README.md"
    if not history():
        pytest.skip("without the history of the runs nothing says what was registered before them")
    lines = scoreboard.counts_on_record(load([]))
    filled = marks.filled(path, scoreboard.PAGE, lambda: lines)
    assert path.read_text() == filled, "python -m repro scoreboard --page README.md"
    assert {row["figure"] for row in rows} == set(listed())


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


def test_the_first_page_is_short_leads_to_all_others_and_says_its_terms():
    own = re.sub(r"<!-- from here.*?to here -->", "", README, flags=re.S)  # not what is generated
    assert len(own.splitlines()) < 130
    prose = re.sub(r"\]\([^)]*\)", "]", own)
    assert len(re.findall(r"[A-Za-z][\w'^/.-]*|\d[\d.,]*", prose)) <= 1060
    contents = (ROOT / "docs" / "index.md").read_text()
    for page in ROOT.glob("docs/*.md"):
        in_contents = re.search(rf"^{page.stem}$", contents, re.M) or page.stem == "index"
        assert in_contents, "every page is in the contents of the site's first one"
    assert len(re.findall(r"\]\(docs/[\w-]+\.md\)", README)) > 8
    for term in ("parametrization", "SP", "muP", "LVP", "Neural-tangent", "upscaled", "base"):
        assert README.index(f"*{term}*") < README.index("## What reproduces")
    for word in ("Synthetic", "real", "reproduced", "not reproduced", "inconclusive"):
        assert f"*{word}*" in README
    assert "or of a GPU: none of these was ever tried" in README.replace("\n", " ")


def test_what_pages_say_of_the_papers_is_what_their_own_files_say():
    assert cited.outdated() == [], "python -m repro papers --write"


def test_every_figure_of_a_paper_is_listed():
    """What is on record, which `test_records` holds, and what is not run yet."""
    assert {*listed(), *not_run()} == {*catalog.figure_names()}
    assert not {*listed()} & {*not_run()} and all(map(cited.on_record, listed()))
    named = {name.split("/")[0] for name in (*listed(), *not_run())}
    assert named == {*registry.papers()} and not registry.broken_papers()
    for slug, paper in registry.papers().items():
        assert f"{slug}/{paper.answer}" in catalog.figure_names()


def test_the_widening_example_runs_and_keeps_the_function():
    import torch

    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len([line for line in code.splitlines() if line.strip()]) <= 12
    names = {}
    exec(code, names)
    x = torch.randn(4, 5)
    for _ in range(3):
        for model, optimizer in (("model", "optimizer"), ("wide", "wide_optimizer")):
            names[optimizer].zero_grad()
            names[model](x).square().sum().backward()
            names[optimizer].step()
    torch.testing.assert_close(names["wide"](x), names["model"](x), rtol=1e-4, atol=1e-5)
    assert names["wide"][0].out_features == 32


def test_the_registered_verdicts_are_those_on_record():
    if not history():
        pytest.skip("the history of the runs is not here")
    path = ROOT / "docs" / "verdicts.md"
    filled = marks.filled(path, confirmed.PAGE, confirmed.lines)
    assert path.read_text() == filled, "python -m repro registered --page docs/verdicts.md"
    lines = confirmed.lines()
    now = lines[2 : lines.index("")]
    assert now and all(line.endswith("| registered before |") for line in now)
    assert len([row for row in confirmed.lines() if "| " in row]) > 42 + len(now)
