"""Rules for the embedding's learning rate, judged by loss on sweeps of known laws."""

import re
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from figures.embedding_lr import _rules
from figures.embedding_lr._sweep import Sweep
from repro.judge import drawing
from repro.suite import plan, registry

WIDTHS, RATES, BEND = (16, 32, 64, 128), range(-9, 2), 0.02
POWERS = {"sqrt(d)": -0.5, "muP": 0.0, "SP": -1.0}


def table(power, seeds=(0, 1, 2)):
    """Losses that are parabolas in log2 of the rate, with the optimum at 2^-2 (d/16)^power."""
    return pd.DataFrame(
        {
            "model.width": d,
            "lr.embedding": 2.0**j,
            "seed": seed,
            "train_loss": 4
            - 0.1 * np.log2(d)
            + BEND * (j + 2 - power * np.log2(d / 16)) ** 2
            + 0.01 * seed,
        }
        for d in WIDTHS
        for j in RATES
        for seed in seeds
    )


@pytest.mark.parametrize("law", POWERS)
def test_a_rule_costs_what_its_distance_from_the_law_does(law):
    """On parabolas both costs are known: of a constant for all widths the variance of the
    distances, of a constant carried the square of the last."""
    sweep = Sweep(table(POWERS[law]))
    octaves = np.log2(np.array(WIDTHS) / 16)
    for power in POWERS.values():
        distance = (power - POWERS[law]) * octaves
        one = _rules.excess(sweep, _rules.one_constant, power)
        assert one == pytest.approx([BEND * distance.var()] * 3, abs=BEND * _rules.STEP**2)
        carried = _rules.excess(sweep, _rules.transferred, power)
        assert carried == pytest.approx([BEND * distance[-1] ** 2] * 3, abs=1e-9)


def test_beyond_the_grid_and_beside_a_diverged_run_nothing_is_told():
    rows = table(-0.5)
    rows.loc[(rows["model.width"] == 128) & (rows["lr.embedding"] > 0.2), "train_loss"] = np.inf
    sweep = Sweep(rows)
    found = _rules.loss_at(sweep, 128, [0], np.array([-9.5, -9.0, -3.0, -2.5, 1.0]))
    assert np.isfinite(found).tolist() == [False, True, True, False, False]
    measured = _rules.measure("x", sweep, "reduced")
    assert "beyond the grid, or where runs diverged" in measured["x.transfer-mup"].problem
    assert np.isnan(measured["x.transfer-mup"].value)
    assert np.isfinite(measured["x.transfer-sp"].value)


def test_where_two_estimators_differ_by_more_than_seeds_the_interval_spans_both():
    rows = table(-0.5)
    octaves = np.log2(rows["model.width"] / 16)
    at = np.log2(rows["lr.embedding"]) + 2 + 0.5 * octaves
    rows["train_loss"] += 0.002 * octaves * at**3 * (at.abs() < 4)  # steeper above, ever more
    found = _rules.measure("x", Sweep(rows), "reduced")["x.sqrt-d-rule"]
    assert found.problem == "" and "which here spans both" in found.detail
    assert found.low < found.high and found.low <= found.value <= found.high
    alike = _rules.measure("x", Sweep(table(-0.5)), "reduced")["x.sqrt-d-rule"]
    assert alike.high - alike.low < 1e-6 and "spans both" not in alike.detail


@pytest.fixture
def page():
    """The code blocks of the page on this paper, by the folder that they are for."""
    text = (registry.ROOT / "studies" / "embedding_lr" / "README.md").read_text()
    block = r"`(\w+)/<paper>/twice\.py`.*?```python\n(.*?)```"
    return dict(re.findall(block, text, re.DOTALL))


def loaded(code):
    module = ModuleType("twice")
    exec(code, module.__dict__)
    return module


def test_another_ratio_norm_and_corpus_are_a_study_of_ten_lines(page):
    code = page["studies"]
    assert len(code.splitlines()) <= 10
    study = loaded(code).STUDY
    specs = [run.spec for cell in plan.cells("twice", study, "reduced", 1, {}) for run in cell.runs]
    assert {(s["model"]["width"], s["data"]["vocab_size"]) for s in specs} == {
        (d, 2 * d) for d in WIDTHS
    }
    assert {s["model"]["norm"] for s in specs} == {"none"}
    assert {s["data"]["dataset"] for s in specs} == {"fineweb"}


def test_and_a_figure_of_a_page_judges_the_rules_on_it(page):
    figure = loaded(page["figures"])
    runs = table(-0.5).assign(step=140, vocab_reached=256)
    data = figure.reduce({figure.STUDIES[0]: runs})
    found = figure.measure(data, "reduced")
    assert {claim.id for claim in figure.CLAIMS} == set(found)
    assert found["twice.sqrt-d-rule"].value == pytest.approx(-0.5, abs=1e-6)
    drawn = figure.draw(data, "reduced")
    assert len(drawn.axes) == 3
    drawing.plt.close(drawn)
