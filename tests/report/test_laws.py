"""Laws of other papers, held against slopes: what the words mean, and that the page says them."""

import pandas as pd
import pytest

from repro.core import catalog, rows
from repro.errors import UserError
from repro.lineage.checkout import ROOT
from repro.report import laws, marks
from repro.report.laws import (
    ABSTRACT,
    AGREES,
    CLOSE,
    DIFFERS,
    EXCLUDED,
    OTHER,
    UNTOLD,
    Law,
    Slope,
)
from repro.verdicts.results import NOISE, PROBLEM

PAGE = ROOT / "docs" / "laws.md"
WIDTH = "best rate against width"
HEAD = {
    Law: "law,paper,text,quantity,exponent,where,place,words",
    Slope: "figure,slope,quantity,where,over,rows",
}


def law(exponent="-1/2", quantity=WIDTH, where="SP", place="Section 1", name="a"):
    return Law(name, "A", "arXiv 2506.15025v1", quantity, exponent, where, place, "words")


def slope(where="SP; SGD", over="", chosen="", quantity=WIDTH):
    return Slope("a/b", "b.c", quantity, where, over, chosen)


def row(low, high, *doubts):
    """A judged test, as far as a slope is read off it."""
    middle = None if low is None else (low + high) / 2
    found = {"scale": "reduced", "data": "embedded", "n": 5, "measured": middle}
    return found | {"low": low, "high": high, "doubts": [{"code": c, "of": of} for c, of in doubts]}


def said(of, low, high, *doubts, **words):
    return laws.says(of, laws.of_row(slope(**words), row(low, high, *doubts)))


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [(-0.6, -0.4, AGREES), (-0.5, -0.4, AGREES), (-0.4, 0.1, EXCLUDED), (-1.2, -0.6, EXCLUDED)],
)
def test_a_law_agrees_where_the_interval_holds_its_exponent(low, high, word):
    assert said(law(), low, high) == word


def test_another_quantity_or_another_setting_says_nothing():
    assert said(law(quantity="best rate against depth"), -0.6, -0.4) == OTHER
    assert said(law(where="SP; Adam"), 0.1, 0.2) == OTHER
    assert said(law(where="muP"), -0.6, -0.4) == OTHER
    assert said(law(where="SGD"), -0.6, -0.4) == AGREES


def test_what_was_read_in_an_abstract_alone_is_never_called_excluded():
    assert said(law(place=ABSTRACT), 0.1, 0.2) == DIFFERS
    assert said(law(place=ABSTRACT), -0.6, -0.4) == AGREES
    texts = [each for each in laws.laws() if each.place == ABSTRACT]
    found = laws.on_record(laws.slopes(), laws.measured())
    assert texts and EXCLUDED not in {laws.says(each, f) for each in texts for f in found}


def test_a_problem_of_the_record_is_no_exclusion_and_the_test_s_own_bound_no_problem():
    assert said(law(), 0.1, 0.2, (PROBLEM, "a curve has no minimum inside the grid")) == UNTOLD
    assert said(law(), None, None) == UNTOLD
    assert said(law(), 0.1, 0.2, (NOISE, "")) == EXCLUDED
    reading = {k: v for k, v in row(0.1, 0.2).items() if k != "doubts"} | {"problem": "one run"}
    assert laws.of_row(slope(), reading).doubt == "one run"


def test_near_is_nearer_with_every_value_than_half_way_to_the_next_power():
    assert said(law(), -0.45, -0.3) == said(law(place=ABSTRACT), -0.45, -0.3) == CLOSE
    assert said(law(), -0.45, -0.2) == EXCLUDED and said(law(), -0.6, -0.4) == AGREES
    assert said(law(where="Adam"), -0.45, -0.3) == OTHER


def test_an_interval_over_three_usual_powers_tells_nothing():
    assert said(law(), -1.1, -0.05) == said(law(), 0.0, 1.0) == UNTOLD
    assert said(law(), -1.0, -0.05) == AGREES
    assert "spans 1 or more" in laws.of_row(slope(), row(-1.1, -0.05)).doubt


