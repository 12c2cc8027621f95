import errno
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from filelock import FileLock
from refusals import refused

from repro.core import cells as cellfiles
from repro.core import execute, locks
from repro.core.execute import run_cell
from repro.core.locks import locked
from repro.core.runs import Run
from repro.core.schedule import Cell
from repro.data.needs import Tokens
from repro.errors import UserError
from repro.files import CELL_SEAL, read_sealed, seal, write_sealed
from repro.lineage.checkout import ROOT
from repro.lineage.provenance import devices, provenances
from repro.tasks import TASKS, Task
from repro.tasks.recorded import TRAINED, Records
from repro.verdicts import tabulate
from repro.verdicts.judging import source_line

pytestmark = pytest.mark.long

SPEC = {"x": 1.5, "seed": 0}


def fake_cell(*axes, study="p/s"):
    runs = tuple(Run("fake", 1, SPEC | {"seed": i}, a, {}) for i, a in enumerate(axes))
    return Cell(study, {}, runs)


@pytest.fixture
def calls(monkeypatch):
    """A task that notes the seeds it was run with, and diverges at seed 1."""
    made = []

    class Fake(Task):
        def run(self, spec, **context):
            made.append(spec["seed"])
            loss = float("inf") if spec["seed"] == 1 else spec["x"]
            return [{"step": 1, "train_loss": loss}]

    as_task(monkeypatch, Fake)
    return made


def run(cell, folder, name="cell.json", **changes):
    arguments = {"inputs": {}, "device": "cpu", "progress": lambda index, run: None}
    return run_cell(cell, folder / name, folder / "runs", **(arguments | changes))


def finished(folder):
    """A cell of one run, carried out in a folder."""
    cell = fake_cell({"seed": 0})
    run(cell, folder)
    return cell


def read(folder, cell, name="cell.json"):
    return cellfiles.read_cell(folder / name, cell)


def as_task(monkeypatch, kind):
    """A class of tasks is what `fake` is."""
    monkeypatch.setitem(
        TASKS, "fake", kind(1, "fake", lambda spec: [], lambda spec: 0.0, Records(TRAINED))
    )


def test_a_mistake_found_in_a_run_names_the_run(tmp_path, monkeypatch):
    class Overflowing(Task):
        def run(self, spec, **context):
            raise UserError("step 7: gradients overflow")

    as_task(monkeypatch, Overflowing)
    with refused("^p/s, lr 0.5, seed 0: step 7: gradients overflow$"):
        run(fake_cell({"lr": 0.5, "seed": 0}), tmp_path)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_a_precision_that_a_cpu_is_250_times_slower_in_is_refused(
    tmp_path, calls, monkeypatch, precision
):
    cell = Cell("p/s", {}, (Run("fake", 1, SPEC | {"precision": precision}, {"seed": 0}, {}),))
    message = rf"^p/s, seed 0: precision {precision}: a CPU has no fast kernels .*=avx2 \(\w+\); "
    with refused(message):
        run(cell, tmp_path)
    assert calls == []
    monkeypatch.setattr(execute.arithmetic, "in_force", lambda device: "native (this one, avx512)")
    run(cell, tmp_path)
    assert calls == [0]


def test_what_a_job_killed_while_it_wrote_has_left_is_removed(tmp_path, calls):
    """The temporary file of a resume state; that of another run may be in another job's hands."""
    cell = fake_cell({"seed": 0})
    (tmp_path / "runs").mkdir()
    own, other = (tmp_path / "runs" / f".{name}-x1.state" for name in (cell.runs[0].id, "0" * 64))
    own.touch()
    other.touch()
    run(cell, tmp_path)
    assert other.exists() and not own.exists()


def test_no_run_looks_through_all_others_and_those_that_lie_flat_are_read(
    tmp_path, calls, monkeypatch
):
    """Found in review: each run listed the whole folder four times."""
    cell = fake_cell(*({"seed": seed} for seed in range(9)))
    store, looked = tmp_path / "runs", []
    store.mkdir()
    listdir, scandir = os.listdir, os.scandir
    monkeypatch.setattr(os, "listdir", lambda path: looked.append(path) or listdir(path))
    monkeypatch.setattr(os, "scandir", lambda path: looked.append(path) or scandir(path))
    run(cell, tmp_path)
    assert [*map(str, looked)].count(str(store)) == 1
    for path in [*store.rglob("*.json")]:
        assert path.parent == store / path.stem[:2]
        path.rename(store / path.name)
    assert run(cell, tmp_path, "again.json") == 9 and calls == [*range(9)]


