import itertools
import math

import pytest
from refusals import refused
from suites import suite_of

from repro.core import cells as cellfiles
from repro.core import discovery
from repro.core.execute import run_cell
from repro.core.schedule import cells
from repro.core.search import full_neighbourhood, untried_neighbours
from repro.core.study import SCALES, Best, Checkpoint, Scale, Study
from repro.core.upstream import UpstreamResults
from repro.files import canonical_json, sha256
from repro.lineage import arithmetic
from repro.tasks import TASKS, Task
from repro.tasks.recorded import TRAINED, Records
from repro.verdicts import tabulate


def test_nothing_is_missing_around_an_optimum_inside():
    losses = {(x, y): (x - 2) ** 2 + (y - 4) ** 2 for x in (1, 2, 4) for y in (2, 4, 8)}
    assert untried_neighbours(losses) == []


def test_an_edge_grows_by_the_ratio_of_its_last_values():
    assert untried_neighbours({(0.1,): 1.0, (0.2,): 2.0}) == [(0.05,)]
    assert untried_neighbours({(0.5,): 3.0, (2.0,): 2.0}) == [(8.0,)]
    assert untried_neighbours({(4.0,): 1.0}) == [(2.0,), (8.0,)]


def test_two_neighbours_on_either_side_are_as_far_apart_as_the_grid():
    """So a parabola through five points has the best in its middle."""
    two = ((-1,), (1,), (-2,), (2,))
    losses = {(2.0**x,): (x - 3.4) ** 2 for x in range(3)}
    assert untried_neighbours(losses, two) == [(8.0,), (16.0,)]
    for _ in range(2):
        losses |= {p: (math.log2(p[0]) - 3.4) ** 2 for p in untried_neighbours(losses, two)}
    assert sorted(losses) == [(2.0**x,) for x in range(6)] and not untried_neighbours(losses, two)
    single = {(4.0,): 1.0}
    assert untried_neighbours(single, two) == [(2.0,), (8.0,), (1.0,), (16.0,)]


def test_there_is_nothing_below_zero():
    assert untried_neighbours({(0.0,): 1.0, (1.0,): 2.0}) == []
    assert untried_neighbours({(0.0,): 2.0, (1.0,): 1.0}) == [(2.0,)]


def test_a_corner_asks_for_its_neighbours_the_nearest_first():
    losses = {(x, y): -x - y for x in (1.0, 2.0) for y in (1.0, 2.0)}
    found = untried_neighbours(losses)
    assert set(found) == {(4.0, 2.0), (2.0, 4.0), (1.0, 4.0), (4.0, 1.0), (4.0, 4.0)}
    assert all(1.0 not in point and point != (4.0, 4.0) for point in found[:2])


def test_no_more_is_asked_for_than_there_are_proposals():
    for axes in (1, 2, 3):
        assert len(untried_neighbours({(1.0,) * axes: 0.0})) == len(full_neighbourhood(axes))


def test_a_search_that_diverged_everywhere_asks_for_nothing():
    assert untried_neighbours({(1.0,): math.inf, (2.0,): math.nan, (4.0,): math.inf}) == []
    assert untried_neighbours({}) == []


@pytest.mark.parametrize("centre", [(0.0, 0.0), (5.0, -3.0), (-4.3, 6.1)])
def test_rounds_reach_the_optimum_of_a_convex_loss(centre):
    def loss(point):
        return sum((math.log2(v) - c) ** 2 for v, c in zip(point, centre, strict=True))

    losses = {p: loss(p) for p in itertools.product((1.0, 2.0), (1.0, 2.0))}
    for _ in range(10):
        losses |= {point: loss(point) for point in untried_neighbours(losses)}
    best = min(losses, key=losses.get)
    assert untried_neighbours(losses) == []
    assert [math.log2(v) for v in best] == [round(c) for c in centre]


AXIAL = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1))  # Dinan et al., II.1.E


def test_a_neighbourhood_names_the_neighbours_that_must_be_worse():
    losses = {(1.0, 8.0): 0.0}
    found = untried_neighbours(losses, AXIAL)
    assert set(found) == {(2, 8), (0.5, 8), (1, 16), (1, 4), (2, 4), (0.5, 16)}
    assert {abs(math.log2(x)) + abs(math.log2(y / 8)) for x, y in found[:4]} == {1.0}
    assert untried_neighbours(losses | dict.fromkeys(found, 1.0), AXIAL) == []
    assert set(untried_neighbours(losses | dict.fromkeys(found, 1.0))) == {(2, 16), (0.5, 4)}


