"""The benchmark of transfer at paper scale: every workload is stepped at full shape."""

from functools import cache

import pytest
from full_shape import step_back
from suites import suite_of

from repro.core.runs import Upstream
from repro.core.spec import override, settings
from repro.data.random_data import random_data
from repro.lineage import checkout
from repro.tasks import TASKS

TASK = TASKS["transfer"]
# Workload -> the stage that has its largest models.
LARGEST = dict.fromkeys(("bart", "decoder", "gru", "mlp"), "wide") | {"decoder_depth": "deep"}
ROWS = {"covtype_long": 464_809}  # of a table, that there are
LONG = {"bart", "gru"}  # seconds: loops over tokens, or many layers
GPU_BYTES = 75e9  # of 80 GB; the rest is torch's own


@cache
def specs(workload):
    """Settings of the runs of a workload's largest models, one for all that is tuned narrow."""
    suite = suite_of(scale="paper", data="real")
    found = []
    for cell in suite.cells(f"transfer/{workload}/{LARGEST[workload]}"):
        for run in cell.runs:
            taken = {key: 1.0 for key, v in settings(run.spec) if isinstance(v, Upstream)}
            assert set(taken) <= {"embedding_ratio", "optimizer.weight_decay"}
            found.append(override(run.spec, taken))
    return found


def test_every_workload_is_stepped_below():
    files = checkout.ROOT.glob("studies/transfer/[a-z]*.py")
    others = {"equal_runs", "decay_by_width", "decoder_muon_rules"}  # of other tasks
    assert {path.stem for path in files} - others == set(LARGEST)


@pytest.mark.parametrize(
    "workload", [pytest.param(w, marks=[pytest.mark.slow] if w in LONG else []) for w in LARGEST]
)
def test_its_largest_model_steps_at_full_shape_on_the_meta_device(workload):
    spec = max(specs(workload), key=lambda spec: TASK.cost(spec).memory_bytes)
    found = TASK.cost(spec)
    assert found.memory_bytes < GPU_BYTES
    rows, rest = divmod(spec["data"]["batch_size"], spec["microbatches"])
    assert not rest
    part = override(spec, {"data.batch_size": rows, "microbatches": 1})
    training = TASK.build(part, random_data(part, "meta"), "meta")
    step_back(training, next(training.batches.from_step(0)))
    held = list(training.model.parameters())
    assert sum(p.numel() for p in held) == found.parameters
    assert sum(len(g["params"]) for g in training.optimizer.param_groups) == len(held)


@pytest.mark.parametrize("workload", LARGEST)
def test_no_datum_is_seen_twice(workload):
    for spec in specs(workload):
        rows = ROWS.get(spec["data"]["dataset"])
        assert rows is None or spec["steps"] * spec["data"]["batch_size"] <= rows
