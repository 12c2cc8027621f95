"""Figures whose arms have seeds of their own number: what is judged, and of which seeds."""

import itertools

import numpy as np
import pandas as pd
import pytest

from figures.effective_theory import updates
from figures.embedding_lr import fig1, mechanism
from repro.core import discovery
from studies.embedding_lr import decoder_step

RNG = np.random.default_rng(3)


def steps(numbers, power, form=("LVP", "post"), small=None):
    """Changes by a sign step at m = 8d, or at one vocabulary. numbers: width -> seeds."""
    init, norm = form
    return [
        {
            "model.width": d,
            "data.vocab_size": small or 8 * d,
            "init.embedding": init,
            "model.norm": norm,
            "seed": seed,
            "layer": layer,
            "change": size * np.exp(RNG.normal() / np.sqrt(d)),
            "along_residual": 1.0,
        }
        for d, number in numbers.items()
        for seed in range(number)
        for layer, size in (("embedding", 1.0), ("output", d**power))
    ]


def test_the_mechanism_is_judged_by_the_seeds_of_every_width():
    numbers = {32: 160, 64: 60, 128: 24, 256: 16}
    found = mechanism.exponent(pd.DataFrame(steps(numbers, 0.5)), "change")
    assert found.n == 16 and found.freedom > 15
    assert found.low < 0.5 < found.high and found.high - found.low < 0.2


def test_a_law_is_drawn_with_as_many_seeds_a_width():
    numbers = {32: 20, 64: 12, 128: 8, 256: 6}
    forms = (("LVP", "post"), ("SP", "post"), ("LVP", "pre"))
    rows = [row for form in forms for row in steps(numbers, 0.7, form)]
    rows += steps(numbers, 0.7, small=32) + steps(numbers, 0.7, small=4096)
    drawn = mechanism.simulate(
        mechanism.THEOREM, pd.DataFrame(rows), "reduced", np.random.default_rng(0)
    )
    found = mechanism.measure(drawn, "reduced")
    for claim, predicted in mechanism.predict(drawn, "reduced").items():
        power = predicted.high  # the law's, for the most frequent token
        assert found[claim].value == pytest.approx(power, abs=0.15) and found[claim].n == 6


def test_what_is_judged_of_the_mechanism_is_run_once():
    grids = [{**each.grid, **each.at("reduced").grid} for each in decoder_step.STAGES.values()]
    keys = ("model.width", "data.vocab_size", "init.embedding", "model.norm")
    cases = [
        tuple(case[key] for key in keys) for grid in grids if grid["seed"] for case in grid["case"]
    ]
    assert len(cases) == len(set(cases)) == 4 * 4 * 4 - 4  # 8d is 512 at a width of 64


def test_embeddings_of_standard_deviation_1_decide_nothing_at_the_default_scale():
    """They are best, and of two seeds."""
    rows = []
    for init, level, number in (("LVP", 4.0, 6), ("SP", 1.0, 2)):
        for d, k, seed in itertools.product((16, 64, 256), range(-8, 0), range(number)):
            bowl = 0.02 * (k + 2 + np.log2(d) / 2) ** 2 + 0.001 * seed
            columns = {"model.width": d, "lr.hidden": 0.2, "lr.output": 0.2, "seed": seed}
            columns |= {"init.embedding": init, "lr.embedding": 2.0**k, "vocab_reached": 512}
            rows.append(columns | {"train_loss": level + bowl})
    data = pd.DataFrame(rows)
    found = fig1.measure(data, "reduced")["fig1.optimum-falls"]
    assert found.value == pytest.approx(-0.5, abs=1e-3) and found.n == 6 and not found.problem


def test_updates_of_widths_with_seeds_of_their_own():
    names = {"model": "bart", "strategy": "hybrid", "step": 8}
    rows = [
        {**names, "width": n, "seed": seed, "output_change": 1.0, "hidden_change": n**-0.25}
        for n, number in ((64, 48), (128, 24), (256, 16))
        for seed in range(number)
    ]
    found = updates.exponents(pd.DataFrame(rows))["bart", "hybrid", "hidden_change"]
    assert found.value == pytest.approx(-0.25) and found.n == 16


def test_the_arms_are_of_the_register():
    for name in ("fig1", "fig4", "mechanism"):
        for stage in discovery.figure_stages(f"embedding_lr/{name}"):
            seeds = discovery.study(stage).at("reduced").grid.get("seed", ())
            drawn = stage.endswith(("/others", "every_case", "claimed", "/width"))
            assert drawn or not seeds or hasattr(seeds, "arm"), stage
