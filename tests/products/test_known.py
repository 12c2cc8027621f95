"""Where verdicts come from: results/ where figures were built, records/ otherwise, said so."""

import pytest
from figure_files import draw, from_record

from repro.__main__ import main
from repro.core.suite import load
from repro.errors import UserError
from repro.files import read_json, write_json
from repro.products import explain, known

FIGURE, CLAIM = "embedding_lr/table1", "table1.exponents"
PLACE = "records/reduced/embedded/cpu"


def test_a_fresh_clone_explains_a_claim_from_its_record(tmp_path, monkeypatch, capsys):
    """Found in review: it said that nothing was measured, and its verdict lay in records/."""
    monkeypatch.chdir(tmp_path)
    assert main(["show", CLAIM]) == 0
    said = capsys.readouterr().out
    assert f"from: {PLACE}, the record, for nothing was built here" in said
    assert "Reproduced: " in said and "commit " in said
    assert not list(tmp_path.iterdir())


def test_what_was_built_here_goes_before_its_record(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    suite = load([f"figures={FIGURE}"])
    table = from_record(suite, FIGURE)
    assert known.find(suite, FIGURE).place == PLACE, "it is not drawn yet"
    draw(suite, FIGURE)
    found = known.find(suite, FIGURE)
    assert found.place == "results/reduced/embedded" and not found.recorded
    table.rename(table.with_name("0" * 12))
    with pytest.raises(UserError, match="was made by other code than the present"):
        known.find(suite, FIGURE)
    note = table.with_name("0" * 12) / "provenance.json"
    write_json(note, read_json(note) | {"cells": ["other"]})
    found = known.find(suite, FIGURE)
    assert found.place == PLACE and found.current, "those are of other settings"


def test_a_claim_of_several_papers_is_asked_for_by_paper():
    names = ["one/fig2.order", "two/fig2.order"]
    said = explain._meant("fig2.order", names)
    assert said == "is of several papers: one/fig2.order, two/fig2.order"
