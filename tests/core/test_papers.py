"""studies/<slug>/paper.toml: who a paper is, and by nothing else."""

import pytest
from refusals import refused

from repro.core import discovery, papers
from repro.lineage import checkout
from repro.report import model

TEXT = (
    'title = "A Title"\nauthors = ["Hayou, Soufiane"]\nyear = 2025\narxiv = "2511.01734"\n'
    'version = 1\n[[answers]]\nquestion = "Is it so?"\ntests = ["rates.a"]\nfound = "Yes"\n'
)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Text -> the paper of a folder that has it."""
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    monkeypatch.setattr(checkout, "of_papers", lambda folder: ["mine/a"])
    (tmp_path / "studies" / "mine").mkdir(parents=True)
    for cached in (papers.paper, papers.slugs):
        cached.cache_clear()

    def paper(text):
        papers.paper.cache_clear()
        (tmp_path / "studies" / "mine" / papers.FILE).write_text(text)
        return papers.paper("mine")

    yield paper
    for cached in (papers.paper, papers.slugs):
        cached.cache_clear()


def test_two_papers_of_one_first_author_are_told_apart(written, monkeypatch):
    """By their first author's family name the report once gave a paper another's title."""
    one = written(TEXT)
    other = papers.Paper(**{**vars(one), "slug": "other", "title": "B", "arxiv": "2506.15025"})
    monkeypatch.setattr(discovery, "papers", lambda: {"mine": one, "other": other})
    shown = [model.paper(slug, []) for slug in ("mine", "other")]
    assert [view.heading for view in shown] == ["Hayou", "Hayou"]
    assert [(view.title, view.arxiv) for view in shown] == [
        ("A Title", "2511.01734v1"),
        ("B", "2506.15025v1"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('arxiv = "2511.01734"', 'arxiv = "2511.1"', "arxiv '2511.1' is no number as 2506.15025"),
        ("version = 1\n", "", "and the version that is judged"),
        ("version = 1", 'version = "1"', "version is '1'"),
        ('"Hayou, Soufiane"', '"Soufiane Hayou"', "write the family name first"),
        ('question = "Is it so?"\n', "", "question"),
        ('["rates.a"]', "[]", "lacks a question, a test"),
        ('["rates.a"]', '["rates.a", "fig1.b"]', "tests of several figures"),
        ("found", "fond", "'fond'"),
        ("[[answers]]\n", "", "unknown key 'found'"),
        ("year", "yaer", "unknown key 'yaer', did you mean 'year'"),
        ("year = 2025", "year =", "Invalid value"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_file(written, old, new, said):
    with refused("^studies/mine/paper.toml: ") as error:
        written(TEXT.replace(old, new))
    assert said in str(error.value)
    assert len(discovery.broken_papers()) == 1 and not discovery.papers()


def test_a_folder_that_says_not_who_it_is_is_named(written, tmp_path):
    papers.slugs.cache_clear()
    (tmp_path / "studies" / "mine" / "paper.toml").unlink(missing_ok=True)
    with refused("repro new paper mine"):
        papers.paper("mine")
    assert not papers.is_a_paper("mine")


def test_authors_are_named_as_in_a_text():
    headings = {slug: paper.heading for slug, paper in discovery.papers().items()}
    assert headings["embedding_lr"] == "Hayou & Liu"
    assert headings["effective_theory"] == "Dinan, Yaida & Zhang"
    assert headings["upscaling"] == "Ma et al." and headings["transfer"] == "transfer"
    assert discovery.papers()["upscaling"].cited == "arXiv 2602.10545v2", "the text that is judged"
