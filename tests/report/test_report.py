"""The report: what its pages say and link to, and the data that they are filled with."""

import csv
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qsl, unquote, urldefrag, urlsplit

import pytest
import yaml
from parameters import kept
from recorded import RECORDED, its_pages

from repro.__main__ import main
from repro.core import catalog, discovery
from repro.core.suite import load
from repro.errors import UserError
from repro.files import read_json
from repro.lineage.checkout import ROOT
from repro.products import status
from repro.report import address, build, front, model, pages, settings, text
from repro.report.plot import LAST, plot
from repro.report.strip import APART, strip, strips
from repro.verdicts import badge as badges
from repro.verdicts.figure import View
from repro.verdicts.results import INCONCLUSIVE, NOT_REPRODUCED, REPRODUCED
from repro.verdicts.words import STATUSES

pytestmark = pytest.mark.long

FIGURES = "embedding_lr/fig2,embedding_lr/table2"
TRANSFER = "transfer/leaderboard,transfer/shift"
PAGE = "figures/reduced/embedded/embedding_lr/table2"


class Elements(HTMLParser):
    """Ids, classes and addresses of a page, and its texts."""

    def __init__(self, page: Path | str):
        super().__init__()
        self.ids, self.addresses, self.texts, self.classes = [], [], [], []
        self.feed(page if isinstance(page, str) else page.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.classes += (found.get("class") or "").split()
        self.addresses += [(tag, found[name]) for name in ("href", "src") if name in found]

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def source_of(page, path, root):
    """What an address leads to, before the site is rendered; root: of the results in it."""
    found = (page.parent / path).resolve()
    inside = found.is_relative_to(root)
    source = found if inside else ROOT / "docs" / found.relative_to(root.parent)
    if source.parent.name == "_static":
        return ROOT / "repro" / "report" / "static" / source.name
    return source.with_suffix(".md") if source.suffix == ".html" else source


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return its_pages(tmp_path_factory.mktemp("clone"), FIGURES)


@pytest.fixture(scope="module")
def transfer(tmp_path_factory):
    return its_pages(tmp_path_factory.mktemp("clone"), TRANSFER)


@pytest.mark.slow
def test_a_fresh_clone_has_a_site_and_is_told_where_from(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", "--config", f"figures={FIGURES}", "--folder", "there/site"]) == 0
    said, first = capsys.readouterr()
    assert first == "making the site of 2 figures in there/site, less than a minute of one core\n"
    assert said.startswith("there/site/results/index.html: ")
    assert "2 figures on record in records/reduced/embedded/cpu" in said
    words = Elements(tmp_path / "there/site/results/index.html").text
    assert "2 figures on record in records/reduced/embedded/cpu" in words
    assert [path.name for path in tmp_path.iterdir()] == ["there"], "and leaves nothing else"


@pytest.mark.parametrize("name", kept(["site", "transfer"], first=1))
def test_every_address_leads_somewhere_and_nothing_is_asked_of_a_network(name, request):
    root = request.getfixturevalue(name)
    found = sorted({*root.rglob("*.md")} - {root / "_answers.md"})  # a part of another page
    counts = {
        folder: len([page for page in found if page.is_relative_to(root / folder)])
        for folder in ("papers", "figures", "claims")
    }
    tests = {
        (row["figure"].split("/")[0], row["test"])
        for row in read_json(root / "claims.json")["tests"]
    }
    assert counts["claims"] == len(tests) > 0, "a page each, whatever the scale"
    moved = sorted((root / "claims").rglob("*.html"))
    for page in moved:
        [(_, to)] = Elements(page).addresses
        assert (page.parent / unquote(to)).with_suffix(".md").is_file(), "it leads on"
    # Two figures, of one also on WikiText-2 itself; or two at two scales. None of smoke.
    assert counts["figures"] == {"site": 2 + 1, "transfer": 2 * 2}[name]
    assert counts["papers"] == 1
    start = {root / f"{page}.md" for page in ("index", "claims", "figures")}
    boards = 2 * (name == "transfer")
    assert len(found) == sum(counts.values()) + len(start) + boards and start <= {*found}
    assert len(catalog.figure_names()) > 5
    elements = {page: Elements(page) for page in found}
    for page, content in elements.items():
        assert len(content.ids) == len(set(content.ids)), page
        for tag, to in content.addresses:
            assert to, f"{page}: {tag} leads nowhere"
            if to.startswith("https://"):
                assert tag == "a", f"{page}: {tag} {to}"
                continue
            path, anchor = urldefrag(to)
            target = source_of(page, unquote(path), root) if path else page
            assert target.is_file(), f"{page}: {to}"
            if anchor and "=" not in anchor and target in elements:
                assert unquote(anchor) in elements[target].ids, f"{page}: {to}"


def test_every_test_has_a_page_a_card_and_a_line_in_the_downloads(site):
    with (site / "claims.csv").open(newline="") as lines:
        table = list(csv.DictReader(lines))
    rows = read_json(site / "claims.json")["tests"]
    assert len(rows) == len(table) > 0
    for row in rows:
        page = site / f"figures/{row['scale']}/{row['data']}/{row['figure']}.html"
        assert row["test"] in Elements(page.with_suffix(".md")).ids
        own = Elements(site / f"claims/{row['figure'].split('/')[0]}/{row['test']}.md")
        target = page.relative_to(site).as_posix()
        assert f"../../{target}#{row['test']}" in [unquote(to) for _, to in own.addresses]
    recorded = read_json(RECORDED / "embedding_lr/table2.json")
    for suffix in ("csv", "png"):
        kept = RECORDED / f"embedding_lr/table2.{suffix}"
        assert (site / f"{PAGE}.{suffix}").read_bytes() == kept.read_bytes()
    assert read_json(site / f"{PAGE}-provenance.json") == recorded["provenance"]


def test_records_of_a_folder_are_reached_from_the_start(site):
    """Found in review: no page of the report led to what was measured on real text."""
    [folder] = (site / "figures/reduced").glob("embedded+wikitext2=folder-*")
    page = f"figures/reduced/{folder.name}/embedding_lr/fig2.md"
    words = Elements(site / page).text
    assert "text from folder wikitext-2 (train.txt sha256 f0737ed3)" in words
    assert "wikitext2=FOLDER" in words, "the command says where one's own folder goes"
    of_test = Elements(site / "claims/embedding_lr/fig2.zipf-exponent.md")
    places = ("reduced scale", "reduced scale, wikitext2 of a folder")
    assert all(place in of_test.text for place in places), "every verdict beside the others"


@pytest.fixture(scope="module")
def headline(tmp_path_factory):
    return its_pages(tmp_path_factory.mktemp("clone"), "embedding_lr/fig3,upscaling/table1")


def test_answers_come_before_papers_and_the_words(headline):
    words = Elements(headline / "index.md").text
    order = ["How does the best embedding learning rate go", "By paper", "tests by training"]
    places = [words.index(each) for each in [*order, "What the words mean"]]
    assert places == sorted(places)
    assert all(status.meaning in words for status in STATUSES.values())


def seen(status, scale, registered=False, data="embedded"):
    """A test's record, as a page sees it."""
    row = {"test": "fig3.slope", "status": status, "scale": scale, "data": data, "laws": ["muP"]}
    row["registered"] = badges.BEFORE if registered else "not registered"
    return SimpleNamespace(row=row, href=f"{scale}.html#fig3.slope", place=f"{scale} scale")


def test_a_record_that_does_not_count_says_which_does_and_why():
    """Found in review: a figure's overnight page had a status that README and the paper's had
    not, without a word."""
    first, night = seen(INCONCLUSIVE, "reduced", True), seen(REPRODUCED, "overnight")
    real = seen(NOT_REPRODUCED, "reduced", data="embedded+wikitext2=real")
    tested = front.Tested([first, night, real])
    assert tested.over(first) is None and tested.over(night) is first
    assert tested.over(real) is None, "of another kind of data: both are said"
    assert tested.over(seen(INCONCLUSIVE, "overnight")) is None, "it says the same"
    words = pages.templates().get_template("_macros.md").module
    page = Elements(str(words.named_over(night, tested, "../"))).text
    assert page == (
        f"fig3.slope is {REPRODUCED} here and counts as {INCONCLUSIVE} : its record at "
        "reduced scale is the stronger one, registered before its runs."
    )
    assert "tried on tables of rival laws" in status.why_stronger(
        first.row, first.row | {"laws": []}
    )
    assert not str(words.named_over(first, tested, "../")).strip()
    assert f'counts as <span class="verdict v-open">{INCONCLUSIVE}' in str(
        words.over(night, tested, "")
    )


def test_the_first_page_and_the_cards_have_every_answer_as_readme_does(headline):
    for page in ("_answers.md", "index.md"):
        words = Elements(headline / page).text
        begins = re.search(r"(\S+) How does the best embedding learning rate go", words)[1]
        assert re.fullmatch(r"−\d\.\d\d", begins), "the power"
    asked = (ROOT / "docs" / "index.md").read_text()
    assert "```{include} results/_answers.md\n```" in asked
    card = (headline / "index.md").read_text().partition("<article")[2].partition("</article>")[0]
    drawn = card.count('class="strip"')
    assert "<img" not in card and drawn == card.count("<b>") > 1, "at every scale, on all data"


def test_the_statements_have_three_filters_and_every_test_a_line(headline):
    page = (headline / "claims.md").read_text()
    fields = re.findall(r'<(?:input|select)[^>]* name="(\w+)"', page)
    assert fields == ["q", "status", "paper"]
    assert {*re.findall(r'data-status="([^"]*)"', page)} <= {*STATUSES}
    assert page.count('<details class="statement"') > 2


def test_a_paper_s_matrix_is_short_and_every_cell_a_link_to_a_test(headline):
    page = (headline / "papers/embedding_lr.md").read_text()
    bodies = re.findall(r'<table class="matrix.*?<tbody>(.*?)</tbody>', page, flags=re.S)
    assert bodies and max(body.count("<tr>") for body in bodies) <= 20
    for last in ("others", "tests"):
        assert (f'data-label="{last}"' in page) == (f">{last}</th>" in page), "as on a phone"
    assert re.search(r"\d+ statements without a test here", page), "others may have one elsewhere"
    calls = re.findall(r'popovertarget="([^"]*)".*? popover id="([^"]*)"><code>uv run', page)
    cells = re.findall(r'<(\w+) class="cell [^"]*" href="([^"]*)"', "".join(bodies))
    assert len(calls) == len(cells) and all(of == its for of, its in calls)
    assert cells and {tag for tag, _ in cells} == {"a"}
    for _, to in cells:
        assert (headline / "papers" / unquote(to)).resolve().with_suffix(".md").is_file()


FIG3 = "figures/reduced/embedded/embedding_lr/fig3.md"


def test_a_figure_s_page_has_six_tests_in_sight_readings_and_a_line_of_larger_scales(headline):
    for path in (headline / "figures").rglob("*.md"):
        body = path.read_text().partition('<h2 id="tests">')[2].partition("</section>")[0]
        seen = re.sub(r"<details><summary>\d+ tests? more.*", "", body, flags=re.S)
        assert seen.count('<article class="card claim"') <= 6, path
        assert len(re.findall(r"At \S.* more tests? binds?:", body)) <= 1, path
    page = (headline / FIG3).read_text()
    readings = page.partition('<h2 id="readings">')[2].partition("</section>")[0]
    assert readings.count("<tr>") > 1 and "verdict" not in Elements(readings).classes
    assert "At scale overnight" in page


def test_a_test_s_page_says_that_the_printed_value_is_outside_the_interval(headline):
    """Found in review: it said `reproduced`, and that in its table of places alone."""
    page = Elements(headline / "claims/embedding_lr/fig3.sqrt-d-rule-as-printed.md").text
    outside = "allows at these sizes"
    lead = page[page.index("Reproduced:") :]
    assert outside in lead[: lead.index("At every scale")]
    for name in ("index", "claims", FIG3.removesuffix(".md")):
        assert outside in Elements(headline / f"{name}.md").text, name


def meta(page):
    """What a page says of itself where it is shared."""
    return yaml.safe_load(page.read_text().split("---\n")[1])["myst"]["html_meta"]


def test_a_shared_link_shows_a_picture_and_a_verdict(headline):
    for name in (
        "index",
        "claims/embedding_lr/fig3.sqrt-d-rule-as-printed",
    ):
        page = headline / f"{name}.md"
        values = {key.rpartition(":")[2]: value for key, value in meta(page).items()}
        assert {"title", "type", "image", "description"} <= {*values}
        assert (page.parent / unquote(values["image"])).resolve().is_file()
        assert "eproduced" in values["title"] + values["description"]


def test_a_figure_without_a_test_has_its_title_for_a_shared_link(tmp_path):
    """An empty description ends the build of the whole site."""
    root = its_pages(tmp_path, "embedding_lr/fig5")
    pages = sorted((root / "figures").rglob("fig5.md"))
    heads = [
        yaml.safe_load(page.read_text().split("---\n")[1])["myst"]["html_meta"] for page in pages
    ]
    assert heads and all(each["description"] for each in heads)


def test_published_pages_have_addresses_and_a_form_to_challenge(headline, tmp_path, monkeypatch):
    """Where the project has no repository yet, CONTRIBUTING says how; nothing leads nowhere."""
    page = "claims/embedding_lr/fig3.sqrt-d-rule-as-printed.md"
    how = "../../../contributing.html#challenge-a-verdict"
    assert ("a", how) in Elements(headline / page).addresses
    assert "## Challenge a verdict" in (ROOT / "CONTRIBUTING.md").read_text()
    urls = {"report": "https://site.test/r", "repository": "https://git.test/a/b"}
    monkeypatch.setattr(address, "_urls", lambda: urls)
    folder = its_pages(tmp_path, "embedding_lr/fig3")
    said = meta(folder / page)
    results = "https://site.test/r/results"
    assert said["property=og:url"] == f"{results}/{page.removesuffix('.md')}.html"
    [picture] = re.findall(r'src="../../(figures/[^"]*png)"', (folder / page).read_text())[:1]
    assert said["property=og:image"] == f"{results}/{picture}"
    [form] = [a for _, a in Elements(folder / page).addresses if a.startswith("https://git.test")]
    asked = dict(parse_qsl(urlsplit(form).query))
    assert (
        asked["template"] == address.FORM
        and asked["claim"] == "embedding_lr/fig3.sqrt-d-rule-as-printed"
    )
    fields = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE" / address.FORM).read_text())["body"]
    assert {*asked} - {"template", "title"} <= {field["id"] for field in fields}


def test_a_card_shows_what_was_registered_and_no_record_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    why = badges.Badge(badges.NOT_BEFORE, "the row is younger than runs of commit f00")
    monkeypatch.setattr(badges, "badge", lambda row, provenance: why)
    folder = its_pages(tmp_path, "embedding_lr/table2")
    words = Elements(folder / f"{PAGE}.md").text
    assert badges.NOT_BEFORE in words
    for name in (f"{PAGE}-results.json",):
        assert "registered" not in (folder / name).read_text()
    filed = read_json(folder / "claims.json")["tests"]
    assert {row["registered"] for row in filed} == {badges.NOT_BEFORE}, "worked out when written"


def test_every_class_of_the_templates_has_a_rule():
    """Found in review: tables lost the rules by which they fit a phone."""
    folder = ROOT / "repro" / "report"
    style = re.sub(
        r"{[^{}]*}|/\*.*?\*/", "", (folder / "static/report.css").read_text(), flags=re.S
    )
    ruled = {*re.findall(r"\.([a-z][\w-]*)", style)}
    for path in (folder / "templates").iterdir():
        found = re.findall(r'class="([^"]*)"', re.sub(r"{{.*?}}", "", path.read_text()))
        assert {*" ".join(found).split()} - {"v-"} <= ruled, path.name


def test_a_table_is_a_table_and_no_picture(site):
    page = Elements(site / f"{PAGE}.md")
    assert not [address for tag, address in page.addresses if tag == "img"]
    assert "embedding weights" in page.text and "(measured d" in page.text
    with (site / f"{PAGE}-table.csv").open(newline="") as lines:
        rows = list(csv.reader(lines))
    assert rows[0][:2] == ["parametrization", "power of"] and len(rows) == 7


@pytest.mark.slow
def test_the_page_of_transfer_leads_to_the_leaderboard(transfer):
    page = (transfer / "papers/transfer.md").read_text()
    found = re.findall(r"\]\(([^)\s]+)\)", page)
    assert "../../../records/reduced/embedded/cpu/transfer/leaderboard.md" in found


def linked(tmp_path, *names, plots=(), files=()):
    """The links of a cell of a board p/mine in a report that shows the figures of these names."""
    mine, *others = (
        SimpleNamespace(name=name, place="here", page=f"{name}.html") for name in ("p/mine", *names)
    )
    shown = SimpleNamespace(figures=[mine, *others])
    return pages.cell_links(shown, tmp_path, mine, dict(plots), files)


def test_a_link_to_what_a_report_lacks_is_left_out_and_one_to_nothing_is_an_error(tmp_path):
    plots = {"curves": "transfer/shift#lr=1", "all": "transfer/shift"}
    assert linked(tmp_path, plots=plots) == []
    assert linked(tmp_path, "transfer/shift", plots=plots) == [
        ("curves", "transfer/shift.html#lr=1"),
        ("all", "transfer/shift.html"),
    ]
    with pytest.raises(
        UserError, match="p/mine.py: the board leads to figure 'transfer/shif', did"
    ):
        linked(tmp_path, plots={"curves": "transfer/shif"})
    for path in ("studies/none.py", "studies", "../outside.py", "/etc/hostname"):
        with pytest.raises(UserError, match=f"leads to {path}, no file of the checkout"):
            linked(tmp_path, files=[path])
    assert not list(tmp_path.iterdir())


def test_a_card_says_what_a_verdict_rests_on(site):
    words = Elements(site / "figures/reduced/embedded/embedding_lr/fig2.md").text
    for row in read_json(RECORDED / "embedding_lr/fig2.json")["tests"]:
        assert row["quantity"].split("^")[0] in words
    assert "WikiText-2" in words, "the data of the paper, beside those of the suite"
    assert "uv run snakemake figures/embedding_lr/fig2.pdf" in words
    assert "uv run snakemake verify --config figures=embedding_lr/fig2" in words


def test_a_figure_s_data_are_in_its_page_for_the_plot(site):
    page = (site / "figures/reduced/embedded/embedding_lr/fig2.md").read_text()
    data = page.partition('id="plot-data">')[2].partition("</script>")[0]
    content = json.loads(data)
    assert (content["x"], content["y"]) == ("rank", "count")
    with (RECORDED / "embedding_lr/fig2.csv").open() as lines:
        counts = [int(row["count"]) for row in csv.DictReader(lines)]
    assert content["columns"]["count"] == counts


def test_a_page_has_its_title_as_markdown_and_no_script_of_its_own(site):
    for path in {*site.rglob("*.md")} - {site / "_answers.md"}:
        _, head, body = path.read_text().split("---\n", 2)
        assert yaml.safe_load(head)["hide-toc"] is True
        assert re.match(r"\n# \S.*\n", body), path
        assert "onclick" not in body and "javascript:" not in body


@pytest.mark.parametrize("word", ["</script>", "<!--<script>", "]]>", "\u2028"])
def test_no_value_ends_the_script_element_that_holds_it(word):
    """Found in review: `<!--<script>` swallowed the rest of the page."""
    written = pages.script_json({"a": word})
    assert "<" not in written and json.loads(written) == {"a": word}


def test_an_earlier_site_may_be_replaced_and_nothing_else(tmp_path):
    folder = tmp_path / "mine"
    build.check_replaceable(folder)
    folder.mkdir()
    build.check_replaceable(folder)
    (folder / "index.html").write_text("my own page")
    with pytest.raises(UserError, match="mine: is no site of this suite; move it"):
        build.check_replaceable(folder)
    build.note_files(folder)  # as a site that was made there does
    build.check_replaceable(folder)
    (folder / "notes.txt").write_text("my own notes")
    with pytest.raises(UserError, match=r"mine/notes\.txt: is no part of the site there; move"):
        build.check_replaceable(folder)
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(UserError, match="link: is a link; give the folder that it"):
        build.check_replaceable(tmp_path / "link")


def test_what_sphinx_warns_of_is_one_line_a_page(tmp_path, monkeypatch):
    said = "/tmp/.x/source/docs/faq.md:3: WARNING: unknown document: 'a' [ref.doc]\nmore\n"
    done = subprocess.CompletedProcess([], 1, "", said)
    monkeypatch.setattr(build.subprocess, "run", lambda *given, **options: done)
    with pytest.raises(UserError, match=r"^docs/faq\.md:3: unknown document: 'a' \[ref\.doc\]$"):
        build.render(tmp_path, tmp_path / "site")


def test_without_results_and_records_there_is_no_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", "--config", "scale=paper", "figures=embedding_lr/table2"]) == 1
    assert "no results and no records for scale paper, data embedded" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_settings_are_read_off_the_studies():
    rows = settings.side_by_side(load([]), "embedding_lr/fig3")
    found = {row.name: row for row in rows if not row.runs}
    main_study = discovery.study("embedding_lr/width_and_vocabulary")
    for name in ("steps", "data.batch_size"):
        first, *rest = name.split(".")
        for scale, word in (("reduced", found[name].here), ("paper", found[name].paper)):
            value = main_study.settings(scale)[first]
            for key in rest:
                value = value[key]
            assert word == f"{value:,}"
    assert found["steps"].differs and not all(row.differs for row in rows)
    divided = [row for row in rows if row.name == "lr.embedding"]
    stages = (("narrow", "tuning"), ("middle",), ("wide",))
    assert [row.runs for row in divided] == [
        tuple(f"figure3/{stage}" for stage in some) for some in stages
    ]
    assert found["wikitext2"].paper.startswith("WikiText-2")


def test_a_setting_in_words():
    assert settings.in_words([2.0**-8, 2.0**-7]) == "2^-8, 2^-7"
    assert settings.in_words([2.0**i for i in range(-9, 0)]) == "2^-9 to 2^-1 (9 values)"
    assert settings.in_words([0, 0, 1]) == "0, 1"
    assert settings.in_words([None, True]) == "none, yes"


def held(low, high, measured=1.0, ends=(0.5, 1.5)):
    """The strip of a test with this bound."""
    row = {"measured": measured, "low": ends[0], "high": ends[1]}
    bound = {"low": low, "high": high, "basis": "", "limit": None, "predicted": []}
    return strip(row | {"bound": bound})


def test_a_strip_holds_bound_and_interval_on_one_axis():
    inside = held(0.0, 2.0)
    assert (
        inside.bound[0] < inside.interval[0] < inside.value < inside.interval[1] < inside.bound[1]
    )
    assert inside.value == 0.5
    one_sided = held(2.0, None)
    assert one_sided.bound[1] == 1.0 and one_sided.interval[1] < one_sided.bound[0]
    assert held(0.0, None, ends=(None, None)).interval is None
    assert held(0.0, None, measured=None) is None
    told = {"basis": "tolerance", "limit": None, "predicted": [-1.0, -0.5]}
    row = {"measured": -0.35, "low": -0.4, "high": -0.3}
    row |= {"bound": {"low": -0.75, "high": -0.25, **told}}
    several = strips(
        [row, row | {"measured": 0.5, "low": 0.4, "high": 0.6}, row | {"measured": None}]
    )
    first, second, none = several.of
    assert none is None and first.bound == second.bound, "one axis"
    assert first.bound[0] < first.paper < first.value < first.bound[1] < second.value
    assert first.predicted[1] == first.paper and first.predicted[0] < first.bound[0]
    places = [at for at, _ in several.ticks]
    assert all(later - at >= APART for at, later in pairwise(places))
    assert ("-0.75" in dict(map(reversed, several.ticks))) and places == sorted(places)
    wide = held(0.5, 1.5, 1e4, (1e4, 1e4))
    assert 0 < wide.bound[0] < wide.bound[1] < 0.5 < wide.value < 1, "logarithmic"


def table(tmp_path, head, *rows):
    path = tmp_path / "data.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def test_a_plot_tells_settings_from_what_was_measured(tmp_path):
    head = "model.width,vocab_reached,lr.embedding,part,seed,step,train_loss,loss_scale"
    rows = [
        f"{width},{width * 8},{lr},{part},{seed},{step},{4 + lr + width / 1000 + seed / 10},1"
        for width in (32, 64)
        for lr in (0.125, 0.25, 0.5)
        for part in ("main", "main again")
        for seed in (0, 1)
        for step in (10, 20)
    ]
    rows[0] = rows[0].replace("4.157", "inf")
    shown = plot(table(tmp_path, head, *rows), {"model.width", "lr.embedding"})
    assert (shown.x, shown.y, shown.measured) == ("lr.embedding", "train_loss", ["train_loss"])
    assert shown.settings == ["lr.embedding", "model.width", "part", "step"], "not what follows"
    assert shown.chosen == {"step": LAST}
    values = shown.content()["columns"]["train_loss"]
    assert values[0] == "inf" and len(values) == 48 and "NaN" not in json.dumps(values)


def test_a_figure_says_what_its_plot_begins_with(tmp_path):
    path = table(tmp_path, "stage,lr,step,loss", "a,0.1,1,2.5", "b,0.2,1,2.25", "b,0.2,2,1.5")
    view = View("step", "loss", {"stage": ("a", "b"), "lr": 0.2})
    shown = plot(path, {"lr"}, view)
    assert (shown.x, shown.y) == ("step", "loss")
    assert shown.chosen == {"lr": 0.2} and shown.lines == {"stage": ["a", "b"]}
    with pytest.raises(UserError, match="view names 'stages'.*stage"):
        plot(path, {"lr"}, View("step", "loss", {"stages": "a"}))


def test_every_view_names_columns_and_values_there_are():
    views = {n: catalog.figure(n).view for n in catalog.figure_names()}
    for name, view in views.items():
        if view is None:
            continue
        with (RECORDED / f"{name}.csv").open(newline="") as lines:
            rows = list(csv.DictReader(lines))
        assert {view.x, view.y} <= set(rows[0])
        for column, asked in view.only.items():
            found = {row[column] for row in rows}
            for value in asked if isinstance(asked, tuple) else (asked,):
                numeric = isinstance(value, int | float)
                cells = {float(cell) for cell in found if cell} if numeric else found
                assert value in cells, f"{name}: no {column} {value!r}"


def test_what_a_population_chooses_is_a_setting_of_the_plot():
    """Found in review: a choice of three levels was shown first, as if it had been measured."""
    name = "embedding_lr/settings"
    shown = plot(RECORDED / f"{name}.csv", settings.axes(name))
    assert shown.measured == ["train_loss"] and {"norm", "blocks"} <= {*shown.settings}


def test_there_is_nothing_to_plot_in_a_table_of_names(tmp_path):
    assert plot(table(tmp_path, "parameter,kind,count", "a,b,3", "c,d,4"), set()) is None


def test_formulae_in_plain_text():
    assert (
        text.formulae("falls as d^-1/2 (muP: d^0)")
        == "falls as d<sup>−1/2</sup> (μP: d<sup>0</sup>)"
    )
    assert text.formulae("<b> eta_E* = -0.5") == "&lt;b&gt; η<sub>E</sub>* = −0.5"
    assert text.formulae("(as d^-1/2)") == "(as d<sup>−1/2</sup>)"
    assert text.formulae("m^(1-beta) at 1e-3, 2026-11") == "m^(1-beta) at 1e-3, 2026-11"


def test_a_line_of_html_is_a_heading_of_markdown():
    line = text.heading(text.formulae("as d^-1/2 [*] of `x_y` | <b>"))
    assert line == "as d{sup}`\N{MINUS SIGN}1/2` \\[\\*\\] of \\`x\\_y\\` \\| &lt;b&gt;"
    assert json.loads(text.plain(text.formulae('"d" < 1'))) == '"d" < 1'


def test_a_page_that_moves_leads_to_what_it_led_to_and_to_tests():
    page = (
        "# Title\n\nSee `fig1.falls`, `other`, [notes](notes.md#a), [up](../../docs/a.md), "
        "[above](#top), [one](https://arxiv.org).\n\n![Figure 1](../../records/a/fig1.png)\n"
    )
    found = text.moved(page, "studies/p", "docs/results/papers", {"fig1.falls": "p/fig1.falls"})
    assert found == (
        "See [`fig1.falls`](../claims/p/fig1.falls.md), `other`, "
        "[notes](../../../studies/p/notes.md#a), [up](../../a.md), [above](#top), "
        "[one](https://arxiv.org).\n\n"
        "[![Figure 1](../../../records/a/fig1.png)](../../../records/a/fig1.md)"
    )


def test_a_paper_is_who_its_own_file_says():
    paper = model.paper("embedding_lr", [])
    assert (paper.heading, paper.year, paper.arxiv) == ("Hayou & Liu", "2025", "2506.15025v1")
    unknown = model.paper("mine", [])
    assert (unknown.heading, unknown.title, unknown.arxiv) == ("mine", "mine", "")


@pytest.mark.slow
def test_the_whole_site_takes_a_minute_and_its_search_knows_tests_and_figures(tmp_path):
    """A minute of one core, with nothing heavy loaded; Sphinx is a process of its own."""
    code = """
import sys, time
from repro.__main__ import main
assert main(["report"]) == 0
heavy = {"torch", "matplotlib", "seaborn", "scipy"} & set(sys.modules)  # tables need pandas
assert not heavy, heavy
spent = time.process_time() + sum(__import__("os").times()[2:4])
assert spent < 60, spent
"""
    call = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    site = tmp_path / "report"
    index = (site / "searchindex.js").read_text()
    found = json.loads(index[index.index("{") : index.rindex("}") + 1])
    assert len(found["docnames"]) == len({*found["docnames"]})
    for row in read_json(site / "results/claims.json")["tests"]:
        name = f"{row['figure'].split('/')[0]}/{row['test']}"
        assert f"results/claims/{name}" in found["docnames"]
    named = {f"results/figures/reduced/embedded/{name}" for name in catalog.figure_names()}
    assert len(named & {*found["docnames"]}) > 50 and "library" in found["docnames"]