def test_a_run_shared_by_two_studies_keeps_each_one_s_axes(tmp_path, calls):
    """Found on Figure 1: runs taken over from another study's cell lost their coordinates."""
    first, second = (
        fake_cell({"width": 32}),
        fake_cell({"size": 32, "vocab": 256}, study="p/t"),
    )
    run(first, tmp_path)
    run(second, tmp_path, "second.json")
    table = tabulate.frame([read(tmp_path, second, "second.json")])
    assert list(table.columns) == ["size", "vocab", "step", "train_loss"]
    assert calls == [0]


def test_a_run_whose_provenance_says_more_than_is_written_now_is_taken_over(tmp_path, calls):
    """Runs trained as one with others, as was done once, say how many there were."""
    cell = finished(tmp_path)
    (path,) = (tmp_path / "runs").rglob(f"{cell.runs[0].id}.json")
    made = read_sealed(path, CELL_SEAL)
    write_sealed(path, made | {"provenance": made["provenance"] | {"stacked": 2}}, CELL_SEAL)
    assert run(cell, tmp_path, "again.json") == 1 and calls == [0]
    content = read(tmp_path, cell, "again.json")
    cellfiles.check_compatible({tmp_path / "again.json": content})
    (shown,) = provenances([content])
    assert (shown["stacked"], shown["runs"]) == (2, 1)


def test_a_diverged_run_is_an_infinite_record_in_valid_json(tmp_path, calls):
    cell = fake_cell({"seed": 0}, {"seed": 1})
    run(cell, tmp_path)

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    json.loads((tmp_path / "cell.json").read_text(), parse_constant=refuse)
    table = tabulate.frame([read(tmp_path, cell)])
    assert table["train_loss"].tolist() == [1.5, float("inf")]


@pytest.mark.parametrize("where", ["cell.json", "run"])
def test_an_edited_file_is_refused(tmp_path, calls, where):
    cell = finished(tmp_path)
    runs = (tmp_path / "runs").rglob("*.json")
    path = tmp_path / "cell.json" if where == "cell.json" else next(runs)
    path.write_text(path.read_text().replace("1.5", "1.4"))
    with refused("was changed after it was written.*delete it"):
        if where == "cell.json":
            cellfiles.read_cell(path, cell)
        else:
            run(cell, tmp_path)


def test_a_cell_of_another_spec_is_refused(tmp_path, calls):
    finished(tmp_path)
    with refused("another spec, scale or data source"):
        read(tmp_path, fake_cell({"seed": 0}, {"seed": 1}))


def test_a_missing_and_a_truncated_cell_are_named(tmp_path, calls):
    cell = fake_cell({"seed": 0})
    with refused("the grid has a hole"):
        read(tmp_path, cell)
    run(cell, tmp_path)
    path = tmp_path / "cell.json"
    path.write_text(path.read_text()[:-40])
    with refused("is not valid JSON"):
        cellfiles.read_cell(path, cell)


def test_devices_are_never_mixed(tmp_path, calls):
    cell = finished(tmp_path)
    here = read(tmp_path, cell)
    there = json.loads(json.dumps(here))
    there["runs"][0]["provenance"]["device"] = "nvidia-h100"
    cellfiles.check_compatible({"a": here, "b": here})
    with refused(r"never mixes devices, found cpu \(a\), nvidia-h100 \(b\)"):
        cellfiles.check_compatible({"a": here, "b": there})


def test_arithmetics_are_never_mixed_and_one_nobody_wrote_down_is_named(tmp_path, calls):
    cell = finished(tmp_path)
    here = read(tmp_path, cell)
    there, old = (json.loads(json.dumps(here)) for _ in range(2))
    there["runs"][0]["provenance"]["arithmetic"] = "other"
    with refused(r"never mixes arithmetics, found .+ \(a\), other \(b\)"):
        cellfiles.check_compatible({"a": here, "b": there})
    del old["runs"][0]["provenance"]["arithmetic"]
    with refused("^a: was made before runs said with which arithmetic"):
        cellfiles.check_compatible({"a": old, "b": old})


