"""What many cells take from many is chosen once, for all of them."""

import json
import math
import os
from dataclasses import replace

import pytest
from parameters import kept
from refusals import refused
from suites import suite_of

from repro.core import upstream
from repro.core.execute import run_cell
from repro.core.schedule import Choice, cells
from repro.core.study import GPU_SCALES, SCALES, Best, Checkpoint, Scale, Study
from repro.core.suite import FEW
from repro.core.upstream import UpstreamResults
from repro.tasks import TASKS, Task
from repro.tasks.recorded import TRAINED, Records
from repro.workflow.jobs import choose, is_chosen

# Files a cell, on average over a scale: what cells read and what choices read. Overnight a stage
# has few cells, and each chooses among a whole sweep.
EDGES = dict.fromkeys(SCALES, 5) | {"overnight": 7}


@pytest.mark.parametrize("scale", kept(SCALES, but=["paper", "workstation"]))
def test_edges_are_linear_in_cells(scale):
    """Found in review: at paper scale a cell listed 800 files, all cells together 3.4 million."""
    data = "real" if scale in GPU_SCALES else "embedded"
    suite = suite_of(scale=scale, data=data)
    names = {n for f in suite.usable_figures() for n in suite.figure_cells(f)}
    by_stage = {name: suite.cells(name) for name in sorted(names)}
    edges = 0
    for name, found in by_stage.items():
        for cell in found:
            taken = {
                (u.reference.stage, u.runs.ids) for r in cell.runs for u in r.upstream.values()
            }
            read = [*suite.upstream_paths(cell), *suite.choice_paths(cell)]
            # A cell and the folder of its checkpoints.
            assert len(read) <= 2 * FEW * max(1, len(taken)), cell.name
            edges += len(read)
        edges += sum(len(suite.files(choice.cells)) for choice in suite.choices(name).values())
    assert edges <= EDGES[scale] * sum(map(len, by_stage.values()))


STAGES = {
    "tune": Study(
        "bowl",
        {"lr": 1.0, "start": None, "seed": 0},
        {"lr": [1.0, 2.0, 4.0], "seed": [0, 1]},
        dict.fromkeys(SCALES, Scale()),
    ),
    "after": Study(
        "bowl",
        {"lr": Best("tune", "lr", over=("lr", "seed")), "start": None, "seed": 0}
        | {"start": {"from": Checkpoint("tune", "lowest", over=("lr", "seed"))}},
        {"seed": [2, 3]},
        dict.fromkeys(SCALES, Scale()),
    ),
}


@pytest.fixture
def trained(monkeypatch, tmp_path):
    """Stage -> its cells; run id -> (cell, file, checkpoints) of `tune`, trained; cells of `after`
    are trained by the function."""

    class Bowl(Task):
        def run(self, spec, final=None, **context):
            if final:
                final.parent.mkdir(exist_ok=True)
                final.write_text(repr(spec["lr"]))
            return [{"step": 1, "train_loss": math.log2(spec["lr"] / 2) ** 2 + spec["seed"]}]

    monkeypatch.setitem(
        TASKS, "bowl", Bowl(1, "fake", lambda spec: [], lambda spec: 0.0, Records(TRAINED))
    )
    tune = cells("p/s/tune", STAGES["tune"], "smoke", 1, {})
    runs = [run for cell in tune for run in cell.runs]
    after = cells("p/s/after", STAGES["after"], "smoke", 1, {}, lambda stage: runs)
    where = {}
    for cell in tune:
        path = tmp_path / f"{cell.name}.json"
        kept = path.with_suffix(".checkpoints")
        train(cell, path, UpstreamResults({}), kept)
        where |= {run.id: (cell, path, kept) for run in cell.runs}
    taken = tuple(after[0].runs[0].upstream.values())
    return after, where, Choice("p/s/after", taken, tuple(tune))


def train(cell, path, read, kept=None):
    """The cell's file, without how long it took."""
    store = path.parent / "runs" / path.stem
    run_cell(cell, path, store, {}, "cpu", lambda *_: None, read=read, checkpoints=kept)
    content = json.loads(path.read_text())
    for run in content["runs"]:
        run["provenance"].pop("seconds")
    return content["runs"]


def files_of(choice, where):
    return [where[cell.runs[0].id][1] for cell in choice.cells]


