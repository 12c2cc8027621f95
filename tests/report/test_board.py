"""The page of the board: the matrix, what is undefined, where each cell leads, its version."""

import re
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest
from recorded import its_pages

from repro.core import config, discovery
from repro.core.suite import Suite
from repro.lineage.checkout import ROOT
from repro.transfer_bench import leaders, references

pytestmark = pytest.mark.long

FIGURES = "transfer/leaderboard,transfer/shift"


class Matrix(HTMLParser):
    """Rows of the board's table: what a row is, and a cell's words and addresses by column."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.cell, self.within = [], None, False
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "tr" and "data-optimizer" in found:
            self.rows.append({"name": found["data-name"], "cells": {}})
        elif tag == "td" and self.rows and "data-column" in found:
            self.cell = {"words": [], "links": [], **found}
            self.rows[-1]["cells"][found["data-column"]] = self.cell
        elif tag == "a" and self.cell is not None:
            self.cell["links"].append(found["href"])

    def handle_endtag(self, tag):
        if tag == "td":
            self.cell = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell["words"].append(data)


def words(cell):
    return " ".join(" ".join(cell["words"]).split())


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return its_pages(tmp_path_factory.mktemp("clone"), FIGURES)


@pytest.fixture(scope="module")
def board():
    return leaders.board(Suite(config.parse({"scale": "reduced"}, discovery.dataset_names())))


def test_every_row_and_cell_of_the_board_is_on_its_page_in_its_order(site, board):
    rows = Matrix(site / "board.md").rows
    assert [row["name"] for row in rows] == [row.name for row in board.rows]
    for shown, row in zip(rows, board.rows, strict=True):
        for column, cell in shown["cells"].items():
            found = row.scores.get(column)
            if found is None:
                assert words(cell) == "not trained" and "data-key" not in cell
            elif found.problem:
                assert words(cell).startswith("undefined") and cell["data-key"] == ""
                assert found.problem in words(cell), "and why"
            else:
                assert float(cell["data-key"]) == found.lost.value
                assert leaders.numbers(found.lost).split()[0] in words(cell)
            starred = "best" in cell.get("class", "").split()
            assert starred == (board.best.get(column, [""])[0] == row.name)


def test_a_cell_leads_to_its_curves_runs_and_files(site):
    by_name = {row["name"]: row["cells"] for row in Matrix(site / "board.md").rows}
    place = "figures/reduced/embedded/transfer"
    asked = "#workload=gru&parametrization=LVP"
    assert by_name["LVP, AdamW"]["gru"]["links"] == [
        f"{place}/shift.html{asked}",
        f"{place}/shift.html{asked}&table=open",
        "source/studies/transfer/gru.py.txt",
        "source/widthwise/parametrization/tables/lvp.py.txt",
    ]
    for row in by_name.values():
        for cell in row.values():
            for link in cell["links"]:
                path = site / unquote(link.partition("#")[0])
                assert path.is_file() or path.with_suffix(".md").is_file(), link


def test_a_scale_without_references_says_undefined_and_why_everywhere(tmp_path):
    page = its_pages(tmp_path, "transfer/leaderboard", "scale=smoke") / "board.md"
    cells = [cell for row in Matrix(page).rows for cell in row["cells"].values()]
    trained = [cell for cell in cells if words(cell) != "not trained"]
    assert trained and all(words(cell).startswith("undefined") for cell in trained)
    assert "none at this scale on these data" in page.read_text()
    assert 'href="board/reduced-embedded.html"' in page.read_text()
    other = (tmp_path / "board" / "reduced-embedded.md").read_text()
    assert 'href="../board.html"' in other and "none at this scale" not in other


def test_the_version_and_what_every_column_is_held_against_are_said(site, board):
    text = (site / "board.md").read_text()
    assert f"version {board.version}" in text and board.version in references.versions()
    for column, reference in board.references.items():
        line = re.search(rf"<tr><th scope=\"row\">{board.columns[column]}</th>.*", text).group()
        assert reference.of in line and f"{reference.gain:.3f}" in line


def test_an_entry_on_file_is_a_row_whose_cells_lead_to_its_record(site):
    rows = {row["name"]: row for row in Matrix(site / "board.md").rows}
    (link,) = rows["muP (original), Muon"]["cells"]["mlp"]["links"]
    path = "records/reduced/embedded+entry=muon_original/cpu/transfer/leaderboard.json"
    assert unquote(link) == f"source/{path}.txt"
    assert (site / unquote(link)).read_bytes() == (ROOT / path).read_bytes()


def test_a_report_without_the_scores_has_no_board(tmp_path):
    site = its_pages(tmp_path, "embedding_lr/table2")
    assert not (site / "board.md").exists()
    assert "board.html" not in (site / "index.md").read_text()