def test_runs_of_another_device_arithmetic_or_other_tokens_are_made_again(tmp_path, calls, capsys):
    """Otherwise deleting a cell, as the error about mixed devices says, would not mend it."""
    cell = finished(tmp_path)
    (stored,) = (tmp_path / "runs").rglob("*.json")
    content = read_sealed(stored, CELL_SEAL)
    for changed, words in (
        ({"device": "nvidia-h100"}, "device nvidia-h100"),
        ({"arithmetic": "other"}, "arithmetic other"),
        ({"arithmetic": None}, "arithmetic unknown"),  # made before runs said which
        ({"inputs": {"wikitext2/256": "0" * 64}}, "other inputs"),
    ):
        other = content | {"provenance": content["provenance"] | changed}
        stored.write_text(json.dumps(seal(other)))
        assert run(cell, tmp_path) == 0
        assert f"was finished with {words}: made again" in capsys.readouterr().out
    assert run(cell, tmp_path) == 1
    assert calls == [0] * 5


def test_a_run_whose_checkpoint_is_damaged_or_gone_is_made_again(tmp_path, monkeypatch):
    class Kept(Task):
        def run(self, spec, *, final, **context):
            final.write_text("weights")
            return [{"step": 1, "train_loss": 1.0}]

    as_task(monkeypatch, Kept)
    cell, folder = fake_cell({"seed": 0}), tmp_path / "kept"
    assert [run(cell, tmp_path, checkpoints=folder) for _ in range(2)] == [0, 1]
    (file,) = (tmp_path / "runs").rglob("*.safetensors")
    for harm in (lambda: file.write_text("weight5"), file.unlink):
        harm()
        assert run(cell, tmp_path, checkpoints=folder) == 0
        assert file.read_text() == (folder / file.name).read_text() == "weights"


def interrupted(monkeypatch, times):
    """The task is interrupted so often, and notes where it would begin and whether there is
    something."""
    found = []

    class Interrupted(Task):
        def run(self, spec, *, checkpoint, **context):
            found.append((checkpoint, checkpoint.exists()))
            checkpoint.touch()
            if len(found) <= times:
                raise KeyboardInterrupt
            return [{"step": 1, "train_loss": 1.0}]

    as_task(monkeypatch, Interrupted)
    return found


def test_a_run_goes_on_only_from_what_began_as_it_would(tmp_path, monkeypatch):
    """A resume state of another arithmetic or of other tokens is not found, and gone once the run
    is finished."""
    found = interrupted(monkeypatch, 4)
    need, tokens = Tokens("text", 300), tmp_path / "tokens.json"
    for arithmetic, digest in (("avx2", "a"), ("avx2", "a"), ("portable", "a"), ("portable", "b")):
        monkeypatch.setattr(execute.arithmetic, "in_force", lambda device, a=arithmetic: a)
        write_sealed(tokens, {"sha256": digest})
        with pytest.raises(KeyboardInterrupt):
            run(fake_cell({"seed": 0}), tmp_path, inputs={need: tokens})
    run(fake_cell({"seed": 0}), tmp_path, inputs={need: tokens})
    assert [there for _, there in found] == [False, True, False, False, True]
    assert len({path for path, _ in found}) == 3
    assert not list((tmp_path / "runs").rglob("*.state"))


def written_by(digest):
    """What `code_of_run.code_of` finds of a version of the code."""
    names = {"modules": ["repro.tasks.fake"], "code_sha256": digest * 64}
    return lambda task, spec: names | {"commit": None, "trees": {}}


def test_a_run_interrupted_under_other_code_begins_anew_and_says_so(tmp_path, monkeypatch, capsys):
    """Found in review: a run went on under other code in its middle."""
    found = interrupted(monkeypatch, 3)
    for digest in "aba":
        monkeypatch.setattr(execute, "code_of", written_by(digest))
        with pytest.raises(KeyboardInterrupt):
            run(fake_cell({"seed": 0}), tmp_path)
    said = capsys.readouterr().out
    assert said.count("\n") == 1, "the first begins, the third goes on"
    assert "was interrupted under other code than the present (bbbbbbbbbbbb): begins anew" in said
    run(fake_cell({"seed": 0}), tmp_path)
    assert [there for _, there in found] == [False, False, True, True]
    assert not list((tmp_path / "runs").rglob("*.state"))


