"""The site: built as it is published, without torch; its links, its reference, what it includes.

Run by `.ci/run site`, in the environment of the group `site`; elsewhere it is skipped."""

import html
import importlib.util
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
from repro.errors import UserError
from repro.lineage.checkout import ROOT
from repro.report import build

DOCS = ROOT / "docs"
MOVED = dict.fromkeys(("house", "owner"), "contributing")
MOVED |= dict.fromkeys(("promises", "speed"), "running")
if importlib.util.find_spec("torch"):
    pytest.skip(
        "needs the environment of the group site: bash .ci/run site", allow_module_level=True
    )
sys.path.insert(0, str(DOCS / "_extensions"))
addresses, commands, docstrings = map(
    importlib.import_module, ("addresses", "commands", "docstrings")
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Made by the call that CONTRIBUTING.md and the workflow have."""
    folder = tmp_path_factory.mktemp("clone")
    call = [sys.executable, "-m", "repro", "report", "--folder", str(folder / "site")]
    env = os.environ | {"GITHUB_REPOSITORY": "", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "site"


@cache
def text(page):
    return page.read_text("utf-8")


def links(page):
    return [html.unescape(each) for each in re.findall(r'<a [^>]*href="([^"]*)"', text(page))]


def pages(site):
    return [*site.rglob("*.html")]


def is_there(target, anchor):
    state = "=" in anchor  # of a plot or a table, which a script reads
    return target.is_file() and (
        not anchor or state or target.suffix != ".html" or f'id="{anchor}"' in text(target)
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


def test_every_page_has_all_of_the_site_at_its_side_and_asks_nothing_of_others(site):
    papers = [path.parent.name for path in ROOT.glob("studies/*/README.md")]
    aside = ["index", "claims", "figures", "board", *(f"papers/{name}" for name in papers)]
    everywhere = {*(f"results/{name}" for name in aside), "library", "verdicts", "search"}
    assert len(pages(site)) > 400
    for page in pages(site):
        if 'content="0; url=' in text(page):  # it leads on
            continue
        name = page.relative_to(site)
        # furo writes `#` for the page itself, and a form that leads to the search.
        found = {os.path.normpath(name.parent / each.partition("#")[0]) for each in links(page)}
        wanted = {f"{each}.html" for each in everywhere} - {name.as_posix(), "search.html"}
        assert wanted <= found, name
        head = text(page).partition("</head>")[0]
        policy = head.index("Content-Security-Policy")
        assert policy < head.index("<link") and "default-src 'none'" in head
        assert len(re.findall(r"<h1\b", text(page))) == 1, name
        ids = re.findall(r' id="([^"]*)"', text(page))
        assert name.name in ("search.html", "genindex.html") or len(ids) == len({*ids}), name


def test_a_page_that_left_the_site_leads_on(site):
    for name, to in MOVED.items():
        assert (ROOT / "docs" / f"{name}.md").read_text().startswith("---\norphan: true\n")
        assert f'content="0; url={to}.html"' in text(site / f"{name}.html")


def test_what_links_to_the_checkout_leads_to_the_report_where_it_shows_the_same(site):
    assert "results/index.html" in links(site / "index.html")
    assert "results/papers/upscaling.html" in links(site / "widening.html")
    board = "results/figures/reduced/embedded/transfer/leaderboard.html"
    assert board in links(site / "transfer.html")
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
    lines = (
        "[a](no-such-page.md)",
        "[b](../studies/no_such_paper/README.md)",
        "[c](#no-such-part)",
    )
    (source / "index.md").write_text("# Title\n\n" + "\n\n".join(lines))
    with pytest.raises(UserError) as raised:
        build.render(source, tmp_path / "site")
    for words in ("no-such-page", "no_such_paper", "no-such-part"):
        assert words in str(raised.value)


def test_files_of_the_checkout_are_links_into_the_repository_where_it_is_known(monkeypatch):
    for name in ("SERVER_URL", "REPOSITORY", "SHA"):
        monkeypatch.delenv(f"GITHUB_{name}", raising=False)
    assert addresses.repository() is None
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/suite")
    assert addresses.repository() is None
    monkeypatch.setenv("GITHUB_SHA", "abc")
    assert addresses.repository() == "https://github.com/someone/suite/blob/abc"


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
