import pytest
from parameters import kept
from refusals import refused
from suites import suite_of

from repro.core import catalog, discovery
from repro.core.runs import Run
from repro.core.schedule import cells
from repro.core.spec import override
from repro.core.study import SCALES, Scale, Study

SPEC = {"width": 1, "lr": {"embedding": 0.1}, "threads": 1, "seed": 0}


def study(same_job=(), grid=None):
    scale = Scale(same_job=same_job)
    grid = grid or {"width": [1, 2], "lr.embedding": [0.1, 0.2, 0.4], "seed": [0, 1]}
    return Study("task", SPEC, grid, dict.fromkeys(SCALES, scale))


def ids(study, **changes):
    arguments = {
        "scale": "smoke",
        "task_version": 1,
        "datasets": {"text": {"sha256": "a"}},
    }
    found = cells("p/s", study, **(arguments | changes))
    return [run.id for cell in found for run in cell.runs]


def test_runs_are_the_product_of_the_axes():
    runs = [run for cell in cells("p/s", study(), "smoke", 1, {}) for run in cell.runs]
    points = {(r.spec["width"], r.spec["lr"]["embedding"], r.spec["seed"]) for r in runs}
    assert len(runs) == len(points) == 12


def test_how_runs_share_a_job_is_no_part_of_their_identity():
    one_job_a_run, one_curve_a_job = study(), study(same_job=("lr.embedding", "seed"))
    assert sorted(ids(one_job_a_run)) == sorted(ids(one_curve_a_job))
    found = cells("p/s", one_curve_a_job, "smoke", 1, {})
    assert [len(cell.runs) for cell in found] == [6, 6]
    assert [cell.axes for cell in found] == [{"width": 1}, {"width": 2}]


@pytest.mark.parametrize(
    "change",
    [{"task_version": 2}, {"datasets": {"text": {"sha256": "b"}}}, {"datasets": {}}],
)
def test_identity_changes_with_version_and_data(change):
    assert not set(ids(study())) & set(ids(study(), **change))


def test_identity_changes_with_threads():
    def run(threads):
        return Run("task", 1, SPEC | {"threads": threads}, {}, {})

    assert run(1).id != run(2).id
    assert run(1).id == run(1).id


def test_the_same_point_twice_raises():
    with refused("in the grid twice"):
        cells("p/s", study(grid={"seed": [0, 0]}), "smoke", 1, {})


def test_override_reaches_nested_settings_and_copies():
    changed = override(SPEC, {"lr.embedding": 9.0})
    assert changed["lr"]["embedding"] == 9.0
    assert SPEC["lr"]["embedding"] == 0.1


@pytest.mark.parametrize("path", ["typo", "lr.typo", "typo.embedding"])
def test_override_refuses_an_unknown_setting(path):
    with pytest.raises(KeyError):
        override(SPEC, {path: 1})


def test_a_study_must_state_every_scale():
    with pytest.raises(ValueError, match="states each of"):
        Study("task", SPEC, {}, {"smoke": Scale()})


@pytest.mark.parametrize("scale", kept(SCALES, but=["paper", "workstation"]))
def test_every_study_resolves_at_every_scale(scale):
    suite = suite_of(scale=scale)
    for name in filter(suite.offers, catalog.figure_names()):
        for stage, found in suite.figure_cells(name).items():
            runs = [run.id for cell in found for run in cell.runs]
            assert runs and len(runs) == len(set(runs)), stage
            assert len({cell.name for cell in found}) == len(found), stage


def test_no_study_shares_a_folder_with_a_figure():
    studies = {"/".join(name.split("/")[:2]) for name in discovery.study_names()}
    assert not studies & set(catalog.figure_names())


@pytest.mark.parametrize("same_job", [(), ("seed",)])
def test_an_axis_left_empty_leaves_no_job(same_job):
    empty = study(same_job, {"width": [1, 2], "seed": []})
    assert cells("p/s", empty, "smoke", 1, {}) == []
