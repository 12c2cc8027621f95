"""How far training moves outputs and streams: the task, and its figure's verdicts."""

import numpy as np
import pandas as pd
import pytest
from golden import SPECS
from judged import of_figure, statuses
from refusals import refused
from tiny import tiny_run

from repro.core import catalog
from repro.data.random_data import random_data
from repro.tasks import TASKS
from repro.training.loop import fit

pytestmark = pytest.mark.usefixtures("measured_alone")


def records(model, tmp_path, parametrization="neural-tangent", **changes):
    task, spec, _ = tiny_run(model, parametrization)
    spec = spec | {"trains": task, "rates": "strategy"} | changes
    training = TASKS["update_sizes"].build(spec, random_data(spec, "cpu"), "cpu")
    return fit(training, progress=lambda *_: None, checkpoint=tmp_path / "state")


@pytest.mark.parametrize("model", ["vit", "bart"])
def test_changes_are_those_since_initialization(model, tmp_path):
    (still,) = records(model, tmp_path, lr=1e-30)
    assert still["output_change"] == still["hidden_change"] == 0.0
    (moved,) = records(model, tmp_path)
    assert moved["output_change"] > 0 and moved["hidden_change"] > 0
    assert moved["hidden"] == pytest.approx(still["hidden"], rel=0.9)


def test_uniform_rates_are_one_rate_for_every_parameter(tmp_path):
    task, spec, _ = tiny_run("vit", "neural-tangent")
    spec = spec | {"trains": task, "rates": "uniform"}
    data = random_data(spec, "cpu")
    groups = TASKS["update_sizes"].build(spec, data, "cpu").optimizer.param_groups
    assert {group["lr"] for group in groups} == {spec["lr"]}
    with refused("rates 'both': choose strategy or uniform"):
        TASKS["update_sizes"].build(spec | {"rates": "both"}, data, "cpu")


def test_a_study_s_settings_are_held_against_the_task_that_trains():
    from repro.core.contracts import _check_task_reads

    _check_task_reads("here", "update_sizes", SPECS["update_sizes"])
    with refused("'factor' is no setting"):
        _check_task_reads("here", "update_sizes", SPECS["update_sizes"] | {"factor": 1})


def test_the_sizes_cost_what_training_costs():
    spec = SPECS["update_sizes"]
    assert TASKS["update_sizes"].cost(spec) == TASKS[spec["trains"]].cost(spec)


def table(outputs=0.0, hidden=None, uniform=1.0):
    """Made-up changes: exponents of outputs, of streams by strategy, of outputs at one rate."""
    figure = catalog.figure_module("effective_theory/updates")
    streams = {"neural-tangent": -0.5, "hybrid": -0.25, "maximal-update": 0.0} | (hidden or {})
    rng = np.random.default_rng(0)
    rows = []
    for model in figure.MODELS:
        for strategy in (*streams, figure.UNIFORM):
            for n in (32, 64, 128):
                for seed in range(5):
                    noise = np.exp(0.02 * rng.normal(size=2))
                    power = uniform if strategy == figure.UNIFORM else outputs
                    changes = np.array([n**power, n ** streams.get(strategy, 1.0)]) * noise
                    row = {"model": model, "strategy": strategy, "width": n, "seed": seed}
                    row |= {"step": 8} | dict(zip(figure.CHANGES, changes, strict=True))
                    rows.append(row)
    return pd.DataFrame(rows)


def verdicts(**changes):
    return statuses(of_figure("effective_theory/updates", table(**changes), "reduced", True))


def test_the_verdicts_follow_the_exponents():
    assert set(verdicts().values()) == {"reproduced"}
    found = verdicts(outputs=0.5)
    assert found["output-vit"] == found["output-bart"] == "not reproduced"
    found = verdicts(hidden={"hybrid": -0.5})
    assert found.pop("hidden-hybrid") == "not reproduced"
    assert set(found.values()) == {"reproduced"}
    uniform = of_figure("effective_theory/updates", table(uniform=0.8), "reduced", True)["uniform"]
    assert uniform["measured"] == pytest.approx(0.8, abs=0.05), "a reading"
