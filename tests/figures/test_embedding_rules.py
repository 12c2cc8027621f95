"""Rules for the embedding's learning rate, judged by loss on sweeps of known laws."""

import re
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from figures.embedding_lr import _rules, _sweep
from figures.embedding_lr._sweep import sweeps
from repro.core import schedule
from repro.lineage import checkout
from repro.verdicts import drawing
from studies.embedding_lr import width_and_vocabulary
from widthwise.checks.sweep import Sweep, Sweeps

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
    sweep = sweeps(table(POWERS[law]))
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
    sweep = sweeps(rows)
    found = _rules.loss_at(sweep, 128, [0], np.array([-9.5, -9.0, -3.0, -2.5, 1.0]))
    assert np.isfinite(found).tolist() == [False, True, True, False, False]
    measured = _rules.measure("x", sweep, "reduced")
    assert "beyond the grid, or where runs diverged" in measured["x.transfer-mup"].problem
    assert np.isnan(measured["x.transfer-mup"].value)
    assert np.isfinite(measured["x.transfer-sp"].value)


def test_one_constant_does_not_know_the_seed_it_is_judged_on():
    """Seeds 0 and 1 have their optimum an octave below that of seed 2, which is judged: told that,
    it would cost nothing."""
    rows = pd.concat([table(-0.5, (0, 1)), table(-0.5, (2,))], ignore_index=True)
    rows.loc[rows["seed"] < 2, "lr.embedding"] /= 2
    sweep = sweeps(rows[np.log2(rows["lr.embedding"]).between(-9, 0)])
    above = _rules.one_constant(sweep, -0.5, 2) - _rules.tuned(sweep, WIDTHS, 2)
    assert above == pytest.approx(BEND, rel=1e-6)
    # Whatever the judged seed's own runs were, the constant stays the others'.
    rows.loc[rows["seed"] == 2, "train_loss"] += 10 * np.log2(rows["lr.embedding"])
    other = sweeps(rows[np.log2(rows["lr.embedding"]).between(-9, 0)])
    moved = _rules.one_constant(other, -0.5, 2) - _rules.one_constant(sweep, -0.5, 2)
    rates = [_rules.log2_rates(sweep, -0.5, -3.0, width) for width in WIDTHS]
    assert moved == pytest.approx(10 * np.mean(rates), rel=1e-6)


def test_every_estimator_s_slope_stands_beside_the_judged_one():
    found = _rules.measure("x", sweeps(table(-0.5)), "reduced")["x.sqrt-d-rule"]
    for octaves in (2, 4, 6):
        assert f"a parabola {octaves} octaves wide -0.50 [-0.50, -0.50]" in found.detail
    assert "the two largest widths, d = 64 to 128, -0.50 [-0.50, -0.50]" in found.detail


def test_two_readings_of_the_fit_that_differ_by_more_than_seeds_are_both_in_the_interval():
    """Curves that are steeper above the wider the model is: no one cubic term fits them all."""
    rows = table(-0.5)
    octaves = np.log2(rows["model.width"] / 16)
    at = np.log2(rows["lr.embedding"]) + 2 + 0.5 * octaves
    rows["train_loss"] += 0.0008 * octaves * at**3 * (at.abs() < 4)
    found = _rules.measure("x", sweeps(rows), "reduced")["x.sqrt-d-rule"]
    assert found.problem == "" and "which here spans them all" in found.detail
    assert found.low < found.high and found.low <= found.value <= found.high
    alike = _rules.measure("x", sweeps(table(-0.5)), "reduced")["x.sqrt-d-rule"]
    assert alike.high - alike.low < 1e-6 and "spans them all" not in alike.detail


