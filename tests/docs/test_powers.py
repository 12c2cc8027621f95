"""Powers in the site's prose are superscripts, as on the pages of what is on record."""

import importlib
import sys

import pytest

from repro.lineage.checkout import ROOT

nodes = pytest.importorskip("docutils.nodes")
pytest.importorskip("sphinx")


@pytest.fixture
def powers(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs" / "_extensions"), *sys.path])
    return importlib.import_module("powers")


def test_a_power_is_raised_in_prose_and_stays_as_it_is_in_code(powers):
    from docutils.utils import new_document

    page = new_document("page")
    words = nodes.paragraph("", "falls as width^-1/2, or n^(1/2) by ", nodes.literal("", "n^-1"))
    page += [words, nodes.literal_block("", "d^-1/2"), nodes.paragraph("", "f^-1.x and ^")]
    powers.Powers(page).apply()
    assert [node.astext() for node in page.findall(nodes.superscript)] == ["-1/2", "1/2"]
    assert words.astext() == "falls as width-1/2, or n1/2 by n^-1"
    assert page[1].astext() == "d^-1/2" and page[2].astext() == "f^-1.x and ^"


def test_the_site_uses_it():
    assert '"powers",' in (ROOT / "docs" / "conf.py").read_text()