def test_a_choice_gives_what_its_cells_would(trained, tmp_path):
    after, where, choice = trained
    path = tmp_path / "choice.json"
    UpstreamResults(where).write(choice, path, files_of(choice, where))
    # Without the cells: nobody else reads them.
    read = UpstreamResults({}, {choice.runs.ids: (choice, path)})
    for i, cell in enumerate(after):
        direct = train(cell, tmp_path / f"direct-{i}.json", UpstreamResults(where))
        assert train(cell, tmp_path / f"chosen-{i}.json", read) == direct
        (run,) = direct
        assert run["tuned"] == {"lr": 2.0}
        assert run["spec"]["start"]["from"]["spec"]["seed"] == 0
        assert len(run["provenance"]["inputs"]) == 6
    content = json.loads(path.read_text())
    assert content["cells"] == [cell.id for cell in choice.cells]


def test_an_edited_choice_is_refused_and_another_s_too(trained, tmp_path):
    after, where, choice = trained
    path = tmp_path / "choice.json"
    read = UpstreamResults({}, {choice.runs.ids: (choice, path)})
    with refused("choice.json: is missing; run the same command again"):
        read.digests(after[0].runs[0])
    UpstreamResults(where).write(choice, path, files_of(choice, where))
    half = replace(choice, taken=choice.taken[:1])
    other = UpstreamResults({}, {half.runs.ids: (half, path)})
    with refused(f"choice.json: is another choice than {half.id[:12]}"):
        other.choose(half.taken[0])
    path.write_text(path.read_text().replace("2.0", "4.0"))
    with refused("choice.json: was changed after it was written"):
        read.choose(choice.taken[0])


def test_a_choice_is_of_its_cells_as_they_are(trained, tmp_path):
    """Whatever the age of their files: they may be another machine's, with the times they had."""
    _, where, choice = trained
    path, files = tmp_path / "choice.json", files_of(choice, where)
    assert not upstream.is_current(choice, path, files)
    UpstreamResults(where).write(choice, path, files)
    assert upstream.is_current(choice, path, files)
    os.utime(files[0], (1_577_836_800,) * 2)  # 2020
    assert not upstream.is_current(choice, path, files)
    UpstreamResults(where).write(choice, path, files)
    assert upstream.is_current(choice, path, files)
    files[1].unlink()
    assert not upstream.is_current(choice, path, files)
    path.write_text("{")
    assert not upstream.is_current(choice, path, files[:1])


def test_where_every_run_diverged_nothing_is_chosen_and_nothing_written(trained, tmp_path):
    _, where, choice = trained
    for path in files_of(choice, where):
        content = json.loads(path.read_text())
        content["runs"][0]["records"][0]["train_loss"] = "inf"
        content.pop("sha256")
        upstream.write_sealed(path, content, upstream.CELL_SEAL)
    path = tmp_path / "choice.json"
    with refused("stage tune: every run diverged, so no lr can be chosen"):
        UpstreamResults(where).write(choice, path, files_of(choice, where))
    assert not path.exists()


def test_a_choice_is_known_by_what_it_is_made_from():
    suite = suite_of(scale="paper", data="real")
    stage = "transfer/bart/wide"
    (choice,) = suite.choices(stage).values()
    assert suite.choice(stage, choice.name) is choice
    assert {each.reference.key for each in choice.taken} == {
        "embedding_ratio",
        "optimizer.weight_decay",
    }
    assert all(suite.choices_of(cell) == [choice] for cell in suite.cells(stage))
    # each round chooses among all earlier ones
    sizes = [{len(c.cells) for c in suite.choices(f"{stage}+{i}").values()} for i in (1, 2, 3)]
    assert all(min(one) < min(next_) for one, next_ in zip(sizes, sizes[1:], strict=False))
    fewer = replace(choice, cells=choice.cells[1:])
    assert fewer.id != choice.id
    with refused(f"study {stage} has no choice 0123456789ab"):
        suite.choice(stage, "0123456789ab")


def test_a_run_without_snakemake_chooses_once(trained, monkeypatch, suite, tmp_path):
    _, where, choice = trained
    paths = {cell.id: where[cell.runs[0].id][1] for cell in choice.cells}
    monkeypatch.setattr(type(suite.paths), "cell", lambda self, cell: paths[cell.id])
    assert not is_chosen(suite, choice)
    choose(suite, choice)
    assert suite.paths.choice(choice).parent.name == "after"
    assert is_chosen(suite, choice)
