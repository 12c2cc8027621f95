"""A pilot's seeds, which judge nothing, and `repro register`: a row as it is planned."""

import pytest

from repro.authoring import planning, registering
from repro.authoring.pilot import SEEDS, Piloted
from repro.core import discovery, rows
from repro.core.seeds import Arm, Seeds, derived
from repro.core.suite import load
from repro.errors import UserError
from repro.files import write_json
from repro.verdicts.preregistration import RULE, SEARCHED, Registered

CLAIM = "rate_transfer/distance.network"
TYPED = {"why": "half way to 0 and to -1", "known": "a trial"}


def planned(path, power=0.95, seeds=None):
    promises = {"distance.network": {"power": power, "told": 0.8, "error": 0.01, "law": "1/n"}}
    of = {"figure": "rate_transfer/distance", "scale": "reduced", "data": "embedded"}
    design = {"seeds": seeds or {"network": 12}, "seconds": 216.0, "promises": promises}
    write_json(path, of | design)
    return path


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """A plan of the design as it is; the register is of another checkout."""
    for module in (registering, rows):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    (tmp_path / "studies/rate_transfer").mkdir(parents=True)
    path = tmp_path / "plan.json"
    monkeypatch.setattr(planning, "path", lambda suite, name: path)
    return planned(path)


def test_a_pilot_has_seeds_of_its_own_in_every_stage_that_has_some():
    suite = Piloted(load(["scale=reduced"]), 4)
    for name in discovery.figure_stages("upscaling/fig8"):
        own = [*suite.study(name).at("reduced").grid.get("seed", ())]
        assert own in ([], [1900, 1901, 1902, 1903])
    runs = [run for cell in suite.cells("rate_transfer/first_step") for run in cell.runs]
    assert {run.spec["seed"] for run in runs} == {*SEEDS[:4]}


def test_no_study_judges_on_a_pilot_s_seeds():
    for name in discovery.study_names():
        for scale in discovery.study(name).scales.values():
            seeds = scale.grid.get("seed", ())
            waiting = isinstance(seeds, Seeds)  # of a row: until then nothing is judged on them
            assert waiting or not {*seeds} & {*SEEDS}, name


def test_a_row_is_the_design_and_what_a_person_says(plan):
    suite = load(["scale=reduced"])
    said = registering.row(suite, CLAIM, {}, "network 12")
    assert said.endswith("not written: give --why and --known")
    assert not (registering.ROOT / "studies/rate_transfer/registered.csv").exists()
    for _ in range(2):  # rows are added
        registering.row(suite, CLAIM, TYPED, "network 12")
    (_, row), (_, again) = rows.read("studies/rate_transfer/registered.csv", Registered)
    assert row == again and row.why == TYPED["why"]
    assert row.known == f"{RULE}; {TYPED['known']}"  # by which rule it was planned
    assert (row.scale, row.data, row.claim) == ("reduced", "embedded", "distance.network")
    assert row.bound == "-0.5 within 0.25" and row.rivals == "no fall; 1/n"
    assert row.widths == "32 64 128 256 512 1024" and row.grid == "parametrization: muP SP NTP"
    assert row.asked == {"network": 12}
    assert (row.power, row.told, row.error, row.seconds) == (0.95, 0.8, 0.01, 216)


def test_what_a_search_will_add_to_a_grid_is_said_in_words():
    """Found in review: rows of the register hold the code of every point."""
    grid = registering._grid(load([]), "embedding_lr/fig3")
    assert grid.count(SEARCHED) == 1 and "Proposal" not in grid


@pytest.mark.parametrize(
    ("claim", "scale", "said"),
    [
        ("rate_transfer/distance.mean", "reduced", "its figure has no laws of it"),
        (
            "rate_transfer/distance.beyond",
            "reduced",
            "binds at scale overnight, not at reduced on embedded data",
        ),
    ],
)
def test_what_cannot_be_planned_is_said(claim, scale, said, plan):
    with pytest.raises(UserError, match=said):
        registering.row(load([f"scale={scale}"]), claim, TYPED)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"power": 0.5}, "power 0.5 is below 0.9; plan more seeds"),
        ({"seeds": {"network": 6}}, "'network 12' is asked, and the arms of the plan have"),
    ],
)
def test_too_little_power_or_another_design_is_refused(other, said, plan):
    planned(plan, **other)
    with pytest.raises(UserError, match=said):
        registering.row(load(["scale=reduced"]), CLAIM, TYPED, "network 12")


def test_an_arm_that_has_seeds_is_refused(plan):
    """Found: a row of an arm whose seeds were there was written, and no badge could be had."""
    commit = "c" * 40
    seeds = " ".join(map(str, derived(commit, "network", 12)))
    rows.write("studies/rate_transfer/seeds.csv", Arm, [Arm("network", commit, seeds)])
    with pytest.raises(UserError, match=r"arm network has seeds already, .* name a new arm"):
        registering.row(load(["scale=reduced"]), CLAIM, TYPED, "network 12")
    assert not (registering.ROOT / "studies/rate_transfer/registered.csv").exists()


def test_seeds_that_somebody_picked_are_no_arm_of_a_row():
    suite = load(["scale=reduced"])
    assert registering.asked_of(suite, "rate_transfer/distance") == "first-step 24"
    with pytest.raises(UserError, match="take them of an arm"):
        registering.asked_of(load(["scale=smoke"]), "rate_transfer/distance")
