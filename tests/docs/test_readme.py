import re
from functools import cache

import pytest
from recorded import README, listed, not_run

from repro.core import catalog, discovery
from repro.core.suite import load
from repro.files import read_json
from repro.lineage.checkout import ROOT
from repro.products import forecast, records, summary
from repro.report import cited, marks
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
    for part, lines in (("first", summary.first_call), ("statements", summary.on_record)):
        filled = marks.filled(path, part, lines)
        assert path.read_text() == filled, "python -m repro new pages"
    assert len(summary.first_call()) <= 14, "a dozen lines, in a block"


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


def prose(text):
    """Its words, but those of tables, code, addresses and what a command writes."""
    text = re.sub(r"<!-- from here.*?to here -->|```.*?```", "", text, flags=re.S)
    lines = [line for line in text.splitlines() if not line.startswith("|")]
    return re.sub(r"\]\([^)]*\)", "]", "\n".join(lines)).split()


def for_authors(page):
    """Whether a page of docs/ is left out of the contents of the site."""
    return page.read_text().startswith("---\norphan: true\n---\n")


def test_the_pages_of_the_site_are_12_000_words():
    """Outside of tables that commands write, and of code."""
    texts = [page.read_text() for page in ROOT.glob("docs/*.md") if not for_authors(page)]
    written = r"<!-- from here.*?to here -->|<!-- table -->.*?<!-- end -->|```.*?```"
    words = sum(len(re.sub(written, "", text, flags=re.S).split()) for text in texts)
    assert 8_000 < words <= 12_000


def test_the_first_page_is_short_leads_to_all_others_and_says_its_terms():
    assert len(prose(README)) <= 620
    contents = (ROOT / "docs" / "index.md").read_text()
    for page in ROOT.glob("docs/*.md"):
        in_contents = re.search(rf"^{page.stem}$", contents, re.M) or page.stem == "index"
        assert bool(in_contents) != for_authors(page), "in the contents, or for the authors"
    assert len(re.findall(r"\]\(docs/[\w-]+\.md\)", README)) > 8
    first_use = README.index("| question |")
    for term in ("parametrization", "SP", "muP", "LVP", "Neural-tangent", "upscaled", "base"):
        assert README.index(f"*{term}*") < first_use
    for word in ("Yes", "No", "Open", "Registered"):
        assert README.index(f"*{word}*") < first_use
    for word in ("synthetic", "real", "reproduced", "not reproduced", "inconclusive"):
        assert f"*{word}*" in README
    assert "or of a GPU: none of these was ever tried" in README.replace("\n", " ")


def test_what_a_call_needs_is_said_before_the_call():
    before = README[: README.index("pip install uv")]
    promised = forecast.promise(load([]), "fig3")
    for words in ("git clone", "Linux on x86-64", "Python 3.11", "GB", promised):
        assert words in before.replace("\n", " "), words
    assert promised in (ROOT / "docs" / "index.md").read_text()


# A call of the table of answers -> the claims of its figure that its answer rests on, and what
# speaks against it: a figure, a scale, a claim, what it came to, on which data.
ANSWERS = {
    "embedding_lr/fig3": (["fig3.sqrt-d-rule-as-printed"], []),
    "embedding_lr/fig1": (["fig1.optimum-falls"], []),
    "upscaling/fig3": (
        ["fig3.transfer-lr-gpt2"],
        [
            ("upscaling/fig3", "reduced", "fig3.transfer-lr-mlp", "reproduced"),
            ("upscaling/fig3", "overnight", "fig3.transfer-lr-mlp-sgd", "inconclusive"),
        ],
    ),
    "effective_theory/fig3": (["fig3.robust-to-low-lr"], []),
    "upscaling/fig2": (
        ["fig2.equal-flops-tuned-gpt2", "fig2.equal-flops-tuned-mlp"],
        [
            (
                "upscaling/resnet_target",
                "reduced",
                "resnet_target.equal-flops-tuned-resnet",
                "not reproduced",
            ),
            ("upscaling/fig2", "reduced", "fig2.more-steps-tuned-mlp", "not reproduced"),
            ("upscaling/fig2", "reduced", "fig2.mirrors-mlp", "not reproduced"),
            (
                "upscaling/fig6_whole",
                "overnight",
                "fig6_whole.equal-flops-tuned-mlp",
                "reproduced",
                "embedded+covtype=folder-f4a37c31",
            ),
        ],
    ),
    "upscaling/fig10": (
        ["fig10.noise-nonzero"],
        [("upscaling/fig10", "overnight", "fig10.noise-at-target", "reproduced")],
    ),
    "effective_theory/fig2": (
        ["fig2.nt-better"],
        [
            ("effective_theory/positions", "overnight", "positions.raised", "reproduced"),
            ("effective_theory/positions", "reduced", "positions.order-one", "not reproduced"),
        ],
    ),
    "embedding_lr/mechanism": (["mechanism.mup-regime"], []),
    "transfer/shift": (
        ["shift.sp-decoder", "shift.mup-decoder"],
        [
            ("transfer/shift", "overnight", "shift.sp-mlp", "not reproduced"),
            ("transfer/shift", "overnight", "shift.mup-mlp", "inconclusive"),
        ],
    ),
}
WORD = {"reproduced": "Yes", "not reproduced": "No", "inconclusive": "Open"}


OF_THE_CALL = ("embedding_lr/fig3", "reduced", "embedded")


@cache
def on_record(data="embedded"):
    rows = read_json(records.RECORDS / "claims.json")["tests"]
    rows = [row for row in rows if row["data"] == data]
    return {(row["figure"], row["scale"], row["test"]): row for row in rows}


