"""docs/cost.md has what `repro cost` computes."""

import re

import pytest

from repro.core import catalog
from repro.core.study import WORKSTATION
from repro.errors import UserError
from repro.lineage.checkout import ROOT
from repro.report import costs, marks
from repro.workflow import budget
from repro.workflow.cluster import Site

PAGE = ROOT / "docs" / "cost.md"


@pytest.mark.slow
def test_the_page_s_tables_are_what_the_command_writes():
    """After a new study or record: python -m repro new pages"""
    text = PAGE.read_text()
    assert marks.filled(PAGE, "cost", costs.lines) == text, f"python -m repro {marks.COMMAND}"


def test_the_page_has_every_figure():
    text = PAGE.read_text()
    missing = [name for name in catalog.figure_names() if text.count(f"| `{name}` |") != 2]
    assert not missing, "python -m repro cost --page docs/cost.md"


def test_what_a_figure_starts_from_is_counted_with_it():
    """Figure 1 shows widened models only; their bases are trained too, and kept."""
    found = costs.of_figure(costs.suite_at(WORKSTATION), "upscaling/fig1")
    assert found.hours > 0.5 and found.disk > 0 and found.data == ("covtype",)


@pytest.mark.slow
def test_the_figures_that_a_gpu_of_40_gb_loses_are_named():
    text = (ROOT / "docs" / "clusters.md").read_text()
    (paragraph,) = [p for p in text.split("\n\n") if "A GPU of 40 GB loses" in p]
    named = set(re.findall(r"`([a-z_]+/\w+)`", paragraph))
    suite, site = costs.suite_at("paper"), Site(gpu_memory_gb=40)
    assert named == {n for n in catalog.figure_names() if budget.too_large(suite, [n], site)}


def test_a_page_without_marks_is_refused(tmp_path):
    (tmp_path / "page.md").write_text("nothing")
    with pytest.raises(UserError, match="page.md: has no lines <!-- from here"):
        marks.filled(tmp_path / "page.md", "cost", list)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(None, 2, "?"), (0, 2, "-"), (0.0123, 1, "0.01"), (56_074, 2, "56,000"), (14.74, 3, "14.7")],
)
def test_numbers(value, digits, text):
    assert costs.number(value, digits) == text
