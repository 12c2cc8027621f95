"""The page of models that work is what its command makes."""

import pytest

from benchmarks import models
from benchmarks.architectures import CASES
from repro.suite.registry import ROOT

PAGE = (ROOT / "docs" / "models.md").read_text()
TABLE = PAGE.partition(models.HEAD)[2].partition(models.END)[0]
LINES = TABLE.splitlines(True)
SAMPLE = ("gpt2", "llama", "falcon", "timm vit")


def test_lines_are_in_order_each_once_and_counts_are_of_them():
    """What is not in the table yet is said; `--only` adds it."""
    places = [list(CASES).index(models.named(line)[0]) for line in LINES]
    assert places == sorted(places) and len(set(map(models.named, LINES))) == len(LINES) > 80
    assert models.counts(LINES) in PAGE


def test_no_role_is_wrong_and_nothing_wrong_is_widened():
    cells = [line.split(" | ") for line in LINES]
    assert not [each for each in cells if "wrong" in each[3] or each[5].startswith("wrong")]
    assert sum(each[5].startswith("accepted") for each in cells) >= 0.6 * len(cells)


@pytest.mark.slow  # imports transformers and timm
@pytest.mark.parametrize("name", SAMPLE)
def test_lines_of_a_sample_are_up_to_date(name):
    with models.quiet():
        for grow in CASES[name].grow:
            assert models.row(name, grow) in LINES


def test_a_kind_that_is_not_its_layer_s_is_wrong(monkeypatch):
    """The second witness can disagree."""
    monkeypatch.setattr(models, "expected", lambda owner, last, found: "scalar")
    assert models.roles_of(CASES["GRU"], "heads")[0].startswith("wrong: ")


def test_a_part_of_the_page_is_brought_up_to_date_alone():
    old = LINES[0]
    new = old.rsplit(" | ", 1)[0] + " | refused: other |\n"
    page = models.written(PAGE, [new])
    assert new in page and page.count("\n") == PAGE.count("\n")
    assert models.written(page, [old]) == PAGE