def answers():
    """Figure -> (its scale, the cells of its row), of each call in the table of answers."""
    table = README[README.index("| question |") :].partition("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]
    calls = [re.search(r"figures/(\w+/\w+)\.pdf(?: --config scale=(\w+))?`", r[3]) for r in rows]
    return {call[1]: (call[2] or "reduced", row) for call, row in zip(calls, rows, strict=True)}


@pytest.mark.parametrize("figure", ANSWERS)
def test_an_answer_is_that_of_the_record_of_its_call(figure):
    scale, (_, answer, against, _, _) = answers()[figure]
    claims, others = ANSWERS[figure]
    rows = [on_record()[figure, scale, claim] for claim in claims]
    said = re.match(r"\[(\w+)(, registered)?\]\(([\w/]+)\.md\)", answer)
    assert {WORD[row["status"]] for row in rows} == {said[1]}
    assert said[3] == f"records/{scale}/embedded/cpu/{figure}"
    registered = all(row["registered"] == "registered before" for row in rows)
    assert registered == (said[2] is not None)
    for other, at, claim, verdict, *data in others:
        row = on_record(*data)[other, at, claim]
        assert row["status"] == verdict, claim
        if data:  # "gains little"
            assert 0.95 < row["measured"] < 1
    words = answer[said.end() :]
    bound = re.search(r"(\S+ ± \S+)$", words)
    numbers = re.findall(r"-?\d+\.\d+", words.removesuffix(bound[1]) if bound else words)
    assert numbers == [
        f"{r['measured']:.{len(n.partition('.')[2])}f}" for r, n in zip(rows, numbers, strict=True)
    ]
    assert len(re.findall(r"\d+\.?\d*", words)) <= 3
    if bound:
        assert rows[0]["bound"]["text"] == bound[1].replace("±", "within")
    if figure == "embedding_lr/fig3":
        assert outside(rows[0]).startswith("-0.5 itself is outside")
        assert "-1/2 itself is outside" in against
        assert "Three prototypes did not show it" in against
        figures = read_json(records.RECORDS / "claims.json")["figures"]
        (its,) = (f for f in figures if (f["figure"], f["scale"], f["data"]) == OF_THE_CALL)
        rejected = its["chosen_after_seeing"].partition("rejected: ")[2].partition(";")[0]
        assert "two generated texts (" in rejected and "no LayerNorm (" in rejected
        middle, around = map(float, bound[1].split(" ± "))
        values = [float(each) for each in re.findall(r"-\d\.\d+", rejected)]
        assert len(values) == 3 and not any(abs(v - middle) <= around for v in values)


def test_the_table_of_answers_has_the_calls_that_are_held_and_their_minutes():
    """The minutes that the call itself says at its beginning, and docs/cost.md's are their end."""
    assert answers().keys() == ANSWERS.keys()
    costs = (ROOT / "docs" / "cost.md").read_text().splitlines()
    head = next(line for line in costs if line.startswith("| figure: hours"))
    for figure, (scale, row) in answers().items():
        assert f"{row[4]} minutes" == forecast.promise(load([f"scale={scale}"]), figure), figure
        priced = next(line for line in costs if line.startswith(f"| `{figure}` |"))
        hours = dict(zip(head.split(" | "), priced.split(" | "), strict=True))[scale]
        ratio = float(row[4].split()[-1]) / (float(hours) * 60 / 2)
        assert 0.5 <= ratio / forecast.SLOWEST <= 2, figure


def test_what_pages_say_of_the_papers_is_what_their_own_files_say():
    assert cited.outdated() == [], "python -m repro new pages"


def test_every_figure_of_a_paper_is_listed():
    """What is on record, which `test_records` holds, and what is not run yet."""
    assert {*listed(), *not_run()} == {*catalog.figure_names()}
    assert not {*listed()} & {*not_run()} and all(map(cited.on_record, listed()))
    named = {name.split("/")[0] for name in (*listed(), *not_run())}
    assert named == {*discovery.papers()} and not discovery.broken_papers()
    for slug, paper in discovery.papers().items():
        assert f"{slug}/{paper.answer}" in catalog.figure_names()


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
def test_a_paper_s_page_is_a_table_of_ten_rows_and_150_words(page):
    text = page.read_text()
    rows = [line for line in text.splitlines() if re.match(r"\| .*\(`", line)]
    of_a_paper = not discovery.papers()[page.parent.name].ours
    most = (10, 150) if of_a_paper else (12, 200)  # our own board says what it is, too
    assert len(rows) <= most[0] and len(prose(text)) <= most[1]
    findings = FINDING.findall(text)
    assert len(findings) in (len(rows), 0), "a row without a test, or not of the form"


LLAMA, WIDENING = re.findall(r"```python\n(.*?)```", README, re.S)


@pytest.mark.slow  # imports transformers
def test_the_llama_is_right_by_the_rates_that_it_gets():
    import torch

    names = {}
    exec(LLAMA, names)
    assert len(LLAMA.rpartition("\n\n\n")[2].splitlines()) == 5
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
    models, _, _, equal, different, bottleneck = (
        int(cell) for cell in re.search(r"^\| \*\*all\*\* \| (.*) \|$", page, re.M)[1].split(" | ")
    )
    said = re.search(
        r"Of the ([\d,]+) learning rates that (\d+) models .*? ([\d,]+)\s", README, re.S
    )
    found = [int(number.replace(",", "")) for number in said.groups()]
    assert found == [equal + bottleneck, models, equal] and different == 0


def test_the_widening_example_runs_and_keeps_the_function():
    import torch

    assert len([line for line in WIDENING.splitlines() if line.strip()]) <= 12
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