def test_finished_runs_of_other_code_are_kept_and_named(tmp_path, calls, monkeypatch, capsys):
    """Found in review: the rate tripled, "resumed 2 runs, trained 2", and no word."""
    monkeypatch.setattr(execute, "code_of", written_by("a"))
    assert run(fake_cell({"seed": 0}, {"seed": 1}), tmp_path) == 0
    assert run(fake_cell({"seed": 0}, {"seed": 1}), tmp_path, "again.json") == 2
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(execute, "code_of", written_by("b"))
    assert run(fake_cell({"seed": 0}, {"seed": 1}, {"seed": 2}), tmp_path, "more.json") == 2
    assert calls == [0, 1, 2]
    assert capsys.readouterr().out == (
        "2 of 2 finished runs are of other code than the present (bbbbbbbbbbbb), and were kept: "
        "repro.tasks.fake aaaaaaaaaaaa (2 runs)\n"
    )
    made = read_sealed(tmp_path / "more.json", CELL_SEAL)["runs"]
    assert [one["provenance"]["code_sha256"][0] for one in made] == ["a", "a", "b"]


def test_two_jobs_never_make_the_same_run_twice(tmp_path, calls):
    cell = fake_cell({"seed": 0})
    names = [f"cell{i}.json" for i in range(4)]
    threads = [threading.Thread(target=run, args=(cell, tmp_path, name)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [0]
    assert all((tmp_path / name).exists() for name in names)


def test_other_tokens_under_one_name_are_refused(tmp_path, calls):
    cell = finished(tmp_path)
    contents = []
    for digest in "ab":
        content = read(tmp_path, cell)
        content["runs"][0]["provenance"]["inputs"] = {"wikitext2/256": digest * 64}
        contents.append(content)
    with refused("read other wikitext2/256 than"):
        cellfiles.check_compatible(dict(zip("xy", contents, strict=True)))


@pytest.mark.slow
def test_a_killed_job_leaves_whole_runs_and_resumes(suite):
    """kill -9 in the middle: the next call takes over the finished runs and ends the same."""
    cell = suite.cells("embedding_lr/unit_init/embedding_alone")[0]
    words = ["--config", *suite.config.arguments()]
    path = suite.paths.cell(cell)
    for need in suite.needs(cell):
        for command in (
            ["fetch", need.dataset],
            ["fetch", need.dataset, str(need.vocab_size)],
        ):
            call([*command, *words])
    train = ["train", cell.study, cell.name, *words]

    call(train)
    undisturbed = tabulate.frame([cellfiles.read_cell(path, cell)])
    for file in [path, *suite.paths.runs.rglob("*.*")]:
        file.unlink()

    process = subprocess.Popen([sys.executable, "-m", "repro", *train], env=environment())

    def whole():
        """How many runs are written: what is being written lies deeper."""
        return len(list(suite.paths.runs.glob("??/*.json")))

    while whole() < 3:
        assert process.poll() is None, "the job ended before it could be killed"
    process.kill()
    process.wait()
    assert not path.exists()
    finished = whole()
    assert 3 <= finished < len(cell.runs)

    assert f"resumed {finished} runs, trained {len(cell.runs) - finished}" in call(train)
    resumed = tabulate.frame([cellfiles.read_cell(path, cell)])
    assert resumed.to_csv() == undisturbed.to_csv()


def environment():
    return os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def call(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "repro", *arguments],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_two_holders_of_a_lock_whose_file_was_removed_meanwhile(tmp_path):
    """Three jobs: the second waits on the first's file, which is gone when the third comes."""
    path, inside, worst = tmp_path / "lock", [], []

    def hold(seconds):
        with locked(path):
            inside.append(1)
            worst.append(len(inside))
            time.sleep(seconds)
            inside.pop()

    threads = [threading.Thread(target=hold, args=(0.05,)) for _ in range(6)]
    for thread in threads:
        thread.start()
        time.sleep(0.01)
    for thread in threads:
        thread.join()
    assert len(worst) == 6 and max(worst) == 1


HOLDER = """
import sys, time
from pathlib import Path
from repro.core.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("answer", [errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK, errno.EINVAL])
def test_a_disk_without_file_locks_is_named(tmp_path, monkeypatch, answer):
    def flock(*_):
        raise OSError(answer, os.strerror(answer))

    monkeypatch.setattr("fcntl.flock", flock)
    with (
        refused(r"run.lock: this disk has no file locks; mount it"),
        locked(tmp_path / "run.lock"),
    ):
        pytest.fail("held without a lock")


def test_another_fault_of_the_disk_stays_what_it_is_and_holds_no_lock(tmp_path, monkeypatch):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write_text(*_):
        raise full

    path = tmp_path / "run.lock"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", write_text)
        with pytest.raises(OSError, match="No space left") as found, locked(path):
            pytest.fail("went on without its name in the lock")
    assert found.value is full
    with FileLock(path, timeout=0):  # free, though `found` keeps the failed call's frames alive
        pass


def test_a_killed_holder_lets_its_lock_go_and_who_waits_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(locks, "QUIET_SECONDS", 0.1)
    path = tmp_path / "run.lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    threading.Timer(0.5, holder.kill).start()
    with locked(path):
        assert holder.wait() == -signal.SIGKILL, "not before its holder was gone"
    assert capsys.readouterr().out == (
        f"{path}: waits for process {holder.pid} on {platform.node()}, which is at it\n"
    )
    assert not path.exists()


SXM, PCIE, A100 = ("nvidia-h100-80gb-hbm3", "9.0"), ("nvidia-h100-pcie", "9.0"), ("a100", "8.0")


@pytest.fixture
def on(monkeypatch):
    """Have what follows be made on a GPU: (name, compute capability)."""

    def change(gpu):
        made = {"device": gpu[0], "arithmetic": "cuda", "capability": gpu[1]}
        monkeypatch.setattr(execute, "machine", lambda device: made)

    return change


def test_finished_runs_of_another_model_of_the_same_capability_are_taken(tmp_path, calls, on):
    """Found in review: a job queued again on such a GPU trained all of them anew."""
    cell = fake_cell({"seed": 0})
    on(SXM)
    run(cell, tmp_path)
    on(PCIE)
    assert run(cell, tmp_path) == 1 and calls == [0]
    other = fake_cell({"seed": 0}, {"seed": 1})
    run(other, tmp_path, "other.json")
    content = read(tmp_path, other, "other.json")
    made = provenances([content])
    assert sorted(entry["device"] for entry in made) == [SXM[0], PCIE[0]]
    cellfiles.check_compatible({tmp_path / "other.json": content})
    line = source_line("p/f", {"scale": "smoke", "label": "embedded", "made": made}, "0" * 64)
    assert f"{SXM[0]}, {PCIE[0]}" in line, "under the picture"


def test_gpus_of_another_capability_end_the_job_in_place_of_training_anew(tmp_path, calls, on):
    cell = fake_cell({"seed": 0})
    on(SXM)
    run(cell, tmp_path)
    on(A100)
    words = f"was finished on {SXM[0]}, of compute capability 9.0, and this is a100, of 8.0"
    with refused(words) as caught:
        run(cell, tmp_path)
    assert "--constraint" in str(caught.value)
    assert calls == [0]


def test_a_begun_run_goes_on_on_another_model_and_names_both(tmp_path, monkeypatch, capsys, on):
    class Killed(Exception):
        pass

    class Begins(Task):
        def run(self, spec, *, checkpoint, **context):
            if checkpoint.exists():
                return [{"step": 2, "train_loss": float(checkpoint.read_text())}]
            checkpoint.write_text("0.5")
            raise Killed

    as_task(monkeypatch, Begins)
    cell = fake_cell({"seed": 0})
    on(SXM)
    with pytest.raises(Killed):
        run(cell, tmp_path)
    on(A100)
    with refused(f"was begun on {SXM[0]}, of compute capability 9.0"):
        run(cell, tmp_path)
    on(PCIE)
    run(cell, tmp_path)
    said = capsys.readouterr().out
    assert f"began on {SXM[0]} and goes on here, on {PCIE[0]} of the same" in said
    content = read(tmp_path, cell)
    (made,) = provenances([content])
    assert (made["device"], made["began_on"]) == (PCIE[0], [SXM[0]])
    assert devices([made]) == [SXM[0], PCIE[0]]
    assert [
        p.suffix for p in (tmp_path / "runs").rglob("*") if p.suffix in (".state", ".devices")
    ] == []


def test_what_was_interrupted_on_a_cpu_begins_anew_elsewhere_with_a_line(
    tmp_path, calls, capsys, on
):
    cell = fake_cell({"seed": 0})
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / f"{cell.runs[0].id}-{'0' * 12}-{'1' * 12}.state").write_text("")
    on(SXM)
    run(cell, tmp_path)
    assert "was interrupted on another device" in capsys.readouterr().out