def test_a_neighbourhood_reaches_the_optimum_of_a_tilted_valley():
    """lr * wd matters most: the diagonal steps follow the valley the axial ones would climb."""

    def loss(point):
        x, y = (math.log2(v) for v in point)
        return (x + y) ** 2 + 0.1 * (x - 3) ** 2

    losses, rounds = {(1.0, 1.0): loss((1.0, 1.0))}, 0
    while wanted := untried_neighbours(losses, AXIAL):
        losses |= {point: loss(point) for point in wanted}
        rounds += 1
    assert min(losses, key=losses.get) == (8.0, 1 / 8) and rounds == 4


def test_a_study_s_neighbourhood_is_its_proposals_and_others_keep_their_ids():
    point = {"lr": 1.0, "wd": 1.0, "seed": 0}
    grid = {"lr": [1.0], "wd": [1.0]}
    scales = {name: Scale(same_job=("lr", "wd"), rounds=2) for name in SCALES}

    def asked(**changes):
        study = Study("fake", point, grid, scales, search=("lr", "wd"), **changes)
        base = [run for cell in cells("p/s/tune", study, "smoke", 1, {}) for run in cell.runs]
        found = cells("p/s/tune+1", study.round("tune"), "smoke", 1, {}, lambda stage: base)
        return base, [run for cell in found for run in cell.runs]

    base, all_around = asked()
    _, among = asked(neighbourhood=AXIAL)
    assert (len(all_around), len(among)) == (8, 6)
    results = [
        {"spec": run.spec, "axes": run.axes, "records": [{"train_loss": 1.0}]} for run in base
    ]
    specs = [run.resolve(lambda taken: taken.choose(lambda _: results[0]))[0] for run in among]
    points = {(spec["lr"], spec["wd"]) for spec in specs}
    assert points == {(2, 1), (0.5, 1), (1, 2), (1, 0.5), (2, 0.5), (0.5, 2)}
    # an id is of words that stay when a class or field is renamed
    spec = all_around[0].spec | {"lr": "of lr", "wd": "of wd"}
    for key in ("lr", "wd"):
        reference = {"stage": "tune", "key": key, "axes": ["lr", "wd"], "number": 0}
        reference |= {"neighbourhood": None, "metric": "train_loss", "over": ["seed"]}
        spec[key] = {"Proposal": reference, "of": [base[0].id]}
    identity = {"task": "fake", "version": 1, "spec": spec, "datasets": {}}
    assert all_around[0].id == sha256(canonical_json(identity))


STAGES = {
    "tune": Study(
        "bowl",
        {"lr": 1.0, "optimum": 0.0, "start": None, "seed": 0},
        {"lr": [1.0, 2.0], "optimum": [0.0, 3.0], "seed": [0, 1]},
        {name: Scale(same_job=("lr", "seed"), rounds=3) for name in SCALES},
        search=("lr",),
    ),
    "after": Study(
        "bowl",
        {"lr": Best("tune", "lr"), "optimum": 0.0, "start": {"from": None}, "seed": 0}
        | {"start": {"from": Checkpoint("tune", "lowest", over=("lr", "seed"))}},
        {"optimum": [0.0, 3.0]},
        {name: Scale() for name in SCALES},
    ),
}


@pytest.fixture
def made(monkeypatch):
    """A task whose loss is lowest where log2 lr is the optimum; notes its calls."""
    calls = []

    class Bowl(Task):
        def run(self, spec, final=None, **context):
            calls.append((spec["optimum"], spec["lr"], spec["seed"]))
            if final:
                final.parent.mkdir(exist_ok=True)
                final.write_text(repr(spec["lr"]))
            loss = (math.log2(spec["lr"]) - spec["optimum"]) ** 2 + 0.01 * spec["seed"]
            return [{"step": 1, "train_loss": loss}]

    monkeypatch.setitem(
        TASKS, "bowl", Bowl(1, "fake", lambda spec: [], lambda spec: 0.0, Records(TRAINED))
    )
    return calls


def carry_out(folder, **changes):
    """Every round of `tune`, then `after`; returns cell files by stage."""
    runs, where, files = {"tune": []}, {}, {}
    rounds = [(f"tune+{i}", STAGES["tune"].round("tune")) for i in range(1, 4)]
    for name, study in [("tune", STAGES["tune"]), *rounds, ("after", STAGES["after"])]:
        found = cells(f"p/s/{name}", study, "smoke", 1, {}, lambda stage: list(runs[stage]))
        for i, cell in enumerate(found):
            path, kept = folder / f"{name}-{i}.json", folder / f"{name}-{i}.checkpoints"
            read, keep = UpstreamResults(where), kept if name != "after" else None
            context = {"read": read, "checkpoints": keep, **changes}
            run_cell(cell, path, folder / "runs", {}, "cpu", lambda *_: None, **context)
            where |= {run.id: (cell, path, kept) for run in cell.runs}
            files.setdefault(name, []).append(cellfiles.read_cell(path, cell))
        if name != "after":
            runs["tune"] += [run for cell in found for run in cell.runs]
    return files


