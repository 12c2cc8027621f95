"""The site: built as it is published, without torch; its links, its reference, what it includes.

Run by `.ci/run site`, in the environment of the group `site`; elsewhere it is skipped."""

import html
import importlib
import os
import re
import subprocess
import sys
from functools import cache
from urllib.parse import unquote

import pytest

import repro.__main__
import widthwise
import widthwise.__main__
from repro.suite.checkout import ROOT

DOCS = ROOT / "docs"
pytest.importorskip("furo", reason="needs the group site: bash .ci/run site")
sys.path.insert(0, str(DOCS / "_extensions"))
addresses, commands, docstrings, results = map(
    importlib.import_module, ("addresses", "commands", "docstrings", "results")
)


def build(source, to, **env):
    """(status, what Sphinx says), by the call that CONTRIBUTING.md and the workflow have."""
    call = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(source), str(to)]
    done = subprocess.run(call, cwd=ROOT, env=os.environ | env, capture_output=True, text=True)
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    status, said = build(DOCS, folder, GITHUB_REPOSITORY="")
    assert status == 0, said
    return folder


@cache
def text(page):
    return page.read_text("utf-8")


def links(page):
    return [html.unescape(each) for each in re.findall(r'<a [^>]*href="([^"]*)"', text(page))]


def pages(site):
    return [page for page in site.rglob("*.html") if not page.is_relative_to(site / "results")]


def is_there(target, anchor):
    return target.is_file() and (
        not anchor or target.suffix != ".html" or f'id="{anchor}"' in text(target)
    )


def test_the_environment_has_no_torch():
    assert importlib.util.find_spec("torch") is None, "the site must not need it"


def test_every_link_leads_to_a_page_and_an_anchor_that_are_there(site):
    count, dead = 0, []
    for page in pages(site):
        for link in links(page):
            if "://" in link or link.startswith("mailto:"):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / unquote(path)).resolve() if path else page
            count += 1
            if not is_there(target, unquote(anchor)):
                dead.append(f"{page.relative_to(site)}: {link}")
    assert dead == [] and count > 1000


def test_every_page_has_the_results_at_its_side_and_the_report_leads_back(site):
    papers = results.papers(site / "results")
    assert len(papers) == len(list(ROOT.glob("studies/*/README.md")))
    for page in pages(site):
        if page.name in ("genindex.html", "search.html") or (DOCS / f"{page.stem}.md").is_file():
            found = {*links(page)}
            assert {"results/index.html", *(f"results/{each}" for each, _ in papers)} <= found
    for page in site.glob("results/**/*.html"):
        up = "../" * len(page.parent.relative_to(site).parts)
        assert f'<a href="{up}index.html">Docs</a>' in text(page), page


def test_what_links_to_the_checkout_leads_to_the_report_where_it_shows_the_same(site):
    assert "results/index.html" in links(site / "index.html")
    assert "results/papers/upscaling.html" in links(site / "widening.html")
    scores = "results/figures/reduced/embedded/transfer/scores.html"
    assert scores in links(site / "transfer.html")
    assert "contributing.html#a-dataset" in links(site / "own-data.html")


def test_the_reference_has_every_public_name_with_its_docstring(site):
    page = text(site / "api.html")
    words = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", page)))
    for name in widthwise.PUBLIC:
        assert f'id="widthwise.{name}"' in page, name
    for said in (
        "The role of every parameter of the module that make(base) returns.",
        "Scale gradients down to a norm of at most max_norm",
        "make: Callable[[Any], torch.nn.Module]",
    ):
        assert said in words, said


def test_the_command_lines_are_those_of_the_parsers(site):
    page = text(site / "commands.html")
    for package, module in (("widthwise", widthwise.__main__), ("repro", repro.__main__)):
        known = commands.commands(module.parser())
        assert len(known) > 3
        assert [name for name in known if f'id="{package}-{name}"' not in page] == []
    assert "--recipe RECIPE" in page


def test_what_is_included_is_the_whole_file(site):
    for name, file in (("contributing", "CONTRIBUTING.md"), ("changes", "CHANGELOG.md")):
        headings = re.findall(r"^## (.+)$", (ROOT / file).read_text(), re.M)
        shown = [
            re.sub(r"<[^>]+>", "", h)
            for h in re.findall(r"<h2>(.*?)<a ", text(site / f"{name}.html"))
        ]
        assert [html.unescape(h) for h in shown] == [h.replace("`", "") for h in headings]


def test_a_link_that_leads_nowhere_ends_the_build(tmp_path):
    source = tmp_path / "docs"
    source.mkdir()
    for name in ("conf.py", "_extensions", "_templates", "_static"):
        (source / name).symlink_to(DOCS / name)
    lines = (
        "[a](no-such-page.md)",
        "[b](../studies/no_such_paper/README.md)",
        "[c](#no-such-part)",
    )
    (source / "index.md").write_text("# Title\n\n" + "\n\n".join(lines))
    status, said = build(source, tmp_path / "site")
    assert status != 0
    for words in ("no-such-page.md", "papers/no_such_paper.html", "no-such-part"):
        assert words in said


def test_files_of_the_checkout_are_links_into_the_repository_where_it_is_known(monkeypatch):
    for name in ("SERVER_URL", "REPOSITORY", "SHA"):
        monkeypatch.delenv(f"GITHUB_{name}", raising=False)
    assert addresses.repository() is None
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/suite")
    assert addresses.repository() is None
    monkeypatch.setenv("GITHUB_SHA", "abc")
    assert addresses.repository() == "https://github.com/someone/suite/blob/abc"


def test_a_report_of_another_form_is_named():
    with pytest.raises(Exception, match="no <nav"):
        results.with_way_back("<html></html>", "../")


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        (
            ["What `f` does, 2 * n or |x| of init_."],
            [r"What `f` does, 2 \* n or \|x\| of init\_.", ""],
        ),
        (
            ["First.", "", "a, b: what they", "    are. c: more.", "Raises UserError."],
            [
                "First.",
                "",
                "",
                "`a, b`",
                "    what they are.",
                "",
                "`c`",
                "    more.",
                "",
                "Raises UserError.",
                "",
            ],
        ),
        (["d: is no argument."], ["d: is no argument.", ""]),
        (["It is **bold**", "and goes on."], ["It is **bold** and goes on.", ""]),
    ],
)
def test_docstrings_are_restructured_text(docstring, expected):
    found = docstrings.restructured(docstring, {"a", "b", "c"})
    assert [line.replace("`a`, `b`", "`a, b`") for line in found] == expected
