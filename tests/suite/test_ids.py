"""Runs keep their ids, and so their results, whatever is changed in what plans them."""

from dataclasses import replace

import ids
import pytest

from repro.suite import registry
from repro.suite.study import SCALES
from repro.suite.suite import load

SLOW = ("paper",)


@pytest.mark.parametrize(
    "scale", [pytest.param(s, marks=pytest.mark.long) if s in SLOW else s for s in SCALES]
)
def test_every_run_and_every_cell_keeps_its_name(scale):
    known, found = ids.recorded()[scale], ids.digests(scale)
    remedy = "if that is meant, `uv run python tests/ids.py` writes them anew"
    assert found["run_ids"] == known["run_ids"], f"other runs than on record: {remedy}"
    assert found["cell_names"] == known["cell_names"], f"cells have other names: {remedy}"
    assert found["runs"] == known["runs"]


def test_a_run_alone_has_the_id_that_it_has_among_the_runs_of_its_grid_point():
    suite = load(["scale=smoke"])
    stages = [suite.cells(stage) for stage in registry.study_names()]
    runs = [run for cells in stages for cell in cells for run in cell.runs]
    assert len({id(run.form) for run in runs}) < len(runs)
    assert [replace(run).id for run in runs] == [run.id for run in runs]