def test_widths_may_have_seeds_of_their_own_and_the_interval_covers_the_slope():
    """Fresh draws of bowls with a cubic term: 24, 6 and 6 seeds, noise and curves as on record."""
    rng, covered, draws = np.random.default_rng(5), 0, 60
    for _ in range(draws):
        found = {}
        for width, seeds, sd, lowest, octaves in (
            (16, 24, 0.18, -3.6, np.arange(-7, 0)),
            (64, 6, 0.1, -4.4, np.arange(-7, -1)),
            (256, 6, 0.08, -5.2, np.arange(-8, -2)),
        ):
            v = octaves - lowest - sd * rng.standard_normal((seeds, 1))
            bend = 0.008 * 2 ** (np.log2(width / 16) / 2)
            found[width] = Sweep(2.0**octaves, tuple(range(seeds)), 4 + bend * (v**2 + 0.1 * v**3))
        slope = _sweep.joint(Sweeps(found)).slope()
        covered += slope.low <= -0.4 <= slope.high
        assert slope.n == 6 and slope.freedom > 5
        assert slope.value == pytest.approx(-0.4, abs=0.12)
    assert 0.87 <= covered / draws <= 1


@pytest.mark.parametrize("put_in", [-1.0, -0.25, 0.25])
@pytest.mark.parametrize("shift", [0.0, 0.5], ids=["octaves", "shifted"])
def test_the_fit_sees_the_slope_that_is_put_in(put_in, shift):
    """On the very grids of Figure 3's design, moved so that no optimum lies at an end."""
    found = {}
    for k, width in enumerate((16, 64, 256)):
        v = np.arange(-4.0, 4.0) + shift - put_in * (k - 1)
        bend = 0.01 * 2**k
        losses = 4 + bend * (v**2 + 0.12 * v**3)
        found[width] = Sweep(2.0 ** np.arange(-4.0, 4.0), (0, 1), np.array([losses, losses]))
    slope = _sweep.joint(Sweeps(found)).slope().value
    assert 0.85 <= slope / (put_in / 2) <= 1.15


@pytest.fixture
def page():
    """The code blocks of the page on own settings, by the name of their file."""
    text = (checkout.ROOT / "docs" / "own-settings.md").read_text()
    block = r"`(\w+/embedding_lr/\w+)\.py`(?:(?!```).)*?```python\n(.*?)```"
    return dict(re.findall(block, text, re.DOTALL))


def loaded(code):
    module = ModuleType("of_a_page")
    exec(code, module.__dict__)
    return module


def test_another_ratio_norm_and_corpus_are_a_study_of_ten_lines(page):
    code = page["studies/embedding_lr/ratio_2"]
    assert len(code.splitlines()) <= 10
    study = loaded(code).STUDY
    cells = schedule.cells("embedding_lr/ratio_2", study, "reduced", 1, {})
    specs = [run.spec for cell in cells for run in cell.runs]
    assert {(s["model"]["width"], s["data"]["vocab_size"]) for s in specs} == {
        (d, 2 * d) for d in WIDTHS
    }
    assert {s["model"]["norm"] for s in specs} == {"none"}
    assert {s["data"]["dataset"] for s in specs} == {"fineweb"}


def test_more_seeds_are_a_study_that_shares_the_runs_that_are_there():
    study = width_and_vocabulary.sweep()
    reduced = study.scales["reduced"]
    grid = {**reduced.grid, "seed": [*reduced.grid["seed"], *range(9000, 9005)]}
    more = replace(study, scales={**study.scales, "reduced": replace(reduced, grid=grid)})
    ids = []
    for each in (more, study):
        cells = schedule.cells("embedding_lr/more_seeds", each, "reduced", 1, {})
        ids.append({run.id for cell in cells for run in cell.runs})
    assert ids[0] > ids[1]
    before = len(reduced.grid["seed"])
    assert len(ids[0]) / len(ids[1]) == (before + 5) / before


def test_and_a_figure_of_a_page_judges_the_rules_on_it(page):
    figure = loaded(page["figures/embedding_lr/fig3_ratio_2"])
    runs = table(-0.5).assign(step=140)
    runs["vocab_reached"] = 2 * runs["model.width"]
    data = figure.reduce({figure.RUNS: runs})
    found = figure.measure(data, "reduced")
    assert {each.id for each in figure.FIGURE.answers} == set(found)
    assert found["fig3_ratio_2.sqrt-d-rule"].value == pytest.approx(-0.5, abs=1e-6)
    drawn = figure.draw(data, "reduced")
    assert len(drawn.axes) == 4
    drawing.plt.close(drawn)
