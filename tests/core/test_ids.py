"""Runs keep their ids, and so their results, whatever is changed in what plans them."""

from dataclasses import replace

import ids
import pytest
from recorded import listed

from repro.core import discovery
from repro.core.names import StageName
from repro.core.study import SCALES
from repro.core.suite import load

SLOW = ("paper",)


@pytest.mark.parametrize(
    "scale", [pytest.param(s, marks=pytest.mark.long) if s in SLOW else s for s in SCALES]
)
def test_every_run_and_every_cell_keeps_its_name(scale):
    """Of a study that is not in the file yet nothing is on record."""
    known, every = ids.recorded()[scale], ids.digests(scale)
    found = {study: every[study] for study in known}
    for key in ("run_ids", "cell_names", "runs"):
        moved = [study for study in known if found[study][key] != known[study][key]]
        assert not moved, f"other {key}: if that is meant, `python tests/ids.py {' '.join(moved)}`"


def test_the_studies_of_every_record_are_held():
    for scale in ("smoke", "reduced"):
        stages = [stage for name in listed() for stage in discovery.figure_stages(name)]
        studies = {StageName.parse(s).module for s in stages if scale in discovery.study(s).scales}
        assert studies <= {*ids.recorded()[scale]}, "uv run python tests/ids.py"


def test_a_run_alone_has_the_id_that_it_has_among_the_runs_of_its_grid_point():
    suite = load(["scale=smoke"])
    stages = [suite.cells(stage) for stage in discovery.study_names()]
    runs = [run for cells in stages for cell in cells for run in cell.runs]
    assert len({id(run.form) for run in runs}) < len(runs)
    assert [replace(run).id for run in runs] == [run.id for run in runs]