@pytest.mark.parametrize(
    ("kind", "row", "words"),
    [
        (Law, "a,A,2506.15025,b against c,1,SP,Table 1,w", "text '2506.15025': write it as arXiv"),
        (Law, "a,A,arXiv 2506.15025,b against c,1,SP,Table 1,w", "write it as arXiv 2506.15025v1"),
        (Law, "a,A,arXiv 2506.15025v1,b against c,n^2,SP,Table 1,w", "'n^2' is no number"),
        (Law, "a,A,arXiv 2506.15025v1,b against c,1,SP, ,w", "say where the formula stands"),
        (Law, "a,A,arXiv 2506.15025v1,width,1,SP,Table 1,w", "say what goes with what"),
        (Law, "a,A,arXiv 2506.15025v1,b against c,1,SP;,Table 1,w", "is empty between two semi"),
        (Law, "a,A,arXiv 2506.15025v1,b against c,1,SP,Table 1", "has 7 cells where 8 belong"),
        (Slope, "a/b,b.c,b against c,SP,model.width,", "over and rows belong together"),
        (Slope, "a/b,b.c,b against c,SP,model.width,stage", "write them as column=value"),
    ],
)
def test_a_broken_row_is_refused_in_one_line_that_names_it(kind, row, words):
    good = {
        Law: "z,A,a/b 92d63d4,b against c,-1.97,SP; SGD,line 3,w",
        Slope: "a/b,z,b against c,SP,,",
    }
    text = "\n".join([HEAD[kind], good[kind], row])
    with pytest.raises(UserError) as error:
        rows.parsed("studies/x.csv", kind, text.encode())
    assert str(error.value).startswith("studies/x.csv, line 3: ") and words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_name_that_stands_twice_is_refused(monkeypatch):
    twice = [("studies/laws.csv, line 2", law()), ("studies/laws.csv, line 3", law())]
    monkeypatch.setattr(rows, "read", lambda name, kind: twice)
    with pytest.raises(UserError, match="line 3: 'a' stands there twice"):
        laws.laws()


def table(path, power, rates):
    """Losses of two stages, each a parabola with its best rate at size^power."""
    found = [
        {"stage": stage, "model.depth": size, "lr": 2.0**k, "seed": seed, "train_loss": loss}
        for stage, size in (("narrow", 2), ("wide", 4), ("wide", 8), ("other", 16))
        for seed in (1, 2, 3)
        for k in rates
        for own in [power + (seed - 2) / 20]  # the seed's power
        for loss in [1 + (k + 4 - own * (size.bit_length() - 2)) ** 2]
    ]
    pd.DataFrame(found).to_csv(path, index=False)
    return path


def test_a_slope_is_read_off_the_chosen_rows_of_a_table(tmp_path):
    of = slope(over="model.depth", chosen="stage=narrow & model.depth=2.0 | stage=wide")
    path = table(tmp_path / "a.csv", -1.5, range(-9, 1))
    found = laws.of_table(of, "reduced", "embedded", path)
    assert found.value == pytest.approx(-1.5) and found.n == 3 and not found.problem
    assert laws.says(law("-3/2"), found) == AGREES and laws.says(law("0"), found) == EXCLUDED


def test_a_best_rate_at_its_grid_s_end_tells_nothing(tmp_path):
    of = slope(over="model.depth", chosen="stage=wide")
    found = laws.of_table(of, "reduced", "x", table(tmp_path / "a.csv", -1.5, range(-5, 1)))
    assert "4, 8" in found.problem and laws.says(law("-3/2"), found) == UNTOLD


@pytest.mark.parametrize(
    ("chosen", "words"),
    [("stag=wide", "its table has no column stag"), ("stage=narrow", "no two values")],
)
def test_rows_that_choose_nothing_are_refused(tmp_path, chosen, words):
    path = table(tmp_path / "a.csv", 0, range(-9, 1))
    with pytest.raises(UserError, match=words):
        laws.of_table(slope(over="model.depth", chosen=chosen), "reduced", "x", path)


def test_at_least_twelve_laws_are_of_the_last_three_years_and_some_are_measured():
    stated, known = laws.laws(), laws.slopes()
    recent = [each.text for each in stated if each.text.split()[-1] > "2311"]
    assert len(recent) >= 12
    measured = [each for each in stated if any(not laws.missing(each, s) for s in known)]
    assert len(measured) >= 12
    assert "depth-universal" in {each.law for each in measured}


def test_every_slope_on_file_is_asked_of_its_figure_or_is_read_off_its_table():
    asked = {(n, each.id) for n in catalog.figure_names() for each in catalog.figure(n).answers}
    wrong = [s for s in laws.slopes() if not s.over and (s.figure, s.slope) not in asked]
    assert wrong == []


def test_the_page_s_tables_are_what_the_command_writes():
    """After a new record: python -m repro new pages"""
    text = PAGE.read_text()
    assert marks.filled(PAGE, "laws", laws.lines) == text, f"python -m repro {marks.COMMAND}"
    assert all(f"| `{each.law}`: {each.quantity}" in text for each in laws.laws())
