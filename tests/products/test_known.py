"""Where verdicts come from: results/ where figures were built, records/ otherwise, said so."""

import re
import shutil

import pytest
from figure_files import draw, from_record

from repro.__main__ import main
from repro.core.suite import load
from repro.errors import UserError
from repro.files import read_json, write_json
from repro.products import explain, known, records, status

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


@pytest.mark.parametrize(
    ("test", "words", "place", "says"),
    [
        # Found in review: the runs and value of the default record, and the call of another.
        ("fig3.sqrt-d-rule-as-printed", "", "reduced/embedded/", "scale=reduced"),
        ("fig3.sqrt-d-rule-as-printed", "scale=reduced", "reduced/embedded/", "scale=reduced"),
        ("fig3.transfer-lr-mlp-sgd", "", "overnight/embedded/", "repro show upscaling/fig3"),
        ("fig3.transfer-lr-mlp-sgd", "scale=reduced", "reduced/embedded/", "no test at reduced"),
    ],
)
def test_a_test_is_shown_by_the_record_that_counts_or_that_is_asked_for(
    tmp_path, monkeypatch, capsys, test, words, place, says
):
    monkeypatch.chdir(tmp_path)
    assert main(["show", test, *(["--config", words] if words else [])]) == 0
    said = capsys.readouterr().out
    assert f"from: records/{place}" in said and says in said
    assert re.search(rf"\n  data:\s+\S*records/{re.escape(place)}", said)
    (call,) = (line for line in said.splitlines() if "snakemake verify" in line)
    assert f"scale={place.split('/')[0]}" in call and ("FOLDER" in call) == ("folder" in place)


@pytest.mark.parametrize(
    ("word", "first", "says"),
    [
        # Found in review: README's own words were unknown to it.
        ("Ma", "Ma et al., ", "fig3.transfer-lr-mlp,"),
        ("Ma et al.", "Ma et al., ", "fig3.transfer-lr-mlp,"),
        ("hayou", "Hayou & Liu, ", "fig3.sqrt-d-rule,"),
        ("SGD", "", "MLP with SGD: "),
        ("learning rate serves", "One best learning rate serves", "MLP with SGD: "),
    ],
)
def test_authors_networks_and_words_of_statements_are_known(capsys, word, first, says):
    assert main(["show", word]) == 0
    said = capsys.readouterr().out
    assert said.startswith(first) and says in " ".join(said.split())


def test_what_counts_is_the_strongest_record_of_every_test():
    every = status.by_test(row for part in records.every() for row in part.tests)
    for (paper, test), own in [*every.items()][::10]:
        counts = explain.counts(load([]), explain.asked(f"{paper}/{test}"))
        assert counts == (own[0]["scale"], own[0]["data"]), test


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
    said = explain._hint("fig2.order", names)
    assert said == "is of several papers: one/fig2.order, two/fig2.order"


def test_a_damaged_record_is_named_though_another_record_counts(tmp_path, monkeypatch):
    for scale in ("reduced", "overnight"):
        of = f"{scale}/embedded/cpu"
        shutil.copytree(records.RECORDS / of / "embedding_lr", tmp_path / of / "embedding_lr")
        shutil.copy(records.RECORDS / of / records.SUMS, tmp_path / of)
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    suite, test = load([]), "fig3.sqrt-d-rule-as-printed"
    assert "reduced scale" in explain.explain(suite, test)
    damaged = tmp_path / "overnight/embedded/cpu/embedding_lr/fig3.csv"
    damaged.write_text("")
    with pytest.raises(UserError, match="is not what SHA256SUMS says") as error:
        explain.explain(suite, test)
    assert str(damaged) in str(error.value)


def test_a_test_on_record_says_which_settings_were_chosen_after_seeing_results():
    """Found in review: of a record `show` left them out, and the site did not."""
    said = explain.explain(load([]), "fig3.sqrt-d-rule-as-printed")
    assert "\n  settings chosen after seeing results: post-LN" in said