def test_rounds_of_a_study_grow_each_curve_on_its_own(tmp_path, made):
    files = carry_out(tmp_path)
    asked = {o: {lr for optimum, lr, _ in made if optimum == o} for o in (0.0, 3.0)}
    assert asked[0.0] == {0.5, 1.0, 2.0}
    assert asked[3.0] == {1.0, 2.0, 4.0, 8.0, 16.0}
    assert len(made) == 2 * (3 + 5) + len(files["after"]), "no point twice, every seed of each"
    for content in files["after"]:
        (run,) = content["runs"]
        assert run["tuned"]["lr"] == 2.0 ** run["spec"]["optimum"]
        assert run["spec"]["start"]["from"]["spec"]["lr"] == run["tuned"]["lr"]


def test_a_proposal_not_needed_is_a_run_without_records_and_without_a_checkpoint(tmp_path, made):
    last = carry_out(tmp_path)["tune+3"]
    idle = [run for content in last for run in content["runs"] if not run["records"]]
    assert {run["tuned"]["lr"] for run in idle} == {None}
    assert all("sha256_checkpoint" not in run for run in idle)
    assert len(tabulate.frame(last)) == sum(len(run["records"]) for c in last for run in c["runs"])
    made.clear()
    carry_out(tmp_path)
    assert made == [], "a second call takes every run over, idle ones too"


def test_a_sweep_can_be_told_to_stop_at_its_edge(tmp_path, made):
    with refused(r"p/s/tune: .* edge of its grid, next would be lr = 0.5"):
        carry_out(tmp_path, widen=False)


@pytest.fixture
def wide(monkeypatch):
    """A grid of `tune` that has every optimum inside."""
    grid = {"lr": [0.5, 1.0, 2.0, 4.0, 8.0, 16.0], "optimum": [0.0, 3.0], "seed": [0]}
    tune = STAGES["tune"]
    study = Study("bowl", tune.spec, grid, tune.scales, search=("lr",))
    monkeypatch.setitem(STAGES, "tune", study)


def test_a_round_that_is_not_needed_asks_torch_nothing(tmp_path, made, monkeypatch, wide):
    """It names device and arithmetic of the runs that decided so, and loads no torch for it."""
    asked = []
    monkeypatch.setattr(arithmetic, "in_force", lambda device: asked.append(device) or "theirs")
    files = carry_out(tmp_path)
    trained = [c for found in files.values() for c in found if c["runs"][0]["records"]]
    assert 0 < len(trained) < sum(map(len, files.values()))
    assert len(asked) == len(trained)
    idle = [run for content in files["tune+1"] for run in content["runs"]]
    assert {run["provenance"]["arithmetic"] for run in idle} == {"theirs"}


def test_a_grid_with_its_optimum_inside_does_not_stop(tmp_path, made, wide):
    files = carry_out(tmp_path, widen=False)
    assert len(made) == 12 + len(files["after"])


def test_a_study_without_stages_is_searched_too():
    """embedding_lr's Figures 1 and 3: every width, and every setting of the others, grows alone."""
    name = "embedding_lr/width"
    assert discovery.stages(name) == [name, f"{name}+1", f"{name}+2"]
    shown = discovery.figure_stages("embedding_lr/fig1")
    assert {*discovery.stages(name)} <= {*shown}
    suite = suite_of(scale="workstation")
    cell = suite.cells(f"{name}+2")[0]
    for run in cell.runs:
        same = {k: v for k, v in run.axes.items() if k not in ("proposal", "seed")}
        of = {r.id: r for taken in run.upstream.values() for r in taken.runs}
        assert all({k: r.axes[k] for k in same} == same for r in of.values())
        # eight rates and four proposals of three seeds
        assert len(of) == (8 + 4) * 3
        assert {*of} <= {*suite.upstream(cell)}
    assert not suite_of().cells(f"{name}+1")


def test_the_search_s_rounds_are_stages_of_the_registry():
    names = discovery.stages("upscaling/mlp_sgd")
    at = names.index("upscaling/mlp_sgd/tune")
    assert names[at + 1 : at + 4] == [f"upscaling/mlp_sgd/tune+{i}" for i in (1, 2, 3)]
    reduced = suite_of(scale="reduced")
    assert reduced.cells(names[at + 2]) and not reduced.cells(names[at + 3])
    assert discovery.keeps_checkpoints("upscaling/mlp_sgd/tune+1")
    (cell,) = reduced.cells("upscaling/mlp_sgd/tune+2")
    (taken,) = cell.runs[0].upstream.values()
    read = {run.id for run in taken.runs}
    (first,) = reduced.cells("upscaling/mlp_sgd/tune+1")
    assert {run.id for run in first.runs} <= read and cell.runs[0].id not in read
